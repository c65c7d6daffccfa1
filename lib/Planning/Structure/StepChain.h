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

/// Nothing where the graph saves no values from a forward for a backward.
std::optional<Chain> findStepChain(const Graph &graph);

/// The chain that plans are made from: the one that was found where no blocks are labelled, equal
/// ones repeat in it, and it needs less than that of the given order with one level of
/// recomputation, or as much with one and less with none, or as much in as many stages; else that
/// of the given order.
Chain chooseChain(const Graph &graph);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_STRUCTURE_STEPCHAIN_H
