//===- LeastNeed.cpp - The least bytes that a plan was found for ------------------===//

#include "Bounds/NeedBound.h"
#include "CanonicalFrontier.h"
#include <algorithm>

using namespace llmmem::planning;

/// Beyond, a search of all kinds at the least bytes takes seconds.
static constexpr int32_t mostOpsOfSearch = 8000;

/// A descent ends where 1/4096 less of the arena is not found.
static constexpr int finestStep = 12;

/// Schedules that hold a little less each are gathered first, by their live bytes alone, and then
/// placed from the leanest up, until the next one holds more than is needed already. So a handful
/// of dozens of schedules is placed, and one that cannot be placed tightly does not end the search.
class Frontier::Descent {
public:
  /// A plan is of use where it needs less than `enough` by more than the search can tell apart:
  /// else another one is taken.
  Descent(Frontier &frontier, Placed best, int64_t leastCost, int64_t enough)
      : frontier(frontier), best(std::move(best)), leastCost(leastCost), enough(enough),
        current(bestCandidate()) {}
  void gatherLeanest(llvm::ArrayRef<Candidate> lean);
  void gatherLowered() { descend(&Descent::lowerCurrent); }
  void gatherSearched() { descend(&Descent::searchBelow); }
  void gatherAtLeanest();
  void placeGathered();
  void takeCheaperGathered();
  void searchCheaper();
  void recreate();
  void tighten();
  /// No plan needs less by more than the descent tells apart.
  bool isProved() const { return need() - frontier.provedNeed() <= best->arena >> finestStep; }
  Placed found() { return best; }
  std::vector<Candidate> gatheredSchedules() const {
    std::vector<Candidate> schedules;
    schedules.reserve(gathered.size());
    for (const Gathered &each : gathered)
      schedules.push_back(each.candidate);
    return schedules;
  }
  int64_t work() const { return spent; }

private:
  bool isAdmitted(const Candidate &candidate) const { return candidate.cost >= leastCost; }
  bool gather(llvm::ArrayRef<Candidate> candidates, int64_t budget, bool isLowered = false);
  bool lowerCurrent(int64_t budget);
  bool searchBelow(int64_t budget);
  void descend(bool (Descent::*lower)(int64_t budget));
  Candidate bestCandidate() const { return {best->steps, best->cost, best->peak}; }
  int64_t need() const { return frontier.need(best); }
  /// Placing so many steps takes a second or two.
  bool isWorthPlacing(const Candidate &candidate) const {
    constexpr size_t manySteps = 20000;
    return candidate.steps.size() <= manySteps ||
           need() - candidate.peak > best->arena >> finestStep ||
           best->cost - candidate.cost > frontier.graph.baseCost() >> finestStep;
  }
  bool isBetter(const Placed &plan) const {
    return std::pair(frontier.need(plan), plan->cost) < std::pair(need(), best->cost);
  }
  /// By more than the descent tells apart.
  bool mayNeedLess(const Candidate &candidate) const {
    return frontier.leastNeedOf(candidate) < need() - (best->arena >> finestStep);
  }
  bool mayBeOfUse(const Candidate &candidate) const {
    const int64_t least = frontier.leastNeedOf(candidate);
    return least + ((least - frontier.graph.residentBytes()) >> finestStep) < enough;
  }
  /// Else searches take little time.
  bool hasManyOps() const {
    constexpr int32_t few = 500;
    return frontier.graph.numOps() > few;
  }
  Placed place(const Candidate &candidate, int64_t budget, bool isLowered = false);
  void take(Placed plan, int64_t budget) {
    best = std::move(plan);
    hasMetBudget = need() <= budget;
  }
  int64_t firstNeedOf(const Candidate &candidate) const;

  struct Gathered {
    Candidate candidate;
    bool isLowered;
    bool isPlaced = false;
    std::optional<int64_t> firstNeed = std::nullopt; // where it had a first try
  };
  int64_t firstNeedOf(Gathered &each) const;
  bool isNear(int64_t firstNeed, int64_t budget) const;
  bool hasFailed() const { return !failed.empty(); }
  bool areAlike(const Candidate &candidate, int64_t peak, int64_t cost, int nearer) const;
  bool isLikeFailed(const Candidate &candidate) const;
  bool isTwin(const Candidate &candidate, const Candidate &other) const;
  bool isTwinOfAny(llvm::ArrayRef<Gathered *> others, const Candidate &candidate) const;
  bool isLikely(Gathered &gathered, int64_t budget) const {
    return !isLikeFailed(gathered.candidate) && isNear(firstNeedOf(gathered), budget);
  }
  llvm::SmallVector<Gathered *> leanestUnplaced();
  Gathered *likeliestUnplaced();
  Frontier &frontier;
  Placed best;
  bool hasMetBudget = true; // of `best`, at which its packing stopped
  int64_t leastCost;        // what the coarse samples cost at more bytes
  int64_t enough;
  Candidate current; // where the descent goes on from
  std::vector<Gathered> gathered;
  int64_t searched = 0; // the bytes at which cheaper ones were gathered
  int64_t left = 0, spent = 0;
  struct Failure { // of a search for offsets
    int64_t peak, cost;
  };
  std::vector<Failure> failed;
};

