//===- LeastNeed.cpp - The least bytes that a plan was found for ------------------===//

#include "CanonicalFrontier.h"
#include <algorithm>

using namespace llmmem::planning;

/// Beyond, a search of all kinds at the least bytes takes seconds.
static constexpr int32_t mostOpsOfSearch = 4000;

/// A descent ends where 1/4096 less of the arena is not found.
static constexpr int finestStep = 12;

/// From the schedule of the least peak down, by budgets that are a little lower each.
class Frontier::Descent {
public:
  /// A plan is of use where it needs less than `enough` by more than the search can tell apart:
  /// else another one is taken.
  Descent(Frontier &frontier, Placed best, int64_t leastCost, int64_t enough)
      : frontier(frontier), best(std::move(best)), leastCost(leastCost), enough(enough) {}
  void placeLeanest(llvm::ArrayRef<Candidate> lean);
  void lower() { descend(&Descent::lowerBest); }
  void search();
  void recreate();
  void tighten();
  Placed found() { return best; }
  int64_t work() const { return spent; }

private:
  bool isAdmitted(const Candidate &candidate) const { return candidate.cost >= leastCost; }
  bool takeFirst(llvm::ArrayRef<Candidate> candidates, int64_t budget, int64_t ejections);
  bool lowerBest(int64_t budget);
  bool searchAnew(int64_t budget);
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
  /// No packing needs less than the live bytes, but for the padding of the topmost buffer.
  int64_t leastNeedOf(const Candidate &candidate) const {
    return candidate.peak - frontier.padding;
  }
  bool mayBeBetter(const Candidate &candidate) const {
    return std::pair(leastNeedOf(candidate), candidate.cost) < std::pair(need(), best->cost);
  }
  bool mayBeOfUse(const Candidate &candidate) const {
    const int64_t least = leastNeedOf(candidate);
    return least + ((least - frontier.graph.residentBytes()) >> finestStep) < enough;
  }
  bool wasPlaced(const Candidate &candidate, int64_t budget, int64_t ejections);
  /// Dozens of schedules are placed, most of them for fewer bytes than they can be placed in.
  Placed place(const Candidate &candidate, int64_t budget, int64_t work, int64_t ejections = 0) {
    frontier.met.push_back(
        frontier.place(candidate, budget, work, ejections, /*endsWithCore=*/true));
    return frontier.met.back();
  }

  Frontier &frontier;
  Placed best;
  int64_t leastCost; // what the coarse samples cost at more bytes
  int64_t enough;
  int64_t left = 0, spent = 0;
  /// What was placed and is not better. Searches find the same schedule many times, and equal
  /// placements end alike.
  struct Placement {
    std::vector<OpIndex> steps;
    int64_t budget, ejections;
    bool operator==(const Placement &other) const = default;
  };
  std::vector<Placement> refused;
};

void Frontier::Descent::placeLeanest(llvm::ArrayRef<Candidate> lean) {
  constexpr int mostPlaced = 4;
  int placed = 0;
  for (const Candidate &candidate : lean) {
    if (placed == mostPlaced || candidate.peak > need() + frontier.padding)
      break;
    if (!isAdmitted(candidate) || !isWorthPlacing(candidate))
      continue;
    ++placed;
    Placed plan = place(candidate, frontier.graph.residentBytes(), frontier.packWork);
    if (isBetter(plan))
      best = std::move(plan);
  }
}

bool Frontier::Descent::wasPlaced(const Candidate &candidate, int64_t budget, int64_t ejections) {
  Placement placement{candidate.steps, budget, ejections};
  if (llvm::is_contained(refused, placement))
    return true;
  refused.push_back(std::move(placement));
  return false;
}

bool Frontier::Descent::takeFirst(llvm::ArrayRef<Candidate> candidates, int64_t budget,
                                  int64_t ejections) {
  for (const Candidate &candidate : candidates) {
    if (!isAdmitted(candidate))
      continue;
    // What the packing search finds within ejections' reach, it finds early.
    const int64_t work = ejections > 0 ? frontier.packWork / 16 : frontier.packWork;
    left -= frontier.search.isAnnealed() ? workOfUnit * work : 0;
    if (!mayBeBetter(candidate) || wasPlaced(candidate, budget, ejections))
      continue;
    Placed plan = place(candidate, budget, work, ejections);
    if (!isBetter(plan))
      continue;
    best = std::move(plan);
    return true;
  }
  return false;
}

