//===- Descent.cpp - The way down to the least bytes -----------------------------===//

#include "Descent.h"
#include <algorithm>

using namespace llmmem::planning;

/// What was lowered step by step is full at many steps. Of few ops ejection chains mostly place it,
/// behind a short search; of many, cores (Allocation/PackCore.h) show early that nothing would. Of
/// thousands of steps cores are too large for a search, and chains alone are left.
Frontier::Placed Frontier::Descent::place(const Candidate &candidate, int64_t budget,
                                          bool isLowered) {
  // What is found at all is found in less.
  const int64_t most = std::min<int64_t>(frontier.packWork, 50000);
  const bool byChains = isLowered && !hasManyOps();
  const int64_t work = byChains ? most / 4 : most;
  constexpr size_t manySteps = 5000;
  const int64_t ejections = byChains                              ? frontier.mostEjections() / 2
                            : candidate.steps.size() >= manySteps ? frontier.mostEjections()
                                                                  : 0;
  spent += frontier.search.isAnnealed() ? workOfUnit * work : 0;
  Placed plan = frontier.place(candidate, budget, work, ejections, AfterCore::End, best);
  if (!isWithin(plan, budget))
    failed.push_back({candidate.peak, candidate.cost});
  return plan;
}

/// What the candidate needs by two heuristics alone, in a tenth of the time of a search.
int64_t Frontier::Descent::firstNeedOf(const Candidate &candidate) const {
  PackOptions pack = frontier.packOptions(frontier.usualNeedOf(candidate));
  pack.isFirstTry = true;
  Plan plan;
  plan.steps = candidate.steps;
  placeSteps(frontier.graph.problem(), plan, pack);
  return frontier.graph.residentBytes() + plan.arena;
}

/// Whether a search may place within `budget` what needs so much by a first try: it seldom gains
/// more than a sixty-fourth of the arena, and where one has failed already, mostly nothing.
bool Frontier::Descent::isNear(int64_t firstNeed, int64_t budget) const {
  constexpr int most = 6; // of the arena, as a power of two
  return firstNeed - budget <= (hasFailed() ? 0 : best->arena >> most);
}

/// Whether the other schedule is hardly another one: a step of the descent moves a repeat or two,
/// and what stands around the fullest step packs as badly as before. What they may be apart is
/// halved `nearer` times, or doubled at -1.
bool Frontier::Descent::areAlike(const Candidate &candidate, int64_t peak, int64_t cost,
                                 int nearer) const {
  constexpr int alikeInCost = 8; // of the step, as a power of two
  return std::abs(candidate.peak - peak) <= best->arena >> (finestStep + nearer) &&
         std::abs(candidate.cost - cost) <= frontier.graph.baseCost() >> (alikeInCost + nearer);
}

/// Whether the offsets of one that is alike were searched in vain. Of few ops some pack that are.
bool Frontier::Descent::isLikeFailed(const Candidate &candidate) const {
  return hasManyOps() && llvm::any_of(failed, [&](const Failure &other) {
           return areAlike(candidate, other.peak, other.cost, /*nearer=*/0);
         });
}

/// Whether first tries at their offsets most likely end alike.
bool Frontier::Descent::isTwin(const Candidate &candidate, const Candidate &other) const {
  return hasManyOps() && areAlike(candidate, other.peak, other.cost, /*nearer=*/2);
}

bool Frontier::Descent::isTwinOfAny(llvm::ArrayRef<Gathered *> others,
                                    const Candidate &candidate) const {
  return llvm::any_of(others,
                      [&](const Gathered *other) { return isTwin(candidate, other->candidate); });
}

/// Of twins, one is tried.
int64_t Frontier::Descent::firstNeedOf(Gathered &each) const {
  if (each.firstNeed)
    return *each.firstNeed;
  for (const Gathered &other : gathered)
    if (other.firstNeed && isTwin(each.candidate, other.candidate))
      return *other.firstNeed;
  return *(each.firstNeed = firstNeedOf(each.candidate));
}

/// Whether one of `candidates` is within `budget`. Of those of equal cost and peak the first alone
/// is gathered: placing takes up to tens of milliseconds, and two such were seen to pack alike.
bool Frontier::Descent::gather(llvm::ArrayRef<Candidate> candidates, int64_t budget,
                               bool isLowered) {
  const Candidate *leanest = nullptr;
  for (const Candidate &candidate : candidates) {
    if (!isAdmitted(candidate) || !isWorthPlacing(candidate) ||
        frontier.leastNeedOf(candidate) > budget)
      continue;
    if (!leanest || candidate.peak < leanest->peak)
      leanest = &candidate;
    if (llvm::none_of(gathered, [&](const Gathered &other) {
          return other.candidate.cost == candidate.cost && other.candidate.peak == candidate.peak;
        }))
      gathered.push_back({candidate, isLowered});
  }
  if (!leanest)
    return false;
  current = *leanest;
  return true;
}

