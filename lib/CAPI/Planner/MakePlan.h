//===- MakePlan.h - Options in, a verified plan out -------------------------------===//

#ifndef LLMMEM_LIB_CAPI_PLANNER_MAKEPLAN_H
#define LLMMEM_LIB_CAPI_PLANNER_MAKEPLAN_H

#include "llmmem-c/Planner.h"
#include "llmmem/Planning/Planner.h"
#include <functional>

namespace llmmem::capi {

/// Holds a plan, and the problem that it is of.
struct PlannedProblem {
  planning::Problem problem;
  planning::Plan plan;
};

/// Plans by `make`, verifies what was planned, and proves where `proof` is there. `make` fails
/// where what is to be planned is wrong; it is not called where the options are wrong.
llmmem_result
makePlan(const std::function<Result<PlannedProblem>(const planning::PlanOptions &)> &make,
         const llmmem_plan_options *options, const llmmem_plan **plan, char **proof, char **error);

} // namespace llmmem::capi

#endif // LLMMEM_LIB_CAPI_PLANNER_MAKEPLAN_H
