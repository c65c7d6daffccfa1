//===- OverlapOrder.h - Orders that overlap two resources --------------------===//
//
// A schedule that was made for one resource has a collective right before its first reader, or
// right after the op that computes its operand, and compute waits for it. List scheduling (Graham
// 1969) over both resources moves collectives, and what reads them, to where the other resource has
// work meanwhile. How far is limited by a window: buffers that are there earlier, or stay longer,
// take bytes.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_OVERLAP_OVERLAPORDER_H
#define LLMMEM_LIB_PLANNING_OVERLAP_OVERLAPORDER_H

#include "llmmem/Planning/Allocation/Placement.h"
#include "llmmem/Planning/Model/Graph.h"

namespace llmmem::planning {

struct OverlappedOrder {
  std::vector<OpIndex> steps;
  std::vector<StepSpan> spans; // for each step, the steps that it overlaps
  int64_t time = 0;            // the time where no byte is shared
};

/// Says how far steps may be moved.
struct OverlapLimits {
  int64_t window;   // compute cost by which a step may run ahead of the given order
  int64_t capacity; // live bytes, resident included, that moving a collective ahead may lead to
};

/// Returns the same runs in another order, in which each run reads the same instances. It takes O(n
/// (w + log n)) for n steps of which w lie in a window.
///
/// Example, gathers g1 g2 of 10 on the link, matmuls m1 m2 of 10: g1 m1 g2 m2 takes 40; with a
/// window of 10 the order is g1 g2 m1 m2, and takes 30.
OverlappedOrder overlap(const Graph &graph, llvm::ArrayRef<OpIndex> steps, OverlapLimits limits);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_OVERLAP_OVERLAPORDER_H
