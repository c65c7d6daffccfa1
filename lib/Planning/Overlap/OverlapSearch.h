//===- OverlapSearch.h - Plans of problems with several resources of time -----===//
//
// The problem has ops on Compute and Link, and one memory. The time of a plan is its makespan
// (PlanTime in Plan.h).
//
// Schedules come from the planner for one resource, once with the costs as they are and once with
// those of the link left out, as if they were hidden: recomputed collectives are then free, and
// where the link is idle they are. Each is reordered with windows of several lengths, placed, and
// timed. The answer is the best plan at any sampled budget up to the requested one, so that more
// budget never takes more time, down to the lowest sample that has a plan. Below that, each budget
// is searched by itself.
//
// Lower bound: a schedule's compute work, and the sum of its work on both resources, have bounds of
// their own (docs/Design/Planning.md). Each resource runs one step at a time, so the time is at
// least the first, half of the second, the link's work once, and the longest chain of ops that wait
// for each other.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_OVERLAP_OVERLAPSEARCH_H
#define LLMMEM_LIB_PLANNING_OVERLAP_OVERLAPSEARCH_H

#include "llmmem/Planning/Model/Plan.h"
#include "llmmem/Planning/Policies/Policies.h"
#include <functional>

namespace llmmem::planning {

class Cancellation;

struct OverlapOptions {
  PolicyKind policy;
  double seconds; // work of each search for one resource
  std::function<void(std::string_view)> progress;
  Cancellation *cancellation;
  /// Plans a problem of one resource to the end by the policy.
  std::function<Plan(const Problem &)> planOneResource;
};

/// Says whether ops run on more than one resource.
bool hasSeveralResources(const Problem &problem);

/// Returns a lower bound on the duration of every plan: the cost of every op once, of the resource
/// that works most.
int64_t leastDuration(const Problem &problem);

/// Fills the time of a placed plan, and that of the program order. It keeps the bound.
void retime(const Problem &problem, Plan &plan);

/// Plans a problem that has one memory, and ops on Compute and Link.
Plan planOverlapped(const Problem &problem, const OverlapOptions &options);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_OVERLAP_OVERLAPSEARCH_H
