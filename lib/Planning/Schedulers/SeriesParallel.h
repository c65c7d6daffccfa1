//===- SeriesParallel.h - Least-peak orders of series-parallel programs ------------===//
//
// Finds a least-peak order of every op once, for programs whose precedence is series-parallel and
// in which the last reader of each value is the same in every order. Then the bytes that an op adds
// and leaves do not depend on the order, and the problem is that of Abdel-Wahab and Kameda
// ("Scheduling to minimize maximum cumulative cost subject to series-parallel precedence
// constraints", Operations Research 26, 1978). Components in series follow each other. Parallel
// components are cut into segments, each from one valley of the bytes held over a hill to the next
// valley, and the segments are merged: first those that end lower than they began, by increasing
// height of their hills, then the others, by decreasing drop from hill to valley.
//
// Example: two branches, each with a large result that is reduced to a small one: one branch after
// the other, the one with the larger small result last.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_SCHEDULERS_SERIESPARALLEL_H
#define LLMMEM_LIB_PLANNING_SCHEDULERS_SERIESPARALLEL_H

#include "llmmem/Planning/Model/Schedule.h"

namespace llmmem::planning {

/// Returns the order, or nothing where the program is not series-parallel, where a value's last
/// reader depends on the order, or where there are more than a few thousand ops.
std::optional<std::vector<OpIndex>> leastPeakSeriesParallel(const Graph &graph);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_SCHEDULERS_SERIESPARALLEL_H