void Frontier::Descent::gatherLeanest(llvm::ArrayRef<Candidate> lean) {
  constexpr size_t most = 4;
  for (const Candidate &candidate : lean.take_front(most))
    if (candidate.peak <= need() + frontier.padding)
      gather(candidate, need());
  for (const Gathered &each : gathered)
    if (each.candidate.peak < current.peak)
      current = each.candidate;
}

bool Frontier::Descent::lowerCurrent(int64_t budget) {
  const std::optional<Candidate> candidate =
      frontier.search.lowered(current, frontier.capacityOf(budget), /*rounds=*/250);
  left -= frontier.search.workOfLast();
  return candidate && gather(*candidate, budget, /*isLowered=*/true);
}

bool Frontier::Descent::searchBelow(int64_t budget) {
  int64_t work = 0;
  const std::vector<Candidate> candidates =
      frontier.under(frontier.capacityOf(budget), /*deeply=*/true, work);
  left -= work;
  return gather(candidates, budget);
}

/// Steps of 1/16 to 1/4096 of the live bytes, of many ops from 1/256 on, until all have failed. Of
/// few ops then a few of any bytes: what holds hardly less may be packed where another schedule is
/// not. Of many it is a twin.
void Frontier::Descent::descend(bool (Descent::*lower)(int64_t budget)) {
  constexpr int mostRounds = 40;
  const int mostSmall = hasManyOps() ? 0 : 4;
  const int coarsest = hasManyOps() ? 8 : 4;
  const int64_t resident = frontier.graph.residentBytes();
  left = frontier.search.workInAll() / 3;
  const int64_t before = left;
  auto lowerBy = [&](int64_t bytes) {
    const int64_t budget = frontier.leastNeedOf(current) - std::max<int64_t>(bytes, 1);
    return budget >= frontier.needBound().bytes && (this->*lower)(budget);
  };
  // What the smallest step does not find, larger ones seldom do.
  if (hasManyOps() && !lowerBy((frontier.leastNeedOf(current) - resident) >> finestStep)) {
    spent += before - left;
    return;
  }
  int rounds = 0;
  for (int fineness = coarsest; fineness <= finestStep; fineness += 2)
    while (rounds++ < mostRounds && left > 0)
      if (!lowerBy((frontier.leastNeedOf(current) - resident) >> fineness))
        break;
  for (int small = 0; small < mostSmall && left > 0 && lowerBy(1);)
    ++small;
  spent += before - left;
}

/// About as few bytes at a lower cost: what was lowered step by step runs more again than what is
/// searched at the bytes where that ended.
void Frontier::Descent::gatherAtLeanest() {
  const Candidate leanest = current;
  left = frontier.search.workInAll() / 3;
  const int64_t before = left;
  if (searchBelow(frontier.usualNeedOf(leanest)) && current.cost < leanest.cost)
    while (left > 0 && current.peak > leanest.peak &&
           lowerCurrent(frontier.leastNeedOf(current) - 1))
      ;
  spent += before - left;
}

/// As few bytes as the leanest at a lower cost: where that packs, the leanest need not be placed.
/// Of more ops few such schedules pack.
void Frontier::Descent::gatherRecreated() {
  constexpr int32_t mostOps = 1000;
  if (gathered.empty() || frontier.graph.numOps() > mostOps)
    return;
  const Candidate leanest = llvm::min_element(gathered, isLeaner)->candidate;
  const std::vector<Candidate> cheaper =
      frontier.search.recreated(leanest, leanest.peak, /*rounds=*/600);
  hasRecreated = !cheaper.empty() && gather(cheaper.front(), frontier.leastNeedOf(leanest));
}

/// A few of those that may need less, the leanest first; of equal ones, the cheapest, and of twins,
/// one.
llvm::SmallVector<Frontier::Descent::Gathered *> Frontier::Descent::leanestUnplaced() {
  constexpr size_t most = 6;
  llvm::stable_sort(gathered, isLeaner);
  llvm::SmallVector<Gathered *> found;
  for (Gathered &each : gathered) {
    if (each.isPlaced || isLikeFailed(each.candidate))
      continue;
    if (found.size() == most || !mayNeedLess(each.candidate) || !mayBeOfUse(each.candidate))
      break;
    if (!isTwinOfAny(found, each.candidate))
      found.push_back(&each);
  }
  return found;
}

