//===- GatheredSchedules.cpp - Which schedules of a descent are worth placing -----===//

#include "GatheredSchedules.h"

using namespace llmmem::planning;

static bool needsLess(const GatheredSchedule &a, const GatheredSchedule &b) {
  return holdsLess(a.candidate, b.candidate);
}

const Candidate *GatheredSchedules::add(llvm::ArrayRef<Candidate> candidates, int64_t budget,
                                        bool isLowered) {
  const Candidate *least = nullptr;
  for (const Candidate &candidate : candidates) {
    if (!state.isAdmitted(candidate) || !state.isWorthPlacing(candidate) ||
        state.shared.placer.leastFootprintOf(candidate) > budget)
      continue;
    if (!least || candidate.peak < least->peak)
      least = &candidate;
    if (llvm::none_of(schedules, [&](const GatheredSchedule &other) {
          return other.candidate.cost == candidate.cost && other.candidate.peak == candidate.peak;
        }))
      schedules.push_back({candidate, isLowered});
  }
  return least;
}

const Candidate &GatheredSchedules::leastMemory() const {
  return llvm::min_element(schedules, needsLess)->candidate;
}

Candidates GatheredSchedules::all() const {
  Candidates candidates;
  candidates.reserve(schedules.size());
  for (const GatheredSchedule &each : schedules)
    candidates.push_back(each.candidate);
  return candidates;
}

llvm::MutableArrayRef<GatheredSchedule> GatheredSchedules::cheapestFirst() {
  llvm::stable_sort(schedules, [](const GatheredSchedule &a, const GatheredSchedule &b) {
    return a.candidate.cost < b.candidate.cost;
  });
  return schedules;
}

/// Says whether a search may close the distance. It seldom gains more than a sixty-fourth of the
/// arena, and where one has failed already, mostly nothing.
bool GatheredSchedules::isNear(int64_t firstFootprint, int64_t budget) const {
  const int64_t most = hasFailed() ? 0 : state.best().arena >> tuning::firstTryShift;
  return firstFootprint - budget <= most;
}

/// Says whether the two schedules hardly differ. A step of the descent moves a repeat or two, and
/// what lies around the fullest step packs as badly as before. The difference that they may have is
/// halved `nearer` times, or doubled at -1.
bool GatheredSchedules::areAlike(const Candidate &candidate, int64_t peak, int64_t cost,
                                 int nearer) const {
  const int64_t bytes = state.best().arena >> (tuning::finestDescentShift + nearer);
  const int64_t mostCost = state.shared.graph.baseCost() >> (tuning::alikeInCostShift + nearer);
  return std::abs(candidate.peak - peak) <= bytes && std::abs(candidate.cost - cost) <= mostCost;
}

/// Says whether the offsets of a schedule that is alike were searched in vain. With few ops, some
/// schedules that are alike pack.
bool GatheredSchedules::isLikeFailed(const Candidate &candidate) const {
  return state.hasManyOps() && llvm::any_of(failed, [&](const Failure &other) {
           return areAlike(candidate, other.peak, other.cost, /*nearer=*/0);
         });
}

/// Says whether first tries at the offsets of the two most likely end alike.
bool GatheredSchedules::isTwin(const Candidate &candidate, const Candidate &other) const {
  return state.hasManyOps() && areAlike(candidate, other.peak, other.cost, /*nearer=*/2);
}

/// Returns the footprint of a first try. Of twins, only one is tried.
int64_t GatheredSchedules::firstFootprintOf(GatheredSchedule &schedule) const {
  if (schedule.firstFootprint)
    return *schedule.firstFootprint;
  for (const GatheredSchedule &other : schedules)
    if (other.firstFootprint && isTwin(schedule.candidate, other.candidate))
      return *other.firstFootprint;
  schedule.firstFootprint = state.shared.placer.firstFootprintOf(schedule.candidate);
  return *schedule.firstFootprint;
}

bool GatheredSchedules::isLikely(GatheredSchedule &schedule, int64_t budget) const {
  return !isLikeFailed(schedule.candidate) && isNear(firstFootprintOf(schedule), budget);
}

/// Returns a few of those that may have a smaller footprint, the one of the least peak first. Of
/// equal ones it takes the cheapest, and of twins one.
llvm::SmallVector<GatheredSchedule *> GatheredSchedules::leastUnplaced() {
  llvm::stable_sort(schedules, needsLess);
  llvm::SmallVector<GatheredSchedule *> found;
  for (GatheredSchedule &each : schedules) {
    const Candidate &candidate = each.candidate;
    if (each.isPlaced || isLikeFailed(candidate))
      continue;
    if (found.size() == tuning::mostFirstTries || !state.mayHaveSmallerFootprint(candidate) ||
        !state.mayBeOfUse(candidate))
      break;
    if (llvm::none_of(found, [&](const GatheredSchedule *other) {
          return isTwin(candidate, other->candidate);
        }))
      found.push_back(&each);
  }
  return found;
}

/// Returns what a first try holds above the live bytes.
int64_t GatheredSchedules::firstExcessOf(GatheredSchedule &schedule) const {
  return firstFootprintOf(schedule) - state.shared.placer.leastFootprintOf(schedule.candidate);
}

/// Says whether one that is nearly alike has failed, and first tries of both hold as much above the
/// live bytes. Where something else has packed, such a schedule seldom does.
bool GatheredSchedules::isUnlikely(GatheredSchedule &schedule) {
  return llvm::any_of(schedules, [&](GatheredSchedule &other) {
    return other.hasFailed &&
           areAlike(schedule.candidate, other.candidate.peak, other.candidate.cost,
                    /*nearer=*/-1) &&
           std::abs(firstExcessOf(schedule) - firstExcessOf(other)) <= state.tolerance();
  });
}

/// Returns the schedule to search next. Where the one of the least peak does not pack, each of a
/// few gets a first try. The one that most likely ends lowest gets a search for offsets, which
/// gains a part of what the first try holds above the live bytes.
GatheredSchedule *GatheredSchedules::likeliestUnplaced() {
  const llvm::SmallVector<GatheredSchedule *> least = leastUnplaced();
  if (least.empty() || !hasFailed())
    return least.empty() ? nullptr : least.front();
  auto key = [&](GatheredSchedule *each) {
    return std::pair(isUnlikely(*each), state.shared.placer.leastFootprintOf(each->candidate) +
                                            firstExcessOf(*each) / 2);
  };
  return *llvm::min_element(
      least, [&](GatheredSchedule *a, GatheredSchedule *b) { return key(a) < key(b); });
}
