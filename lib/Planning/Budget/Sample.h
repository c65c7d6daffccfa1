//===- Sample.h - A sampled budget and the plan that answers it -------------------===//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_SAMPLE_H
#define LLMMEM_LIB_PLANNING_BUDGET_SAMPLE_H

#include "SchedulePlacer.h"

namespace llmmem::planning {

struct Sample {
  int64_t index = 0; // index of the budget (BudgetGrid)
  PlacedPlan plan;
  int64_t work = 0;     // work of the searches on the path to it
  int64_t headroom = 0; // thousandths of the arena that packing needed in addition to live bytes
  /// Its plan is not searched yet (CoarseSamples), and it costs at most as much as `plan`.
  bool isOpen = false;
};

/// Numbers budgets so that two of one number have the same plans: one unit divides every arena.
class BudgetGrid {
public:
  explicit BudgetGrid(const Graph &graph);

  int64_t budgetOf(int64_t index) const { return resident + index * unit; }
  int64_t indexBelow(int64_t budget) const { return (budget - resident) / unit; }
  int64_t indexAbove(int64_t budget) const { return indexBelow(budget + unit - 1); }
  /// Returns the index of the next coarse sample, which is an eighth lower.
  static int64_t indexOfNext(int64_t index) { return index - index / 8 - 1; }

private:
  int64_t resident, unit;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGET_SAMPLE_H
