//===- Check.h - Check what a plan claims, with its proof --------------------===//
//
// Follows a Proof in exact arithmetic on integers of 128 bits, with the problem at hand. The
// checker shares nothing with the solvers: what it takes from the planner is the problem, the plan,
// their readers, and the verifier of plans.
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
  Checked,    // it is true, whatever made the plan and the proof
  NotChecked, // the proof has no argument for it, or one that cannot be followed in the time given
  Refused     // the plan or the proof is wrong
};

/// Returns `checked`, `not checked` or `refused`.
LLMMEM_EXPORT std::string_view wordOf(Verdict verdict);

struct ClaimCheck {
  std::string claim; // "plan", "cost", "peak" or "infeasible"
  Verdict verdict = Verdict::NotChecked;
  std::string message; // what holds, or why it is not checked or refused
};

struct CheckOptions {
  /// The work on an exhausted search that the checker repeats: the runs of ops that it looks at,
  /// for each claim.
  int64_t work = 4000000;
};

/// Returns one entry for each claim that `plan` makes: that it holds as it stands ("plan"), its
/// bound on the cost, its bound on the peak, and, where it says so, that there is no plan
/// ("infeasible"). The checks of the cost and of "infeasible" concern plans within the problem's
/// budget. Never crashes, whatever the proof says.
LLMMEM_EXPORT std::vector<ClaimCheck> checkProof(const Problem &problem, const Plan &plan,
                                                 const Proof &proof,
                                                 const CheckOptions &options = {});

/// Returns the recomputation that `argument` proves necessary in every plan within `budget`, or
/// nothing where it does not hold or is too large to be followed.
LLMMEM_EXPORT std::optional<int64_t> costOfRounds(const Problem &problem,
                                                  const RoundArgument &argument, int64_t budget);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_PROOFS_CHECK_H
