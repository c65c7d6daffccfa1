//===- SeriesParallel.h - Least-peak orders of series-parallel programs ------------===//
//
// An order of every op once whose peak no order beats, where the ops' precedence is series-parallel
// and it is settled who reads each value last. Then what an op adds to and leaves in memory does
// not hang on the order, and the problem is that of Abdel-Wahab and Kameda ("Scheduling to minimize
// maximum cumulative cost subject to series-parallel precedence constraints", Operations Research
// 26, 1978): parts in series follow each other; parts side by side are cut into segments, each from
// one valley of what it holds over a hill to the next, and the segments are merged. First those
// that end lower than they began, by the height of their hills; then the others, by how deep they
// fall from theirs.
//
// Example: two branches, each a big result that a small one is made from: one branch after the
// other, the one with the larger small result last.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_SCHEDULERS_SERIESPARALLEL_H
#define LLMMEM_LIB_PLANNING_SCHEDULERS_SERIESPARALLEL_H

#include "llmmem/Planning/Model/Schedule.h"

namespace llmmem::planning {

/// The order, or nothing where the program is not series-parallel, where two ops that may run in
/// either order may both be a value's last reader, or beyond a few thousand ops.
std::optional<std::vector<OpIndex>> leastPeakSeriesParallel(const Graph &graph);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_SCHEDULERS_SERIESPARALLEL_H
