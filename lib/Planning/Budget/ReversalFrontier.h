//===- ReversalFrontier.h - Placed plans of the dynamic program over chains ----------===//
//
// Answers a budget with the cheapest schedule of Reversals.h that can be placed within it. Which
// schedule that is depends on no search: the steps of the least cost are tried from the cheapest
// one that the budget may hold to dearer ones, and what footprint a step gets does not depend on
// the budget. So more budget never costs more.
//
// Example: steps at 3, 5 and 7 bytes of which that at 5 takes an arena of 6: budgets of 3, 4 and 5
// get the first one, 6 the second, 7 the third.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_REVERSALFRONTIER_H
#define LLMMEM_LIB_PLANNING_BUDGET_REVERSALFRONTIER_H

#include "FrontierContext.h"
#include "Reversals.h"

namespace llmmem::planning {

class ReversalFrontier {
public:
  explicit ReversalFrontier(FrontierContext &shared)
      : shared(shared), reversals(shared.search.reversals()) {}

  /// Returns the plan for `budget`, or null where there is none.
  PlacedPlan at(int64_t budget);
  /// Returns the plan of the smallest footprint, or null where there is none.
  PlacedPlan least();

private:
  const PlacedPlan &placed(size_t step);

  FrontierContext &shared;
  Reversals &reversals;
  std::vector<PlacedPlan> plans; // per step, null where it has not been placed
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGET_REVERSALFRONTIER_H
