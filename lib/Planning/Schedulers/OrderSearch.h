//===- OrderSearch.h - Least-peak orders without repeats ------------------------===//
//
// Reordering costs nothing and recomputation does. So before anything is recomputed, this looks for
// an order with a lower peak: first the depth-first order from the end of the critical path, then a
// beam search from the first op, in which partial orders of equal length compete by their peak so
// far and then by the bytes they hold.
//
// Example: big -> small and small' -> out: reducing each big result before the next one is made.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_SCHEDULERS_ORDERSEARCH_H
#define LLMMEM_LIB_PLANNING_SCHEDULERS_ORDERSEARCH_H

#include "llmmem/Planning/Model/Schedule.h"

namespace llmmem::planning {

/// Returns an order of every op once whose peak is at most that of `start`. `work` bounds the tries
/// (ops visited).
std::vector<OpIndex> improveOrder(const Graph &graph, std::vector<OpIndex> start, int64_t work);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_SCHEDULERS_ORDERSEARCH_H
