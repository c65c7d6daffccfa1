//===- LaterRuns.h - Run later what may run once alone --------------------------===//
//
// Eviction drops a value and runs its op again just before the next reader. An op that may not run
// again (a backward op among updates, where gradients are transient) can run later instead, as long
// as no op has read it.
//
// Example: backward k+1 | d = dropout(g) | forwards that run again | backward k, which reads d and
// g: the dropout moves after the forwards, over which d was held in addition to g.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_SCHEDULERS_LATERRUNS_H
#define LLMMEM_LIB_PLANNING_SCHEDULERS_LATERRUNS_H

#include "llmmem/Planning/Model/Schedule.h"

namespace llmmem::planning {

/// Returns `steps` with each run of an op that may not run again just before the first reader of
/// what it writes. This is done where fewer bytes are then held between: what the op writes is more
/// than the operands that must live longer.
std::vector<OpIndex> runLater(const Graph &graph, std::vector<OpIndex> steps);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_SCHEDULERS_LATERRUNS_H
