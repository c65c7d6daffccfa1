//===- DeferredOrder.h - Weight gradients out of the fullest moment ----------------===//
//
// At the loss most is held, and there the head's weight gradient is made, as large as the
// vocabulary, for nobody but its own update. A few blocks' backwards later there is room for it.
//
// Example: loss | dLogits dNorm wHead update | block 3 | block 2 | ...: wHead and update go behind
// block 3's backward, if the step of wHead is the fullest of all.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_SCHEDULERS_DEFERREDORDER_H
#define LLMMEM_LIB_PLANNING_SCHEDULERS_DEFERREDORDER_H

#include "llmmem/Planning/Model/Blocks.h"

namespace llmmem::planning {

/// The chain's order with the op of its fullest step, and all that descends from it, moved behind
/// the backward of a few parts; empty where that step is not in the backward's first stretches or
/// the step goes on from it.
std::vector<OpIndex> deferFullest(const Graph &graph, const Chain &chain);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_SCHEDULERS_DEFERREDORDER_H
