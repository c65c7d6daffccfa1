//===- Prove.h - The proof of what a plan claims -----------------------------===//
//
// The planner remembers of each bound on what it rests (BoundBasis). Here the flows that prove it
// are found once more and written down, for Proofs/Check.h to follow.
//
// Example: Plan made = plan(problem, options);
//          writeTextFile("proof.json", toJson(problem, prove(problem, made)));
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_BOUNDS_PROVE_H
#define LLMMEM_PLANNING_BOUNDS_PROVE_H

#include "llmmem/Planning/Proofs/Proof.h"

namespace llmmem::planning {

/// Proves the bounds of `plan`, which must be as `plan` in Planner.h returned it for `problem`, or
/// for the same problem with other costs and workspaces: a plan that was read from JSON does not
/// say on what its bounds rest. Takes some minimum cuts' time. Whether the proof proves what the
/// plan claims is for the checker to say.
LLMMEM_EXPORT Proof prove(const Problem &problem, const Plan &plan);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_BOUNDS_PROVE_H
