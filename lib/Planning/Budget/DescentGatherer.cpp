//===- DescentGatherer.cpp - Schedules of fewer and fewer bytes -------------------===//

#include "DescentGatherer.h"
#include <algorithm>

using namespace llmmem::planning;

bool DescentGatherer::gather(llvm::ArrayRef<Candidate> candidates, int64_t budget, bool isLowered) {
  const Candidate *least = schedules.add(candidates, budget, isLowered);
  if (least)
    current = *least;
  return least != nullptr;
}

void DescentGatherer::gatherKnown() {
  BudgetSearch &search = state.shared.search;
  for (const Candidate &candidate :
       llvm::ArrayRef(search.leastMemory()).take_front(tuning::mostKnownGathered))
    if (state.shared.placer.leastFootprintOf(candidate) <= state.footprint())
      gather(candidate, state.footprint());
  for (const Candidate &each : schedules.all())
    if (each.peak < current.peak)
      current = each;
}

bool DescentGatherer::lowerCurrent(int64_t budget) {
  FrontierContext &shared = state.shared;
  const Candidates lowered =
      shared.search.improvedBy(lowering, {.capacity = shared.placer.capacityOf(budget),
                                          .start = &current,
                                          .rounds = tuning::loweringRounds});
  left -= shared.search.workOfLast();
  return !lowered.empty() && gather(lowered, budget, /*isLowered=*/true);
}

bool DescentGatherer::searchBelow(int64_t budget) {
  int64_t work = 0;
  const Candidates candidates =
      state.shared.under(state.shared.placer.capacityOf(budget), /*deeply=*/true, work);
  left -= work;
  return gather(candidates, budget);
}

/// Descends by 1/16 to 1/4096 of the live bytes (with many ops from 1/256 on) until all steps have
/// failed. With few ops, a few descents by any number of bytes follow: a schedule that holds hardly
/// less may pack where another does not. With many ops such a schedule is a twin.
void DescentGatherer::descend(bool (DescentGatherer::*lower)(int64_t budget)) {
  const bool isLarge = state.hasManyOps();
  const int mostSmall = isLarge ? 0 : tuning::mostSmallSteps;
  const int coarsest = isLarge ? tuning::coarsestShiftOfMany : tuning::coarsestShiftOfFew;
  const int64_t resident = state.shared.graph.residentBytes();
  left = state.shared.search.context().work / tuning::gatheringWorkPart;
  const int64_t before = left;
  auto lowerBy = [&](int64_t bytes) {
    const int64_t budget =
        state.shared.placer.leastFootprintOf(current) - std::max<int64_t>(bytes, 1);
    return budget >= state.shared.footprintBound().bytes && (this->*lower)(budget);
  };
  auto lowerByPart = [&](int shift) {
    return lowerBy((state.shared.placer.leastFootprintOf(current) - resident) >> shift);
  };
  // Larger steps seldom find what the smallest step does not find.
  if (isLarge && !lowerByPart(tuning::finestDescentShift)) {
    spent += before - left;
    return;
  }
  int rounds = 0;
  for (int shift = coarsest; shift <= tuning::finestDescentShift; shift += 2)
    while (rounds++ < tuning::mostDescentRounds && left > 0)
      if (!lowerByPart(shift))
        break;
  for (int small = 0; small < mostSmall && left > 0 && lowerBy(1);)
    ++small;
  spent += before - left;
}

void DescentGatherer::gatherSearched() {
  descend(&DescentGatherer::searchBelow);
  if (!state.hasManyOps()) // a gathered schedule may be lowered again in little time
    descend(&DescentGatherer::lowerCurrent);
}

/// Gathers schedules of about as few bytes at a lower cost: a schedule that was lowered step by
/// step recomputes more than one that is searched at the bytes where that descent ended.
void DescentGatherer::gatherAtLeast() {
  const SchedulePlacer &placer = state.shared.placer;
  const Candidate least = current;
  left = state.shared.search.context().work / tuning::gatheringWorkPart;
  const int64_t before = left;
  if (searchBelow(placer.footprintWithHeadroomOf(least)) && current.cost < least.cost)
    while (left > 0 && current.peak > least.peak &&
           lowerCurrent(placer.leastFootprintOf(current) - 1))
      ;
  spent += before - left;
}

/// Gathers schedules of as few bytes as the least at a lower cost. Where one of them packs, the
/// other need not be placed. With more ops, few such schedules pack.
bool DescentGatherer::gatherRuinAndRecreate() {
  FrontierContext &shared = state.shared;
  if (schedules.isEmpty() || shared.graph.numOps() > tuning::mostOpsOfEarlyRuinAndRecreate)
    return false;
  const Candidate least = schedules.leastMemory();
  const Candidates cheaper = shared.search.improvedBy(
      ruinAndRecreation,
      {.capacity = least.peak, .start = &least, .rounds = tuning::ruinRoundsOfLeast});
  return !cheaper.empty() && gather(cheaper.front(), shared.placer.leastFootprintOf(least));
}

bool DescentGatherer::run() {
  gatherKnown();
  descend(&DescentGatherer::lowerCurrent);
  if (state.shared.graph.numOps() <= tuning::mostOpsOfLeastSearch) {
    gatherSearched();
    gatherAtLeast();
  }
  return gatherRuinAndRecreate();
}
