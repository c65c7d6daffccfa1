//===- RoundBound.h - A bound on what runs again in round after round -----------===//
//
// Below the peak of keeping every block's input, the forward of a block runs again and again, and a
// cut at one program point sees one of these runs. Here each block of a chain has a program point,
// the first run of the fullest op of its backward, and what runs between two of them is added up.
// docs/Design/Proofs.md, "Rounds", has the argument; Proofs/CheckRounds.cpp says what it proves.
// This file chooses program points and chains of ops, which decide how much that is.
//
// Example: 12 equal blocks, and bytes for one block's input in addition to what each backward
// holds: 32 blocks run again, where one cut proves 12.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_BOUNDS_ROUNDBOUND_H
#define LLMMEM_LIB_PLANNING_BOUNDS_ROUNDBOUND_H

#include "llmmem/Planning/Model/Blocks.h"
#include "llmmem/Planning/Proofs/Proof.h"

namespace llmmem::planning {

/// Raises the lower bound on the cost of `plan`, whose problem has a budget, by rounds between the
/// blocks of `chain`. The plan may have no steps: the bound is of every plan within the budget.
void raiseByRounds(const Graph &graph, const Chain &chain, Plan &plan);

/// Returns the argument of a basis of that kind. An op that stands in several chains is charged an
/// equal part of its cost in each.
RoundArgument roundArgument(const Graph &graph, const BoundBasis &basis);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BOUNDS_ROUNDBOUND_H
