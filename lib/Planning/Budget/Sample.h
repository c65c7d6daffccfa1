//===- Sample.h - A sampled budget and the plan that answers it -------------------===//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_SAMPLE_H
#define LLMMEM_LIB_PLANNING_BUDGET_SAMPLE_H

#include "SchedulePlacer.h"

namespace llmmem::planning {

struct Sample {
  int64_t index = 0; // of the budget (BudgetGrid)
  PlacedPlan plan;
  int64_t work = 0;     // of the searches on the path to it
  int64_t headroom = 0; // thousandths of the arena that packing needed in addition to live bytes
  bool isOpen = false;  // its plan is not searched yet (CoarseSamples): what `plan` costs at most
};

/// Numbers budgets so that two of one number have the same plans: a unit divides every arena.
class BudgetGrid {
public:
  explicit BudgetGrid(const Graph &graph);

  int64_t budgetOf(int64_t index) const { return resident + index * unit; }
  int64_t indexBelow(int64_t budget) const { return (budget - resident) / unit; }
  int64_t indexAbove(int64_t budget) const { return indexBelow(budget + unit - 1); }
  /// Coarse samples are an eighth apart.
  static int64_t indexOfNext(int64_t index) { return index - index / 8 - 1; }

private:
  int64_t resident, unit;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGET_SAMPLE_H
