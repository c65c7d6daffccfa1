//===- PlanVariants.h - The best plan of all variants of a step ------------------===//
//
// Example: a loss head of cost 10 with a workspace of 100, or of cost 12 with one of 25. Under a
// budget for which the first would recompute something that costs 3, the plan uses the second.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_VARIANTS_PLANVARIANTS_H
#define LLMMEM_PLANNING_VARIANTS_PLANVARIANTS_H

#include "llmmem/Planning/Model/VariantSet.h"
#include "llmmem/Planning/Planner.h"

namespace llmmem::planning {

/// A plan and its variant. The problem that verifies the plan is `VariantSet::problemOf(variant)`.
struct VariantPlan {
  VariantNumber variant;
  Plan plan;
};

/// Plans every variant that can win, and returns the best plan, as llmmem-plan does for a file. The
/// bounds of the plan hold for all variants, and its status is `Infeasible` where each is proved
/// infeasible. Each variant must be valid (`validateProblem`, then `validateTilings`) and plannable
/// (`checkPlannable`).
LLMMEM_EXPORT VariantPlan planBestVariant(const VariantSet &variants, const PlanOptions &options);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_VARIANTS_PLANVARIANTS_H