/// What was lowered step by step is full at many steps. Of few ops ejection chains mostly place it,
/// behind a short search; of many, cores (Allocation/PackCore.h) show early that nothing would.
Frontier::Placed Frontier::Descent::place(const Candidate &candidate, int64_t budget,
                                          bool isLowered) {
  // What is found at all is found in less.
  const int64_t most = std::min<int64_t>(frontier.packWork, 50000);
  const bool byChains = isLowered && !hasManyOps();
  const int64_t work = byChains ? most / 4 : most;
  const int64_t ejections = byChains ? frontier.mostEjections() / 2 : 0;
  spent += frontier.search.isAnnealed() ? workOfUnit * work : 0;
  Placed plan = frontier.place(candidate, budget, work, ejections, AfterCore::End, best);
  if (frontier.need(plan) > budget)
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
/// halved `nearer` times.
bool Frontier::Descent::areAlike(const Candidate &candidate, int64_t peak, int64_t cost,
                                 int nearer) const {
  constexpr int alikeInCost = 8; // of the step, as a power of two
  return hasManyOps() && std::abs(candidate.peak - peak) <= best->arena >> (finestStep + nearer) &&
         std::abs(candidate.cost - cost) <= frontier.graph.baseCost() >> (alikeInCost + nearer);
}

/// Whether the offsets of one that is alike were searched in vain.
bool Frontier::Descent::isLikeFailed(const Candidate &candidate) const {
  return llvm::any_of(failed, [&](const Failure &other) {
    return areAlike(candidate, other.peak, other.cost, /*nearer=*/0);
  });
}

/// Whether first tries at their offsets most likely end alike.
bool Frontier::Descent::isTwin(const Candidate &candidate, const Candidate &other) const {
  return areAlike(candidate, other.peak, other.cost, /*nearer=*/2);
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
  const std::vector<Candidate> candidates =
      frontier.search.lowered(current, frontier.capacityOf(budget), /*rounds=*/250);
  left -= frontier.search.workOfLast();
  return gather(candidates, budget, /*isLowered=*/true);
}

bool Frontier::Descent::searchBelow(int64_t budget) {
  int64_t work = 0;
  const std::vector<Candidate> candidates =
      frontier.under(frontier.capacityOf(budget), /*deeply=*/true, work);
  left -= work;
  return gather(candidates, budget);
}

/// Steps of 1/16 to 1/4096 of the live bytes, of many ops from 1/256 on, until all have failed, and
/// a few of any bytes: what holds hardly less may be packed where another schedule is not.
void Frontier::Descent::descend(bool (Descent::*lower)(int64_t budget)) {
  constexpr int mostRounds = 40, mostSmall = 4;
  const int coarsest = hasManyOps() ? 8 : 4;
  const int64_t resident = frontier.graph.residentBytes();
  left = frontier.search.workInAll() / 3;
  const int64_t before = left;
  auto lowerBy = [&](int64_t bytes) {
    const int64_t budget = frontier.leastNeedOf(current) - std::max<int64_t>(bytes, 1);
    return budget >= frontier.provedNeed() && (this->*lower)(budget);
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
  searched = frontier.usualNeedOf(leanest);
  left = frontier.search.workInAll() / 3;
  const int64_t before = left;
  if (searchBelow(searched) && current.cost < leanest.cost)
    while (left > 0 && current.peak > leanest.peak &&
           lowerCurrent(frontier.leastNeedOf(current) - 1))
      ;
  spent += before - left;
}

/// A dozen of those that may need less, the leanest first; of equal ones, the cheapest, and of
/// twins, one.
llvm::SmallVector<Frontier::Descent::Gathered *> Frontier::Descent::leanestUnplaced() {
  constexpr size_t most = 12;
  llvm::stable_sort(gathered, [](const Gathered &a, const Gathered &b) {
    return std::tie(a.candidate.peak, a.candidate.cost) <
           std::tie(b.candidate.peak, b.candidate.cost);
  });
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

/// Of those that hold about as little, some pack and some do not, and a first try tells which. So
/// where the leanest does not pack each gets one, and the few that end lowest a search for offsets.
Frontier::Descent::Gathered *Frontier::Descent::likeliestUnplaced() {
  const llvm::SmallVector<Gathered *> lean = leanestUnplaced();
  if (lean.empty() || !hasFailed())
    return lean.empty() ? nullptr : lean.front();
  return *std::min_element(lean.begin(), lean.end(), [&](Gathered *a, Gathered *b) {
    return firstNeedOf(*a) < firstNeedOf(*b);
  });
}

void Frontier::Descent::placeGathered() {
  const int mostSearched = hasManyOps() ? 2 : 12;
  for (int searched = 0; searched < mostSearched && !isProved(); ++searched) {
    Gathered *each = likeliestUnplaced();
    if (!each)
      break;
    each->isPlaced = true;
    const int64_t budget = frontier.usualNeedOf(each->candidate);
    if (Placed plan = place(each->candidate, budget, each->isLowered); isBetter(plan))
      take(std::move(plan), budget);
  }
}

/// What needs less by less than the search can tell apart is not worth a higher cost.
void Frontier::Descent::takeCheaperGathered() {
  constexpr int indistinct = 14;  // of the arena, as a power of two
  constexpr int mostFailures = 2; // searches take long where they find nothing
  const int64_t most = need() + (best->arena >> indistinct);
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
    if (frontier.need(plan) <= most)
      return take(std::move(plan), most);
    ++failures;
  }
}

/// The same need at a lower cost, unless a need that is higher by less than the search can tell
/// apart was searched already.
void Frontier::Descent::searchCheaper() {
  const int64_t least = need();
  if (least <= searched)
    return;
  constexpr int mostPlaced = 2;
  int placed = 0;
  int64_t work = 0, last = 0;
  for (const Candidate &candidate :
       frontier.under(frontier.capacityOf(least), /*deeply=*/true, work)) {
    if (!isAdmitted(candidate) || !isWorthPlacing(candidate) || !mayBeOfUse(candidate) ||
        candidate.cost >= best->cost || candidate.cost == last || placed++ == mostPlaced)
      continue;
    last = candidate.cost;
    if (!isNear(firstNeedOf(candidate), least))
      continue;
    if (Placed plan = place(candidate, least); isBetter(plan))
      take(std::move(plan), least);
  }
  spent += work;
}

/// The same need at a lower cost. Full at many steps, as schedules of the least peak are, not all
/// of them pack that tightly, and a search where a first try is far off is not worth a few
/// thousandths of the step.
void Frontier::Descent::recreate() {
  const size_t mostPacked = hasFailed() ? 2 : 6;
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
    if (frontier.need(plan) <= least) {
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

int64_t Frontier::provedNeed() {
  if (!leastNeedProved) {
    const std::vector<Candidate> &lean = search.leanest();
    leastNeedProved =
        lean.empty() ? graph.residentBytes() : needOfEverySchedule(graph, lean.front().steps).bytes;
  }
  return *leastNeedProved;
}

Frontier::Placed Frontier::findLeast(int64_t enough) {
  search.announce("the least memory");
  provedNeed(); // before the samples: none is searched below it
  const Placed &top = planOf(lowestSample());
  Descent descent(*this, top, top->cost, enough);
  descent.gatherLeanest(search.leanest());
  descent.gatherLowered();
  if (graph.numOps() <= mostOpsOfSearch) {
    descent.gatherSearched();
    descent.gatherAtLeanest();
  }
  descent.placeGathered();
  descent.takeCheaperGathered();
  if (graph.numOps() <= mostOpsOfSearch)
    descent.searchCheaper();
  descent.recreate();
  descent.tighten();
  workOfSamples += descent.work();
  leastPlan = descent.found();
  for (const Candidate &candidate : descent.gatheredSchedules())
    addCheaper(candidate, /*rung=*/0);
  return leastPlan = cheapestNear(leastPlan);
}

/// Where the step runs twice again for the last bytes: what is found for a thousandth more may need
/// hardly more, at a fraction of the recomputation.
Frontier::Placed Frontier::cheapestNear(const Placed &leanest) {
  constexpr int indistinct = 14, near = 10; // parts of the arena, as powers of two
  if (leanest->cost <= 2 * graph.baseCost() || samples.empty() || search.isAnnealed())
    return leanest;
  const int64_t least = need(leanest), leastCost = planOf(lowestSample())->cost;
  for (int part = near; part < indistinct; ++part) {
    Placed found = cheaperWithin(least + (leanest->arena >> part), leastCost, leanest->cost);
    if (found && need(found) <= least + (leanest->arena >> indistinct))
      return found;
  }
  return leanest;
}

/// Null where the problem is numbered canonically already, or not searched as one chain.
CanonicalFrontier *Frontier::canonicalFrontier() {
  if (!canonical && !isCanonical && !search.isAnnealed() && !search.microBatches())
    canonical = std::make_unique<CanonicalFrontier>(graph, search, packWork);
  return canonical.get();
}

/// The least need of the problem with canonical numbers and without labels, null where no blocks
/// repeat in it: where half of the step runs again, searches from two orders or numberings end at
/// different schedules.
Frontier::Placed Frontier::canonicalLeast() {
  CanonicalFrontier *other = canonicalFrontier();
  return other && other->hasRepeats() ? other->least() : nullptr;
}

const Frontier::Sample &Frontier::lowestSample() {
  size_t number = 0;
  while (coarseSample(number + 1))
    ++number;
  return *coarseSample(number);
}

/// Between the least need and the lowest sample a little less memory costs much more, and few of a
/// dozen schedules pack tightly: so there are more of them than a bisection would meet. Adds those
/// of all rungs up to `budget`, the cheapest first.
void Frontier::gatherCheaper(int64_t budget) {
  constexpr int64_t rungs = 32;
  constexpr int32_t mostOps = 2000; // of more ops a rung takes a tenth of a second
  const int64_t low = need(least()), high = budgetOf(lowestSample().index);
  const int64_t height = (high - low) / rungs;
  if (height <= 0 || search.isAnnealed() || graph.numOps() > mostOps)
    return;
  for (; numRungs < rungs - 1 && low + height * (numRungs + 1) <= budget; ++numRungs) {
    int64_t work = 0;
    const int64_t rung = low + height * (numRungs + 1);
    for (Candidate &candidate : under(capacityOf(rung), /*deeply=*/true, work))
      addCheaper(std::move(candidate), rung);
  }
}

/// For budgets from `rung` on, unless it is known.
void Frontier::addCheaper(Candidate candidate, int64_t rung) {
  if (candidate.cost >= leastPlan->cost)
    return;
  auto key = [](const Candidate &each) { return std::tie(each.cost, each.peak); };
  auto place =
      llvm::lower_bound(cheaperThanLeast, candidate, [&](const Cheaper &a, const Candidate &b) {
        return key(a.candidate) < key(b);
      });
  if (place == cheaperThanLeast.end() || key(place->candidate) != key(candidate))
    cheaperThanLeast.insert(place, {std::move(candidate), rung, nullptr});
}

/// The cheapest plan within `budget` of schedules that hold a little more than the least; none
/// where it costs less than `leastCost` or no less than `cost`. Each schedule is placed once, for a
/// number of bytes that is its own.
Frontier::Placed Frontier::cheaperWithin(int64_t budget, int64_t leastCost, int64_t cost) {
  gatherCheaper(budget);
  for (Cheaper &each : cheaperThanLeast) {
    if (each.candidate.cost >= cost)
      break;
    if (each.candidate.cost < leastCost || each.rung > budget ||
        leastNeedOf(each.candidate) > budget)
      continue;
    if (!each.placed)
      each.placed = place(each.candidate, usualNeedOf(each.candidate), packWork, /*ejections=*/0,
                          AfterCore::End, leastPlan);
    if (need(each.placed) <= budget)
      return each.placed;
  }
  return nullptr;
}

/// `plan`, or a cheaper one within `budget` that is made of what a descent to the least need has
/// gathered. Of several budgets a lower one has no other plans, and none costs less than the lowest
/// sample: so costs still never rise with the budget.
Frontier::Placed Frontier::orCheaper(Placed plan, int64_t budget) {
  const int64_t leastCost = planOf(lowestSample())->cost;
  if (Placed other = cheaperWithin(budget, leastCost, plan->cost))
    plan = std::move(other);
  if (CanonicalFrontier *other = canonicalFrontier(); other && other->hasRepeats())
    if (Placed found = other->cheaperWithin(budget, leastCost, plan->cost))
      plan = std::move(found);
  return plan;
}

/// Whether a descent from the leanest schedules, which lowers them by a hundredth or two, would end
/// above `bytes`.
bool Frontier::isBeyondDescent(int64_t bytes) {
  const int64_t leanest = search.leanest().front().peak - padding;
  constexpr int64_t part = 128;
  return leanest - bytes > (bytes - graph.residentBytes()) / part;
}

Frontier::Placed Frontier::least() {
  if (leastPlan)
    return leastPlan;
  if (isOfGraph())
    return leastPlan = canonicalLeast();
  const Placed other = canonicalLeast();
  const bool isAdmitted = other && other->cost >= planOf(lowestSample())->cost;
  if (isAdmitted && graph.numOps() > mostOpsOfSearch) // a second search takes as long again
    return leastPlan = other;
  if (isAdmitted && isBeyondDescent(need(other)))
    return leastPlan = other;
  leastPlan = findLeast(isAdmitted ? need(other) : INT64_MAX);
  // A need that is lower by less than the search can tell apart is not worth a plan that hangs on
  // the numbering.
  if (isAdmitted && need(other) - need(leastPlan) <= leastPlan->arena >> finestStep)
    leastPlan = other;
  return leastPlan;
}
