//===- CanonicalFrontier.h - Plans that do not depend on how a step is given ------===//
//
// The frontier of the problem with canonical numbers and without labels
// (Structure/CanonicalProblem.h). Its plans get the problem's own numbers again. Searches from two
// orders or numberings end at different schedules; this one ends at the same.
//
// Example: twelve blocks without labels, in the order of a model or breadth first, get the same
// plan, step by step, at every budget.
//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_CANONICALFRONTIER_H
#define LLMMEM_LIB_PLANNING_BUDGET_CANONICALFRONTIER_H

#include "Frontier.h"
#include "Structure/CanonicalProblem.h"

namespace llmmem::planning {

class CanonicalFrontier {
public:
  /// Takes the work and the listener of `search`, which searches `graph`. `packWork` is as for
  /// Frontier.
  CanonicalFrontier(const Graph &graph, const BudgetSearch &search, int64_t packWork);

  /// Says whether equal blocks repeat in the chain that was found.
  bool hasRepeats() const { return search.mainChain().hasRepeats; }
  /// These return what Frontier returns, in the numbers of the problem.
  PlacedPlan at(int64_t budget) { return restored(frontier.at(budget)); }
  PlacedPlan least() { return restored(frontier.least()); }
  PlacedPlan cheaperWithin(int64_t budget, int64_t leastCost, int64_t cost) {
    return restored(frontier.cheaperWithin(budget, leastCost, cost));
  }
  FootprintBound footprintBound();

private:
  /// Returns the plan in the numbers of the problem.
  PlacedPlan restored(const PlacedPlan &plan) const;
  std::shared_ptr<const CanonicalProblem> canonical;
  Graph graph;
  BudgetSearch search;
  Frontier frontier;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGET_CANONICALFRONTIER_H
