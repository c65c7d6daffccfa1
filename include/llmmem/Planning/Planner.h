//===- Planner.h - The entry to the planner --------------------------------===//
//
// Turns a Problem into a Plan. The policy chooses the solver; all policies share the scheduling,
// the placement and the verifier. Policies/Policies.h has the table of policies.
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
  /// The bound on the work of the searches, in seconds of a fixed rate (Tuning/Constants.h): no
  /// clock is read, so equal flags give equal plans on every machine, and planning may take longer.
  double workSeconds = 10;
  std::function<void(std::string_view)>
      progress; // called at the beginning of each activity and during long searches
  /// A question that is asked every few milliseconds, in the thread that plans; it may be empty.
  /// After a yes the plan is Unknown, without steps, and its witness says "cancelled".
  std::function<bool()> isCancelled;
  /// Says whether a plan under a budget comes with a proof of how near its cost is to the least,
  /// which takes about as long as the plan. Without it, `costLowerBound` is mostly the cost of
  /// every op once.
  bool provesCost = true;
  /// What the step of a plan takes, in the form that the plan is of, as whoever runs it models it:
  /// no less than its ops take one after another, and no less than is proved of every plan; nothing
  /// where that fails. Plans with copies to a host are compared by it; may be empty, then the time
  /// of the plan counts.
  std::function<std::optional<int64_t>(FormNumber, const Plan &)> timeOf;
  /// Whether state that lies on the host comes and leaves in every step, which no problem knows:
  /// then a plan without copies may take longer than its ops, too. Read with `timeOf` alone.
  bool movesState = false;
  FormNumber form; // that the problem is of
  /// The shortest known of another form. With a host nothing shorter may be left out, but how much
  /// longer a plan is may be anything.
  int64_t knownTime = INT64_MAX;
};

/// Says why the solvers cannot plan `problem`, valid as it may be, and returns nothing where they
/// can. The solvers know one memory, either one resource of time or compute and link that overlap,
/// and ops that run as themselves. With compute they also know the copies to a host that
/// Offload/HostCopies.h adds. The verifier knows all of them.
LLMMEM_EXPORT std::optional<std::string> checkPlannable(const Problem &problem);

/// Plans `problem`, which must be valid. A problem that `checkPlannable` refuses gives Unknown,
/// with a witness that says why. The result always verifies. Where no plan was found, its status
/// says whether that is proved, and its witness says where. Policies other than Budget and
/// LeastPeak ignore the budget when they decide, and report Unknown, or Infeasible where that is
/// proved, with the plan they made, when it exceeds it.
LLMMEM_EXPORT Plan plan(const Problem &problem, const PlanOptions &options);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_PLANNER_H
