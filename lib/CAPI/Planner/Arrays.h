//===- Arrays.h - From plain arrays to the planner's data -----------------------===//

#ifndef LLMMEM_LIB_CAPI_PLANNER_ARRAYS_H
#define LLMMEM_LIB_CAPI_PLANNER_ARRAYS_H

#include "llmmem-c/Planner.h"
#include "llmmem/Planning/Model/Plan.h"

namespace llmmem::capi {

/// Returns the problem, valid, or what is wrong with it.
Result<planning::Problem> takeProblem(const llmmem_problem *given);

/// Returns a plan as the verifier takes it, however wrong its numbers may be.
Result<planning::Plan> takePlan(const llmmem_plan *given);

} // namespace llmmem::capi

#endif // LLMMEM_LIB_CAPI_PLANNER_ARRAYS_H
