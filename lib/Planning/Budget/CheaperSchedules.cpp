//===- CheaperSchedules.cpp - Schedules a little above the least memory -----------===//

#include "CheaperSchedules.h"

using namespace llmmem::planning;

void CheaperSchedules::clear() {
  schedules.clear();
  numCapacityLevels = 0;
}

void CheaperSchedules::gather(int64_t budget, int64_t high) {
  const int64_t low = shared.footprintOf(least);
  const int64_t height = (high - low) / tuning::levelsAboveLeast;
  if (height <= 0 || shared.isAnnealed() || shared.graph.numOps() > tuning::mostOpsOfLevels ||
      tuning::isOff("rungs"))
    return;
  for (; numCapacityLevels < tuning::levelsAboveLeast - 1 &&
         low + height * (numCapacityLevels + 1) <= budget;
       ++numCapacityLevels) {
    int64_t work = 0;
    const int64_t level = low + height * (numCapacityLevels + 1);
    for (Candidate &candidate :
         shared.under(shared.placer.capacityOf(level), /*deeply=*/true, work))
      add(std::move(candidate), level);
  }
}

void CheaperSchedules::add(Candidate candidate, int64_t level) {
  if (candidate.cost >= least->cost)
    return;
  auto place = llvm::lower_bound(schedules, candidate, [](const Cheaper &a, const Candidate &b) {
    return isCheaper(a.candidate, b);
  });
  if (place == schedules.end() || isCheaper(candidate, place->candidate))
    schedules.insert(place, {std::move(candidate), level, nullptr});
}

PlacedPlan CheaperSchedules::within(int64_t budget, int64_t leastCost, int64_t cost) {
  const SchedulePlacer &placer = shared.placer;
  for (Cheaper &each : schedules) {
    if (each.candidate.cost >= cost)
      break;
    if (each.candidate.cost < leastCost || each.level > budget ||
        placer.leastFootprintOf(each.candidate) > budget)
      continue;
    if (!each.placed)
      each.placed =
          placer.place(each.candidate, placer.footprintWithHeadroomOf(each.candidate),
                       {.work = placer.packWork, .afterCore = AfterCore::End, .like = least.get()});
    if (shared.footprintOf(each.placed) <= budget)
      return each.placed;
  }
  return nullptr;
}
