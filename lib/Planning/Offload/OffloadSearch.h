//===- OffloadSearch.h - Keep, recompute or offload each value --------------------===//
//
// Plans of problems with copies to a host (HostCopies.h). The time of a plan is its makespan
// (PlanTime in Plan.h).
//
// A plan is a schedule of the device, with repeats, whose values are absent at times. Schedules
// come from the planner for one memory (OffloadSchedules.h). Each is made to fit by absent values
// (AbsentValues.h), with several spares for copies in flight; its copies are put in time
// (CopyOrder.h); and the shortest are placed in both arenas and timed. A descent then adds and
// drops single absences (CopySearch.h). More budget of the device never gives a longer step
// (OffloadSamples.h), and no step is longer than with recomputation alone.
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
  /// Plans a problem of one memory to the end by the policy.
  std::function<Plan(const Problem &, PolicyKind)> planOneMemory;
  /// Plans such a problem under its budget by a search and a frontier that are there already; false
  /// where no plan is found.
  std::function<bool(const Graph &, BudgetSearch &, Frontier &, Plan &)> planUnderBudget;
  /// What the step of a plan takes, as `PlanOptions::timeOf`; may be empty.
  std::function<std::optional<int64_t>(const Plan &)> timeOf;
  bool movesState = false;       // as `PlanOptions::movesState`
  int64_t knownTime = INT64_MAX; // as `PlanOptions::knownTime`
};

/// No plan within the budget takes less: a bound that is quickly found. `problem` is one that
/// checkOffloadable takes.
int64_t leastOffloadTime(const Problem &problem);

/// `problem` is one that checkOffloadable takes.
Plan planOffloaded(const Problem &problem, const OffloadOptions &options);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_OFFLOAD_OFFLOADSEARCH_H
