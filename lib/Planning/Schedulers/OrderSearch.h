//===- OrderSearch.h - Least-peak orders without repeats ------------------------===//
//
// The order of ops is free where recomputation costs: so before anything is recomputed, look for an
// order that holds less. First by demand, from the end of the longest path; then by a beam search
// from the front: partial orders of equal length compete by their peak so far, then by what they
// hold now.
//
// Example: big -> small and small' -> out: reducing each big result before the next one is made.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_SCHEDULERS_ORDERSEARCH_H
#define LLMMEM_LIB_PLANNING_SCHEDULERS_ORDERSEARCH_H

#include "llmmem/Planning/Model/Schedule.h"

namespace llmmem::planning {

/// An order of every op once whose peak is at most that of `start`; `work` bounds the tries (ops
/// looked at).
std::vector<OpIndex> improveOrder(const Graph &graph, std::vector<OpIndex> start, int64_t work);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_SCHEDULERS_ORDERSEARCH_H
