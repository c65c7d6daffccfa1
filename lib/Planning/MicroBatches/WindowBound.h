//===- WindowBound.h - A cost bound from every round of micro-batches ----------------===//
//
// Moments t1, t2, ... in this order prove a bound together (docs/Design/Planning.md, "Several
// program points together"), by one network that has the whole graph once for each. Where a step
// does the same for many micro-batches, most of what one moment proves is of the micro-batches in
// flight there, which no other moment is about. So at each moment only what first ran since the one
// before it counts, its *window*; what first ran earlier may run again, or be held, for nothing.
// That is a flow in the network of all moments, so the sum over the windows is a bound, and each
// window is a small problem: the time is that of one moment of the whole graph.
//
// Example: 2 in flight of 4, in the order f0 f1 b0 f2 b1 f3 b2 b3. At b0 counts what f0 and f1
// gave, at b2 what f2 and f3 did.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_MICROBATCHES_WINDOWBOUND_H
#define LLMMEM_LIB_PLANNING_MICROBATCHES_WINDOWBOUND_H

#include "MicroBatches.h"
#include "llmmem/Planning/Model/Plan.h"

namespace llmmem::planning {

/// Raises the bound on the cost of `plan`, a schedule of `graph` under its budget.
void raiseByWindows(const Graph &graph, const MicroBatches &microBatches, Plan &plan);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_MICROBATCHES_WINDOWBOUND_H
