//===- StepOrder.h - An order of a training step, found from its graph --------------===//
//
// A graph may come with its ops in any order: breadth first, all weight gradients and updates at
// the end. Recomputation per block needs blocks that stand together, and little that waits between
// them. This order depends on the graph alone:
//
//  - The spine (Spine.h) is the clock; its ops run in turn.
//  - An op of the backward that the spine does not need soon (a weight gradient, its update, the
//    loss that is returned) runs as soon as its operands are there, so that they can be freed.
//  - Every other op runs just before the first op that needs it, depth first, operands on the
//    longer path first; so does what could run in either half, as recomputation that the graph
//    brings with it.
//
// Ties are broken by colours (Colours.h), so equal blocks get equal orders.
//
// It takes O((ops + reads) log reads) time.
//
// Example: f0 f1 f2 b2 b1 b0 w2 w1 w0, where w(i) reads what b(i) reads: f0 f1 f2 w2 b2 w1 b1 w0
// b0.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_STRUCTURE_STEPORDER_H
#define LLMMEM_LIB_PLANNING_STRUCTURE_STEPORDER_H

#include "Spine.h"

namespace llmmem::planning {

struct StepOrder {
  std::vector<OpIndex> ops; // every op once
  int32_t cut = 0;          // position of the first op after the forward
};

/// Returns the order of a graph whose spine turns. `part` says, per position of the spine, to which
/// part of the step it belongs, as a block's backward. What the spine needs again within the same
/// part is needed soon. Where `part` is empty, the parts are not known yet, and a few dozen ops are
/// soon.
StepOrder findStepOrder(const Graph &graph, const Spine &spine, llvm::ArrayRef<uint64_t> colours,
                        llvm::ArrayRef<int32_t> part = {});

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_STRUCTURE_STEPORDER_H
