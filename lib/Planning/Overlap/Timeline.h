//===- Timeline.h - When each step runs on its resource ----------------------===//
//
// Resources run side by side, each its own steps in the order of the plan. A step starts as soon as
// the three conditions of PlanTime hold (Plan.h). Costs are of any one unit.
//
// Example: gather (link, 10) and matmul (compute, 10) read nothing of each other, add (compute, 5)
// reads both: gather 0-10, matmul 0-10, add 10-15.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_OVERLAP_TIMELINE_H
#define LLMMEM_LIB_PLANNING_OVERLAP_TIMELINE_H

#include "llmmem/Planning/Model/Plan.h"
#include <span>

namespace llmmem::planning {

/// Holds the time at which each resource becomes free, at first 0.
class ResourceClock {
public:
  int64_t &of(Resource resource) { return freeAt[static_cast<size_t>(resource)]; }

private:
  int64_t freeAt[std::size(allResources)] = {};
};

struct StepTime {
  int64_t start, end;
};

/// Returns when each step of a placed plan runs.
std::vector<StepTime> stepTimes(const Problem &problem, const Plan &plan);

/// Returns when the last step of a placed plan ends.
int64_t timeOf(const Problem &problem, const Plan &plan);

/// Returns the same for `steps` where no byte is shared.
int64_t timeWithoutSharing(const Problem &problem, std::span<const OpIndex> steps);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_OVERLAP_TIMELINE_H
