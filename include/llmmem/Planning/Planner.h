//===- Planner.h - The entry to the planner --------------------------------===//
//
// The planner turns a Problem into a Plan. The policy chooses the solver; all policies share the
// scheduling, the placement and the verifier. Policies/Policies.h has the table of policies.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_PLANNER_H
#define LLMMEM_PLANNING_PLANNER_H

#include "llmmem/Planning/Model/Plan.h"
#include "llmmem/Planning/Policies/Policies.h"
#include <functional>

namespace llmmem::planning {

struct PlanOptions {
  Policy policy;
  /// The bound on the work of the searches, in seconds at a fixed rate of work
  /// (Tuning/Constants.h). No clock is read, so equal flags give equal plans on every machine, and
  /// planning may take longer.
  double workSeconds = 10;
  std::function<void(std::string_view)>
      progress; // called at the beginning of each activity and during long searches
  /// Is called every few milliseconds in the thread that plans, and may be empty. Once it returns
  /// true, the plan is Unknown, without steps, and its witness says "cancelled".
  std::function<bool()> isCancelled;
  /// Says whether a plan under a budget has a proof of how close its cost is to the least one,
  /// which takes about as long as the plan. Without it, `costLowerBound` is mostly the cost of
  /// every op once.
  bool provesCost = true;
  /// Returns the time of the step that a plan of this variant makes, as the caller models it: at
  /// least the sum of the times of its ops, and at least what is proved for every plan. It returns
  /// nothing where that fails. Plans with copies to a host are compared by it. It may be empty:
  /// then the time of the plan counts.
  std::function<std::optional<int64_t>(VariantNumber, const Plan &)> timeOf;
  /// Whether every step copies state from the host and back, which is not part of the problem. Then
  /// a plan without copies may take longer than its ops, too. This is used only with `timeOf`.
  bool movesState = false;
  VariantNumber variant; // the variant that the problem describes
  /// The shortest time known from another variant. With a host the planner must not miss a shorter
  /// plan, but among longer plans it may return any.
  int64_t knownTime = INT64_MAX;
};

/// Returns why the solvers cannot plan `problem`, even if it is valid, and nothing where they can.
/// The solvers support one memory, either one resource or compute and link that overlap, and ops
/// without alternatives. With compute they also support the copies to a host that
/// Offload/OffloadProblem.h adds. The verifier supports all problems.
LLMMEM_EXPORT std::optional<std::string> checkPlannable(const Problem &problem);

/// Plans `problem`, which must be valid. A problem that `checkPlannable` refuses gives Unknown,
/// with a witness that says why. The result always verifies. Where no plan was found, its status
/// says whether that is proved, and its witness says where. Policies other than Budget and
/// LeastPeak ignore the budget when they decide, and report Unknown, or Infeasible where that is
/// proved, with the plan they made, when it exceeds it.
LLMMEM_EXPORT Plan plan(const Problem &problem, const PlanOptions &options);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_PLANNER_H
