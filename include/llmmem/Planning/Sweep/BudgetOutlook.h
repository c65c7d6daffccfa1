//===- BudgetOutlook.h - What more budget buys, and where it ends -----------===//
//
// Example: a step that costs 22 under 5,000 bytes and 20 from 6,000 on. For a budget of 5,500 the
// outlook says that 550 bytes more save 2, and that below 5,000 no plan was found.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_SWEEP_BUDGETOUTLOOK_H
#define LLMMEM_PLANNING_SWEEP_BUDGETOUTLOOK_H

#include "llmmem/Planning/Variants/ProblemVariants.h"

namespace llmmem::planning {

struct BudgetOutlook {
  int64_t more = 0;    // bytes: a GB, or a tenth of budgets below ten
  int64_t saved = 0;   // cost that they save
  int64_t least = 0;   // bytes below which no plan was found
  int64_t atLeast = 0; // cost there, more than with the budget
};

/// Looks around the plan of `cost` that `variants` have under their budget. It plans twice more.
BudgetOutlook lookAround(VariantSet variants, const PlanOptions &options, int64_t cost);

/// Returns two lines for people. `withoutBudget` is the cost of the step without a budget.
std::string outlookText(const BudgetOutlook &outlook, int64_t withoutBudget);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_SWEEP_BUDGETOUTLOOK_H
