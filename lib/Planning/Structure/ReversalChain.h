//===- ReversalChain.h - Chains that a backward visits in reverse -------------------===//
//
// Finds a chain (Model/Blocks.h) of stages that are as short as the graph allows: a stage ends
// wherever a single value leads on to the rest of the forward. Neither labels, ids nor the given
// order matter. The order is that of StepOrder.h. The op whose result leads on to what the backward
// saved belongs to the backward: it runs once in every schedule that is worth anything.
//
// Example: F1 F2 F3 L B3 B2 B1, where Bi reads what Fi reads: the stages {F1} {F2} {F3}, and the
// segments {L} {B3} {B2} {B1}, of which the last one reads the input alone.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_STRUCTURE_REVERSALCHAIN_H
#define LLMMEM_LIB_PLANNING_STRUCTURE_REVERSALCHAIN_H

#include "llmmem/Planning/Model/Blocks.h"

namespace llmmem::planning {

/// Returns the chain, or nothing where the graph saves no values from a forward for a backward, or
/// where its forward has fewer than two stages.
std::optional<Chain> findReversalChain(const Graph &graph);

/// Cuts the forward of an order, which ends before position `cut`, into the shortest stages, and
/// the rest into their segments. Returns nothing where there are fewer than two stages.
std::optional<Chain> cutIntoShortestStages(const Graph &graph, std::vector<OpIndex> order,
                                           int32_t cut);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_STRUCTURE_REVERSALCHAIN_H
