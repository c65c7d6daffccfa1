//===- OffloadSearch.h - Keep, recompute or offload each value --------------------===//
//
// Plans of problems with copies to a host (HostCopies.h). The time of a plan is its makespan
// (PlanTime in Plan.h).
//
// A plan is a schedule of the device, with repeats, whose values are absent at times. Schedules
// come from the planner for one memory, under the budget and under larger ones up to where nothing
// is recomputed: what a larger budget would keep is what copies have to hold. Each schedule is made
// to fit by absent values (AbsentValues.h), with several spares for copies in flight; its copies
// are put in time (CopyOrder.h); and the shortest are placed in both arenas and timed. A descent
// then adds and drops single absences. The schedules of the budget itself, and the given order, are
// always among them, so that plans are no longer than with recomputation alone, or with copies
// alone where the values absent are the same.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_OFFLOAD_OFFLOADSEARCH_H
#define LLMMEM_LIB_PLANNING_OFFLOAD_OFFLOADSEARCH_H

#include "llmmem/Planning/Model/Plan.h"
#include "llmmem/Planning/Policies/Policies.h"
#include <functional>

namespace llmmem::planning {

class Cancellation;

struct OffloadOptions {
  PolicyKind policy;
  double seconds;
  std::function<void(std::string_view)> progress;
  Cancellation *cancellation;
  /// Plans a problem of one memory to the end by the policy.
  std::function<Plan(const Problem &)> planOneMemory;
};

/// `problem` is one that checkOffloadable takes.
Plan planOffloaded(const Problem &problem, const OffloadOptions &options);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_OFFLOAD_OFFLOADSEARCH_H