/// What a first try holds above the live bytes.
int64_t Frontier::Descent::firstExcessOf(Gathered &each) const {
  return firstNeedOf(each) - frontier.leastNeedOf(each.candidate);
}

/// Whether one that is nearly alike has failed, and first tries of both hold as much above the live
/// bytes. Where something else has packed, such a one seldom does.
bool Frontier::Descent::isUnlikely(Gathered &each) {
  return llvm::any_of(gathered, [&](Gathered &other) {
    return other.hasFailed &&
           areAlike(each.candidate, other.candidate.peak, other.candidate.cost, /*nearer=*/-1) &&
           std::abs(firstExcessOf(each) - firstExcessOf(other)) <= best->arena >> finestStep;
  });
}

/// Of those that hold about as little, some pack and some do not, and a first try tells which. So
/// where the leanest does not pack each gets one, and the few that most likely end lowest a search
/// for offsets, which gains a part of what the first try holds above the live bytes.
Frontier::Descent::Gathered *Frontier::Descent::likeliestUnplaced() {
  const llvm::SmallVector<Gathered *> lean = leanestUnplaced();
  if (lean.empty() || !hasFailed())
    return lean.empty() ? nullptr : lean.front();
  auto key = [&](Gathered *each) {
    return std::pair(isUnlikely(*each),
                     frontier.leastNeedOf(each->candidate) + firstExcessOf(*each) / 2);
  };
  return *llvm::min_element(lean, [&](Gathered *a, Gathered *b) { return key(a) < key(b); });
}

void Frontier::Descent::placeGathered() {
  const int mostSearched = hasManyOps() ? 2 : 12;
  bool hasPacked = false;
  for (int searched = 0; searched < mostSearched && !isProved(); ++searched) {
    Gathered *each = likeliestUnplaced();
    if (!each || (hasPacked && isUnlikely(*each)))
      break;
    each->isPlaced = true;
    const int64_t budget = frontier.usualNeedOf(each->candidate);
    Placed plan = place(each->candidate, budget, each->isLowered);
    each->hasFailed = !isWithin(plan, budget);
    hasPacked |= !each->hasFailed;
    if (isBetter(plan))
      take(std::move(plan), budget);
  }
}

/// What needs less by less than the search can tell apart is not worth a higher cost.
void Frontier::Descent::takeCheaperGathered() {
  constexpr int mostFailures = 2; // searches take long where they find nothing
  const int64_t most = indistinctFrom(need());
  llvm::stable_sort(gathered, [](const Gathered &a, const Gathered &b) {
    return a.candidate.cost < b.candidate.cost;
  });
  int failures = 0;
  for (Gathered &each : gathered) {
    if (each.candidate.cost >= best->cost || failures == mostFailures)
      return;
    if (frontier.leastNeedOf(each.candidate) > most || !mayBeOfUse(each.candidate) ||
        !isLikely(each, most))
      continue;
    Placed plan = place(each.candidate, most, each.isLowered);
    if (isWithin(plan, most))
      return take(std::move(plan), most);
    ++failures;
  }
}

/// The same need at a lower cost. Full at many steps, as schedules of the least peak are, not all
/// of them pack that tightly: where a search has failed already none did, and one where a first try
/// is far off is not worth a few thousandths of the step.
void Frontier::Descent::recreate() {
  if (hasFailed() || hasRecreated)
    return;
  constexpr size_t mostPacked = 6;
  constexpr int little = 8; // of the step, as a power of two
  const int64_t least = need(), littleCost = frontier.graph.baseCost() >> little;
  const std::vector<Candidate> cheaper =
      frontier.search.recreated(bestCandidate(), frontier.capacityOf(least), /*rounds=*/600);
  for (const Candidate &candidate : llvm::ArrayRef(cheaper).take_front(mostPacked)) {
    if (!isAdmitted(candidate) || !isWorthPlacing(candidate) || !mayBeOfUse(candidate))
      continue;
    const bool savesLittle = best->cost - candidate.cost <= littleCost;
    if ((hasFailed() || savesLittle) && !isNear(firstNeedOf(candidate), least))
      continue;
    Placed plan = place(candidate, least);
    if (isWithin(plan, least)) {
      take(std::move(plan), least);
      return;
    }
  }
}

/// Packing stopped where the budget was met. With nothing to meet, the padding moves to the top.
void Frontier::Descent::tighten() {
  const int64_t resident = frontier.graph.residentBytes();
  const int64_t excess = best->arena - (best->peak - resident);
  if (!hasMetBudget || hasFailed() || excess <= best->arena >> finestStep ||
      !mayBeOfUse(bestCandidate()))
    return;
  if (Placed plan = place(bestCandidate(), resident); frontier.need(plan) < need())
    best = std::move(plan);
}