/// Schedules this full pack within a percent or two of their peak at once, and by ejection chains
/// mostly at it.
bool Frontier::Descent::lowerBest(int64_t budget) {
  const std::vector<Candidate> candidates =
      frontier.search.lowered(bestCandidate(), frontier.capacityOf(budget), /*rounds=*/250);
  left -= frontier.search.workOfLast();
  return takeFirst(candidates, budget, frontier.mostEjections() / 2);
}

bool Frontier::Descent::searchAnew(int64_t budget) {
  int64_t work = 0;
  const std::vector<Candidate> candidates =
      frontier.under(frontier.capacityOf(budget), /*deeply=*/true, work);
  left -= work;
  return takeFirst(candidates, budget, /*ejections=*/0);
}

/// Steps of 1/16 to 1/4096 of the arena, until all have failed.
void Frontier::Descent::descend(bool (Descent::*lower)(int64_t budget)) {
  constexpr int mostRounds = 40, coarsest = 4;
  const int64_t resident = frontier.graph.residentBytes();
  left = frontier.search.workInAll() / 4;
  const int64_t before = left;
  int rounds = 0;
  for (int fineness = coarsest; fineness <= finestStep; fineness += 2)
    while (rounds++ < mostRounds && left > 0) {
      const int64_t less = std::max<int64_t>((need() - resident) >> fineness, 1);
      if (need() - less < resident || !(this->*lower)(need() - less))
        break;
    }
  spent += before - left;
}

void Frontier::Descent::search() {
  descend(&Descent::searchAnew);
  left = 0;
  searchAnew(need()); // the same need at a lower cost
  spent -= left;
}

/// The same need at a lower cost. Full at many steps, as schedules of the least peak are, not all
/// of them pack that tightly.
void Frontier::Descent::recreate() {
  constexpr size_t mostPacked = 6;
  const int64_t least = need();
  const std::vector<Candidate> cheaper =
      frontier.search.recreated(bestCandidate(), frontier.capacityOf(least), /*rounds=*/600);
  for (const Candidate &candidate : llvm::ArrayRef(cheaper).take_front(mostPacked)) {
    if (!isAdmitted(candidate) || !isWorthPlacing(candidate) || !mayBeOfUse(candidate))
      continue;
    Placed plan = place(candidate, least, frontier.packWork);
    if (frontier.need(plan) <= least) {
      best = std::move(plan);
      return;
    }
  }
}

/// Packing stopped where the budget was met. With nothing to meet, the padding moves to the top.
void Frontier::Descent::tighten() {
  const int64_t resident = frontier.graph.residentBytes();
  if (best->arena <= best->peak - resident || !mayBeOfUse(bestCandidate()))
    return;
  if (Placed plan =
          frontier.place({best->steps}, resident, frontier.packWork, 0, /*endsWithCore=*/true);
      frontier.need(plan) < need())
    best = std::move(plan);
}

Frontier::Placed Frontier::findLeast(int64_t enough) {
  search.announce("the least memory");
  const Placed &top = planOf(lowestSample());
  Descent descent(*this, top, top->cost, enough);
  descent.placeLeanest(search.leanest());
  descent.lower();
  if (graph.numOps() <= mostOpsOfSearch)
    descent.search();
  descent.recreate();
  descent.tighten();
  workOfSamples += descent.work();
  return descent.found();
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

/// `plan`, or a cheaper one that a descent to the least need has met within `budget`. Of several
/// budgets a lower one meets no other plans, and none costs less than the lowest sample: so costs
/// still never rise with the budget.
Frontier::Placed Frontier::orCheaperMet(Placed plan, int64_t budget) {
  const int64_t leastCost = planOf(lowestSample())->cost;
  auto isBetter = [&](const Placed &other) {
    return other->cost >= leastCost && other->cost < plan->cost && need(other) <= budget;
  };
  for (const Placed &other : met)
    if (isBetter(other))
      plan = other;
  if (CanonicalFrontier *other = canonicalFrontier(); other && other->hasRepeats())
    for (const Placed &found : other->met())
      if (isBetter(found))
        plan = other->restored(found);
  return plan;
}

/// Whether a descent from the leanest schedules, which lowers them by a hundredth or two, would end
/// above `bytes`.
bool Frontier::isBeyondDescent(int64_t bytes) {
  const int64_t leanest = search.leanest().front().peak - padding;
  constexpr int64_t part = 32;
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
