//===- ProofClaims.h - Claims without a plan, and what their check says ------===//

#ifndef LLMMEM_UNITTESTS_PLANNING_PROOFCLAIMS_H
#define LLMMEM_UNITTESTS_PLANNING_PROOFCLAIMS_H

#include "llmmem/Planning/Bounds/Prove.h"
#include "llmmem/Planning/Proofs/Check.h"
#include "gtest/gtest.h"

namespace llmmem::planning::test {

/// A plan without steps that claims that `extra` is recomputed at least.
inline Plan claimCost(const Problem &problem, BoundBasis basis, int64_t extra) {
  Plan plan;
  for (const Op &op : problem.ops)
    plan.baseCost += op.cost;
  plan.costLowerBound = plan.baseCost + extra;
  plan.costBasis = std::move(basis);
  return plan;
}

/// Returns what the check of `proof` says about one claim of `plan`; of "plan", where that is
/// refused.
inline ClaimCheck checkOf(std::string_view claim, const Problem &problem, const Plan &plan,
                          const Proof &proof) {
  const std::vector<ClaimCheck> checks = checkProof(problem, plan, proof);
  for (const ClaimCheck &it : checks)
    if (it.claim == claim || it.verdict == Verdict::Refused)
      return it;
  ADD_FAILURE() << "no claim '" << claim << "'";
  return {};
}

inline ClaimCheck checkOf(std::string_view claim, const Problem &problem, const Plan &plan) {
  return checkOf(claim, problem, plan, prove(problem, plan));
}

} // namespace llmmem::planning::test

#endif // LLMMEM_UNITTESTS_PLANNING_PROOFCLAIMS_H
