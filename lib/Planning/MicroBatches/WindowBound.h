//===- WindowBound.h - A cost bound from every round of micro-batches ----------------===//
//
// Program points t1, t2, ... in this order prove a bound together (docs/Design/Planning.md,
// "Several program points together"), by one network that has the whole graph once for each. Where
// a step does the same for many micro-batches, most of what one point proves concerns the
// micro-batches in flight there, which no other point concerns. So at each point only what first
// ran since the one before it counts, its *window*; what first ran earlier may run again, or be
// held, for nothing. That is a flow in the network of all points, so the sum over the windows is a
// bound. Each window is a small problem: the whole takes the time of one program point of the whole
// graph.
//
// Example: 2 in flight of 4, in the order f0 f1 b0 f2 b1 f3 b2 b3. What f0 and f1 gave counts at
// b0, and what f2 and f3 gave counts at b2.
//

#ifndef LLMMEM_LIB_PLANNING_MICROBATCHES_WINDOWBOUND_H
#define LLMMEM_LIB_PLANNING_MICROBATCHES_WINDOWBOUND_H

#include "MicroBatches.h"
#include "llmmem/Planning/Model/Plan.h"

namespace llmmem::planning {

/// Raises the bound on the cost of `plan`, a schedule of `graph` under its budget.
void raiseByWindows(const Graph &graph, const MicroBatches &microBatches, Plan &plan);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_MICROBATCHES_WINDOWBOUND_H
