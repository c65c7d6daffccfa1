//===- DeferredOrder.h - Defer the weight gradient of the peak step ---------------===//
//
// The most bytes are held at the loss, where the head's weight gradient is computed. It is as large
// as the vocabulary, and only its own update reads it. After the backward of a few blocks enough
// bytes are free for it.
//
// Example: loss | dLogits dNorm wHead update | block 3 | block 2 | ...: wHead and update move after
// block 3's backward, if wHead is the peak step.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_SCHEDULERS_DEFERREDORDER_H
#define LLMMEM_LIB_PLANNING_SCHEDULERS_DEFERREDORDER_H

#include "llmmem/Planning/Model/Blocks.h"

namespace llmmem::planning {

/// Returns the chain's order with the op of its peak step, and all descendants of that op, moved
/// after the backward of a few stages. It is empty where the peak step is not in the first segments
/// of the backward or the op has more than a few descendants.
std::vector<OpIndex> deferFullest(const Graph &graph, const Chain &chain);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_SCHEDULERS_DEFERREDORDER_H
