//===- StepChain.h - The chain of a training step without labels -------------------===//
//
// Finds the order (StepOrder.h) and the chain (Model/Blocks.h) of a training step from its graph
// alone: neither ids, names, labels nor the given order matter.
//
// Example: twelve blocks, all weight gradients and updates at the end of the given order: a chain
// of 14 stages, the embedding, the blocks and the loss, each weight gradient in its block's
// segment.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_STRUCTURE_STEPCHAIN_H
#define LLMMEM_LIB_PLANNING_STRUCTURE_STEPCHAIN_H

#include "CanonicalProblem.h"
#include "llmmem/Planning/Model/Blocks.h"

namespace llmmem::planning {

/// A chain in the numbers of the canonical problem, and that problem.
struct FoundInCanonical {
  CanonicalProblem canonical;
  Chain chain;
};

/// Returns the chain, or nothing where the graph saves no values from a forward for a backward.
std::optional<Chain> findStepChain(const Graph &graph);

/// Returns the chain that plans are made from. The found chain is taken where no blocks are
/// labelled, equal ones repeat in it, and its footprint is smaller than that of the given order
/// with one level of recomputation, or as large with one and smaller with none, or as large in as
/// many stages. Otherwise the chain of the given order is taken.
Chain chooseChain(const Graph &graph);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_STRUCTURE_STEPCHAIN_H
