//===- Frontier.h - One plan per budget, with monotone costs ----------------------===//
//
// Each budget is answered by bisection in one binary tree of sampled budgets that does not depend
// on the query. Each sample is searched on its own. Its plan is used if its cost lies between those
// of the two ends of its interval; else the plan of the lower end is used in its place. So costs
// never rise with the budget, whatever the searches return (docs/Design/Planning.md has the proof).
//
// Example: budgets 0..16, free at 16, least at 4 at a cost of 50. Query 11: the sample at 10 costs
// 7, so the answer is between 10 and 16. The sample at 13 costs 8, more than that at 10, so it gets
// the plan of 10. Between 10 and 13 all costs are now equal, and the plan of 10 is the answer.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_FRONTIER_H
#define LLMMEM_LIB_PLANNING_BUDGET_FRONTIER_H

#include "LeastMemory.h"
#include "ReversalFrontier.h"

namespace llmmem::planning {

class Frontier {
public:
  /// `packWork` bounds the search for offsets of each plan (Placement.h).
  Frontier(const Graph &graph, BudgetSearch &search, int64_t packWork,
           Numbering numbering = Numbering::AsGiven)
      : shared(graph, search, packWork, numbering), samples(shared), leastMemory(shared, samples),
        reversal(shared) {}

  /// Returns the placed plan for `budget`, or null where even the least memory does not fit.
  PlacedPlan at(int64_t budget);
  /// Returns the plan of the smallest footprint that was found.
  PlacedPlan least();
  /// Returns what LeastMemory::cheaperWithin returns.
  PlacedPlan cheaperWithin(int64_t budget, int64_t leastCost, int64_t cost) {
    return leastMemory.cheaperWithin(budget, leastCost, cost);
  }
  /// Returns the proved lower bound on the footprint of every plan.
  const FootprintBound &footprintBound() { return shared.footprintBound(); }

private:
  PlacedPlan bisect(int64_t index, Sample below, Sample above, bool deeply);
  PlacedPlan search(int64_t budget);
  PlacedPlan orCheaper(PlacedPlan plan, int64_t budget);

  FrontierContext shared;
  CoarseSamples samples;
  LeastMemory leastMemory;
  ReversalFrontier reversal;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGET_FRONTIER_H
