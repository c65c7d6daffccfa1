//===- PlanForms.h - The best plan of all forms of a step ------------------------===//
//
// Example: a loss head of cost 10 with a workspace of 100, or of cost 12 with one of 25. Under a
// budget for which the first would recompute something that costs 3, the plan is of the second.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_ALTERNATIVES_PLANFORMS_H
#define LLMMEM_PLANNING_ALTERNATIVES_PLANFORMS_H

#include "llmmem/Planning/Model/StepForms.h"
#include "llmmem/Planning/Planner.h"

namespace llmmem::planning {

/// A plan, and the form that it is of: `StepForms::problemOf(form)` is what verifies it.
struct FormPlan {
  FormNumber form;
  Plan plan;
};

/// Plans every form that can win, and keeps the best plan, as llmmem-plan does with a file. Its
/// bounds hold for all forms, and `Infeasible` is said where it is proved of each. Each form must
/// be valid (`validateProblem`, then `validateTilings`) and plannable (`checkPlannable`).
LLMMEM_EXPORT FormPlan planInBestForm(const StepForms &forms, const PlanOptions &options);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_ALTERNATIVES_PLANFORMS_H
