//===- Check.h - Check what a plan claims, with its proof --------------------===//
//
// Follows a Proof in exact arithmetic on integers of 128 bits, with the problem beside it. Shares
// nothing with the solvers: what it takes from the planner is the problem, the plan, their readers,
// and the verifier of plans.
//
// Example: for (const ClaimCheck &it : checkProof(problem, plan, proof))
//            print(it.claim, wordOf(it.verdict), it.message);
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_PROOFS_CHECK_H
#define LLMMEM_PLANNING_PROOFS_CHECK_H

#include "llmmem/Planning/Proofs/Proof.h"

namespace llmmem::planning {

enum class Verdict : uint8_t {
  Checked,    // it holds, whoever made the plan and the proof
  NotChecked, // the proof says nothing of it, or says what cannot be followed in the time given
  Refused     // the plan or the proof is wrong
};

/// `checked`, `not checked`, `refused`.
LLMMEM_EXPORT std::string_view wordOf(Verdict verdict);

struct ClaimCheck {
  std::string claim; // "plan", "cost", "peak" or "infeasible"
  Verdict verdict = Verdict::NotChecked;
  std::string message; // what holds, or why it is not checked or refused
};

struct CheckOptions {
  /// Of an exhausted search that is repeated: runs of ops that are looked at, for each claim.
  int64_t work = 4000000;
};

/// One entry for each claim that `plan` makes: that it holds as it stands ("plan"), its bound on
/// the cost, its bound on the peak, and that there is none ("infeasible", where it says so). What
/// is checked of the cost and of "infeasible" is said of plans within the problem's budget. Never
/// crashes, whatever the proof says.
LLMMEM_EXPORT std::vector<ClaimCheck> checkProof(const Problem &problem, const Plan &plan,
                                                 const Proof &proof,
                                                 const CheckOptions &options = {});

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_PROOFS_CHECK_H
