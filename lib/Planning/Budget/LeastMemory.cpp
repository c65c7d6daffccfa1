//===- LeastMemory.cpp - The least bytes that a plan was found for ----------------===//

#include "LeastMemory.h"
#include "Descent.h"

using namespace llmmem::planning;

/// Says whether a coarse sample below `flat` with a footprint of less than `bytes` may have a plan.
/// It has none where no schedule is found.
bool LeastMemory::mayHaveSampleBelow(int64_t bytes) {
  const BudgetGrid &grid = shared.grid;
  int64_t work = 0;
  for (int64_t index = BudgetGrid::indexOfNext(grid.indexAbove(shared.footprintOf(samples.flat())));
       index > 0; index = BudgetGrid::indexOfNext(index)) {
    const int64_t budget = grid.budgetOf(index);
    if (budget < shared.footprintBound().bytes)
      return false;
    if (budget < bytes &&
        !shared.under(shared.placer.capacityOf(budget), /*deeply=*/false, work).empty())
      return true;
  }
  return false;
}

/// Says whether the plan costs no less and has no larger footprint than that of the lowest sample,
/// as the plan of the least memory does. So costs are monotone. Samples below `flat` cost no more
/// than its own plan where that is their condition; most least-memory plans are then compared
/// without a sample.
bool LeastMemory::isBelowSamples(const PlacedPlan &plan) {
  if (samples.leavesDearerSamplesOut() && plan->cost >= samples.flat()->cost &&
      !mayHaveSampleBelow(shared.footprintOf(plan)))
    return true;
  const PlacedPlan &lowest = samples.planOf(samples.lowest());
  return plan->cost >= lowest->cost && shared.footprintOf(plan) <= shared.footprintOf(lowest);
}

PlacedPlan LeastMemory::find(int64_t enough) {
  shared.search.context().progress.announce("the least memory");
  shared.footprintBound(); // comes before the samples: none is searched below this bound
  if (samples.leavesDearerSamplesOut())
    if (PlacedPlan found = findFrom(samples.flat(), shared.graph.baseCost(), enough);
        isBelowSamples(found))
      return found;
  const PlacedPlan &top = samples.planOf(samples.lowest());
  return findFrom(top, top->cost, enough);
}

PlacedPlan LeastMemory::findFrom(const PlacedPlan &start, int64_t leastCost, int64_t enough) {
  cheaper.clear();
  Descent descent(shared, start, leastCost, enough);
  take(descent.run());
  samples.addWork(descent.work());
  for (const Candidate &candidate : descent.gatheredSchedules())
    cheaper.add(candidate, /*level=*/0);
  return take(cheapestNear(leastPlan));
}

PlacedPlan LeastMemory::take(PlacedPlan plan) {
  leastPlan = std::move(plan);
  cheaper.setLeast(leastPlan);
  return leastPlan;
}

/// Looks for a cheaper plan near the least. Where the step runs twice again for the last bytes, a
/// plan for a thousandth more may have hardly a larger footprint, at a fraction of the
/// recomputation.
PlacedPlan LeastMemory::cheapestNear(const PlacedPlan &least) {
  if (least->cost <= 2 * shared.graph.baseCost() || shared.isAnnealed())
    return least;
  const int64_t bytes = shared.footprintOf(least);
  const int64_t leastCost = samples.planOf(samples.lowest())->cost;
  for (int part = tuning::nearLeastShift; part < tuning::indistinctShift; ++part) {
    PlacedPlan found = cheaperWithin(bytes + (least->arena >> part), leastCost, least->cost);
    if (found && shared.footprintOf(found) <= bytes + (least->arena >> tuning::indistinctShift))
      return found;
  }
  return least;
}

PlacedPlan LeastMemory::cheaperWithin(int64_t budget, int64_t leastCost, int64_t cost) {
  plan(); // the way to it gathers what is cheaper
  cheaper.gather(budget, shared.grid.budgetOf(samples.lowest().index));
  return cheaper.within(budget, leastCost, cost);
}

/// Says whether a descent from the schedules of the least memory, which lowers them by a hundredth
/// or two, would end above `bytes`.
bool LeastMemory::isBeyondDescent(int64_t bytes) {
  const int64_t least = shared.placer.leastFootprintOf(shared.search.leastMemory().front());
  return least - bytes > (bytes - shared.graph.residentBytes()) / tuning::beyondDescentPart;
}

PlacedPlan LeastMemory::plan() {
  if (leastPlan)
    return leastPlan;
  if (shared.hasNothingToChoose())
    return take(samples.given());
  if (shared.isOfGraph())
    return take(shared.canonicalLeast());
  const PlacedPlan other = shared.canonicalLeast();
  const bool isAdmitted = other && isBelowSamples(other);
  // A second search of many ops takes as long again.
  if (isAdmitted && (shared.graph.numOps() > tuning::mostOpsOfLeastSearch ||
                     isBeyondDescent(shared.footprintOf(other))))
    return take(other);
  const PlacedPlan found = find(isAdmitted ? shared.footprintOf(other) : INT64_MAX);
  // A footprint that is smaller by less than the search can tell apart is not worth a plan that
  // depends on the numbering.
  const bool isAsSmall = isAdmitted && shared.footprintOf(other) - shared.footprintOf(found) <=
                                           found->arena >> tuning::finestDescentShift;
  return take(isAsSmall ? other : found);
}
