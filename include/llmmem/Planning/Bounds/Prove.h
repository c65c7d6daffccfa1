//===- Prove.h - The proof of what a plan claims -----------------------------===//
//
// The planner remembers what each bound rests on (BoundBasis). `prove` finds the flows that prove
// the bound once more and writes them down, for Proofs/Check.h to follow.
//
// Example: Plan made = plan(problem, options);
//          writeTextFile("proof.json", toJson(problem, prove(problem, made)));
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_BOUNDS_PROVE_H
#define LLMMEM_PLANNING_BOUNDS_PROVE_H

#include "llmmem/Planning/Proofs/Proof.h"

namespace llmmem::planning {

/// Proves the bounds of `plan`. The plan must be as `plan` in Planner.h returned it for `problem`,
/// or for the same problem with other costs and workspaces. A plan that was read from JSON does not
/// say what its bounds rest on. The proof takes the time of some minimum cuts. The checker says
/// whether the proof proves what the plan claims.
LLMMEM_EXPORT Proof prove(const Problem &problem, const Plan &plan);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_BOUNDS_PROVE_H
