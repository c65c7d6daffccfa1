//===- Descent.cpp - The way down to the least bytes -----------------------------===//

#include "Descent.h"
#include <algorithm>

using namespace llmmem::planning;

/// Places a schedule. One that was lowered step by step is full at many steps. With few ops,
/// ejection chains mostly place it after a short search. With many ops, cores
/// (Allocation/PackCore.h) show early that nothing would. With thousands of steps, cores are too
/// large for a search, and chains alone are left.
PlacedPlan Descent::place(const Candidate &candidate, int64_t budget, bool isLowered) {
  // A search that finds a packing at all finds it in less work.
  const int64_t most = std::min(shared.placer.packWork, tuning::mostPackWorkOfDescent);
  const bool byChains = isLowered && !state.hasManyOps();
  const int64_t work = byChains ? most / 4 : most;
  const bool isLong = candidate.steps.size() >= tuning::manyStepsForCores;
  const int64_t ejections = byChains ? shared.placer.mostEjections() / 2
                            : isLong ? shared.placer.mostEjections()
                                     : 0;
  placingWork += shared.isAnnealed() ? tuning::workOfPackUnit * work : 0;
  PlacedPlan plan = shared.placer.place(
      candidate, budget,
      {.work = work, .ejections = ejections, .afterCore = AfterCore::End, .like = &state.best()});
  if (!state.isWithin(*plan, budget))
    schedules.addFailure(candidate);
  return plan;
}

void Descent::placeGathered() {
  const int most = state.hasManyOps() ? tuning::mostSearchedOfMany : tuning::mostSearchedOfFew;
  bool hasPacked = false;
  for (int searched = 0; searched < most && !state.isProved(); ++searched) {
    GatheredSchedule *each = schedules.likeliestUnplaced();
    if (!each || (hasPacked && schedules.isUnlikely(*each)))
      break;
    each->isPlaced = true;
    const int64_t budget = shared.placer.footprintWithHeadroomOf(each->candidate);
    PlacedPlan plan = place(each->candidate, budget, each->isLowered);
    each->hasFailed = !state.isWithin(*plan, budget);
    hasPacked |= !each->hasFailed;
    if (state.isBetter(*plan))
      state.take(std::move(plan), budget);
  }
}

/// A footprint that is smaller by less than the search can tell apart is not worth a higher cost.
void Descent::takeCheaperGathered() {
  const int64_t most = state.indistinctFrom(state.footprint());
  int failures = 0;
  for (GatheredSchedule &each : schedules.cheapestFirst()) {
    if (each.candidate.cost >= state.best().cost || failures == tuning::mostCheaperFailures)
      return;
    if (shared.placer.leastFootprintOf(each.candidate) > most ||
        !state.mayBeOfUse(each.candidate) || !schedules.isLikely(each, most))
      continue;
    PlacedPlan plan = place(each.candidate, most, each.isLowered);
    if (state.isWithin(*plan, most))
      return state.take(std::move(plan), most);
    ++failures;
  }
}

/// Looks for the same footprint at a lower cost. Schedules of the least peak are full at many
/// steps, so not all of them pack that tightly. Where a search has failed already, none of them
/// did. A schedule whose first try is far off is not worth a few thousandths of the step.
void Descent::ruinAndRecreate() {
  const int64_t least = state.footprint();
  const int64_t littleCost = shared.graph.baseCost() >> tuning::littleCostShift;
  const Candidate start = state.bestCandidate();
  const Candidates cheaper =
      shared.search.improvedBy(ruinAndRecreation, {.capacity = shared.placer.capacityOf(least),
                                                   .start = &start,
                                                   .rounds = tuning::ruinRoundsOfLeast});
  for (const Candidate &candidate :
       llvm::ArrayRef(cheaper).take_front(tuning::mostRuinAndRecreatePlaced)) {
    if (!state.isAdmitted(candidate) || !state.isWorthPlacing(candidate) ||
        !state.mayBeOfUse(candidate))
      continue;
    const bool savesLittle = state.best().cost - candidate.cost <= littleCost;
    if ((schedules.hasFailed() || savesLittle) &&
        !schedules.isNear(shared.placer.firstFootprintOf(candidate), least))
      continue;
    PlacedPlan plan = place(candidate, least);
    if (state.isWithin(*plan, least))
      return state.take(std::move(plan), least);
  }
}

/// Packs once more with no budget to meet, so that the padding moves to the top: the earlier
/// packing stopped where the budget was met.
void Descent::tighten() {
  const int64_t resident = shared.graph.residentBytes();
  const int64_t excess = state.best().arena - (state.best().peak - resident);
  if (!state.stoppedAtBudget() || schedules.hasFailed() || excess <= state.tolerance() ||
      !state.mayBeOfUse(state.bestCandidate()))
    return;
  if (PlacedPlan plan = place(state.bestCandidate(), resident);
      shared.footprintOf(plan) < state.footprint())
    state.take(std::move(plan), resident);
}

PlacedPlan Descent::run() {
  const bool hasGathered = gatherer.run();
  placeGathered();
  takeCheaperGathered();
  if (!schedules.hasFailed() && !hasGathered)
    ruinAndRecreate();
  tighten();
  return state.bestPlan();
}
