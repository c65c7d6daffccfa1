//===- Frontier.cpp - One plan per budget, with monotone costs --------------------===//

#include "Frontier.h"
#include "CanonicalFrontier.h"
#include <algorithm>

using namespace llmmem::planning;

/// Bisects until the work is spent, or until the costs or budgets are so close that a search cannot
/// gain much. All of it depends only on the interval.
PlacedPlan Frontier::bisect(int64_t index, Sample below, Sample above, bool deeply) {
  const bool isAnnealed = shared.isAnnealed();
  const int64_t work = shared.search.context().work;
  const int64_t tolerance = shared.graph.numOps() <= tuning::mostOpsOfExactBisection
                                ? 0
                                : shared.graph.baseCost() >> tuning::bisectionCostShift;
  const int64_t mostWork = isAnnealed ? work : work / tuning::bisectionWorkPart;
  // The bisection has the work that the coarse samples left, and at least an eighth.
  const int64_t mostBefore = mostWork / 8 * 7;
  const int64_t before = isAnnealed ? std::min(std::max(below.work, above.work), mostBefore) : 0;
  // Between budgets this close, the gain of annealing is noise.
  auto isNarrow = [&] {
    const int64_t divisor = isAnnealed ? tuning::finestAnnealedPart : INT64_MAX;
    return above.index - below.index <= std::max<int64_t>(1, below.index / divisor);
  };
  below.work = above.work = before;
  if (index == below.index) // every middle is above it
    return samples.planOf(below);
  while (!isNarrow() && samples.differByMore(below, above, tolerance) &&
         std::max(below.work, above.work) <= mostWork) {
    const int64_t middle = below.index + (above.index - below.index) / 2;
    Sample sample = samples.solve(middle, below, above, deeply);
    (index < middle ? above : below) = std::move(sample);
  }
  return samples.planOf(below);
}

/// Returns `plan`, or a cheaper one within `budget` that is made of what a descent to the least
/// memory has gathered. A lower budget has no other such plans, and none costs less than the lowest
/// sample. So costs still never rise with the budget.
PlacedPlan Frontier::orCheaper(PlacedPlan plan, int64_t budget) {
  const int64_t leastCost = samples.planOf(samples.lowest())->cost;
  if (PlacedPlan other = cheaperWithin(budget, leastCost, plan->cost))
    plan = std::move(other);
  if (CanonicalFrontier *other = shared.repeatingFrontier())
    if (PlacedPlan found = other->cheaperWithin(budget, leastCost, plan->cost))
      plan = std::move(found);
  return plan;
}

/// Returns the cheaper of both plans. The costs of each fall with the budget, so those of the
/// cheaper one do, too. No plan costs less than one that is known to be the cheapest.
PlacedPlan Frontier::at(int64_t budget) {
  // The canonical frontier has a reversal of its own.
  if (shared.isOfGraph() || budget >= shared.footprintOf(samples.given()))
    return search(budget);
  if (PlacedPlan cheapest = reversal.cheapestAt(budget))
    return cheapest;
  PlacedPlan found = search(budget);
  PlacedPlan other = reversal.at(budget);
  return other && (!found || other->cost < found->cost) ? other : found;
}

PlacedPlan Frontier::least() {
  if (shared.isOfGraph())
    return leastMemory.plan();
  if (PlacedPlan plan = reversal.leastOfAll())
    return plan;
  const PlacedPlan found = leastMemory.plan(), other = reversal.least();
  if (!other)
    return found;
  const int64_t bytes = shared.footprintOf(found), otherBytes = shared.footprintOf(other);
  return std::pair(otherBytes, other->cost) < std::pair(bytes, found->cost) ? other : found;
}

PlacedPlan Frontier::search(int64_t budget) {
  if (shared.isOfGraph())
    return budget >= shared.footprintOf(samples.given()) ? samples.given()
                                                         : shared.canonicalFrontier()->at(budget);
  for (PlacedPlan (CoarseSamples::*candidate)() : {&CoarseSamples::given, &CoarseSamples::free})
    if (PlacedPlan plan = (samples.*candidate)(); budget >= shared.footprintOf(plan))
      return plan;
  if (budget < shared.graph.residentBytes() || shared.hasNothingToChoose())
    return nullptr;
  const int64_t index = shared.grid.indexBelow(budget);
  for (size_t number = 1; const Sample *below = samples.sample(number); ++number)
    if (index >= below->index)
      return bisect(index, *below, *samples.sample(number - 1), /*deeply=*/false);
  const PlacedPlan least = leastMemory.plan();
  const int64_t leastFootprint = shared.footprintOf(least);
  if (budget <= leastFootprint)
    return budget == leastFootprint ? least : nullptr;
  const Sample lowest{shared.grid.indexBelow(leastFootprint), least, samples.work()};
  return orCheaper(bisect(index, lowest, samples.lowest(), /*deeply=*/true), budget);
}
