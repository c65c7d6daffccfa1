//===- ReversalChain.h - Chains that a backward visits in reverse -------------------===//
//
// Recognises chains of single ops: each op reads what the op before it wrote, so that there is one
// order, whatever the labels, the ids and the given order. The forward ends before the op after
// which the backward first reads what it saved. Of what an op of the forward writes, the next one
// reads one value, the state; and the first segment of the backward has two ops at most.
//
// Example: F1 F2 F3 L B3 B2 B1, where Bi reads what Fi reads: the stages {F1} {F2} {F3}, and the
// segments {L} {B3} {B2} {B1}, of which the last one reads the input alone.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_STRUCTURE_REVERSALCHAIN_H
#define LLMMEM_LIB_PLANNING_STRUCTURE_REVERSALCHAIN_H

#include "llmmem/Planning/Model/Blocks.h"

namespace llmmem::planning {

/// Returns the chain, with a stage per op of the forward, or nothing where the graph is none or its
/// forward has fewer than two ops. Takes time linear in the graph.
std::optional<Chain> findReversalChain(const Graph &graph);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_STRUCTURE_REVERSALCHAIN_H
