//===- OffloadSearch.h - Keep, recompute or offload each value --------------------===//
//
// This file plans problems with copies to a host (OffloadProblem.h). The time of a plan is its
// makespan (PlanTime in Plan.h).
//
// A plan is a schedule of the device, with repeats, some of whose values are evicted to the host
// between two uses. Schedules come from the planner for one memory (OffloadSchedules.h). Each is
// made to fit by evicting values (EvictedValues.h), with several amounts of memory spared for
// copies in flight. Its copies are scheduled (CopyOrder.h), and the shortest schedules are placed
// in both arenas and timed. A descent then adds and drops single evictions (CopySearch.h). More
// budget of the device never gives a longer step (OffloadSamples.h), and no step is longer than
// with recomputation alone.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_OFFLOAD_OFFLOADSEARCH_H
#define LLMMEM_LIB_PLANNING_OFFLOAD_OFFLOADSEARCH_H

#include "llmmem/Planning/Model/Plan.h"
#include "llmmem/Planning/Policies/Policies.h"
#include <functional>

namespace llmmem::planning {

class BudgetSearch;
class Cancellation;
class Frontier;
class Graph;

struct OffloadOptions {
  PolicyKind policy;
  double seconds;
  std::function<void(std::string_view)> progress;
  Cancellation *cancellation;
  /// Plans a problem of one memory by the policy, certificate included.
  std::function<Plan(const Problem &, PolicyKind)> planOneMemory = {};
  /// Plans such a problem under its budget with a search and a frontier that exist already. Returns
  /// false where no plan is found.
  std::function<bool(const Graph &, BudgetSearch &, Frontier &, Plan &)> planUnderBudget = {};
  /// Returns the time of the step that a plan makes, as `PlanOptions::timeOf` does. It may be
  /// empty.
  std::function<std::optional<int64_t>(const Plan &)> timeOf = {};
  bool movesState = false;       // as `PlanOptions::movesState`
  int64_t knownTime = INT64_MAX; // as `PlanOptions::knownTime`
};

/// Returns a lower bound on the time of every plan within the budget, which is found quickly.
/// Requires that checkOffloadable accepts `problem`.
int64_t leastOffloadTime(const Problem &problem);

/// Plans `problem`. Requires that checkOffloadable accepts it.
Plan planOffloaded(const Problem &problem, const OffloadOptions &options);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_OFFLOAD_OFFLOADSEARCH_H
