//===- Descent.h - The way down to the least bytes -------------------------------===//
//
// Schedules that hold a little less each are gathered first, by their live bytes alone. Then the
// leanest is placed, and where it does not pack, those that most likely do, until the next one
// holds more than is needed already, or is like one that did not pack. So a handful of dozens of
// schedules is placed, and one that cannot be placed tightly does not end the search.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_DESCENT_H
#define LLMMEM_LIB_PLANNING_BUDGET_DESCENT_H

#include "Frontier.h"

namespace llmmem::planning {

class Frontier::Descent {
public:
  /// It ends where 1/4096 less of the arena is not found.
  static constexpr int finestStep = 12;

  /// A plan is of use where it needs less than `enough` by more than the search can tell apart:
  /// else another one is taken.
  Descent(Frontier &frontier, Placed best, int64_t leastCost, int64_t enough)
      : frontier(frontier), best(std::move(best)), leastCost(leastCost), enough(enough),
        current(bestCandidate()) {}
  void gatherLeanest(llvm::ArrayRef<Candidate> lean);
  void gatherLowered() { descend(&Descent::lowerCurrent); }
  void gatherSearched() {
    descend(&Descent::searchBelow);
    if (!hasManyOps()) // what was found may be lowered again in little time
      gatherLowered();
  }
  void gatherAtLeanest();
  void gatherRecreated();
  void placeGathered();
  void takeCheaperGathered();
  void recreate();
  void tighten();
  /// No plan needs less by more than the descent tells apart.
  bool isProved() const { return need() - frontier.needBound().bytes <= best->arena >> finestStep; }
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
  /// Up to there, what costs less is taken: what needs less by less is not worth a higher cost.
  int64_t indistinctFrom(int64_t need) const {
    constexpr int indistinct = 14; // of the arena, as a power of two
    return need + ((need - frontier.graph.residentBytes()) >> indistinct);
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
  bool isWithin(const Placed &plan, int64_t budget) const { return frontier.need(plan) <= budget; }
  Placed place(const Candidate &candidate, int64_t budget, bool isLowered = false);
  void take(Placed plan, int64_t budget) {
    best = std::move(plan);
    hasMetBudget = isWithin(best, budget);
  }
  int64_t firstNeedOf(const Candidate &candidate) const;

  struct Gathered {
    Candidate candidate;
    bool isLowered;
    bool isPlaced = false, hasFailed = false;
    std::optional<int64_t> firstNeed = std::nullopt; // where it had a first try
  };
  static bool isLeaner(const Gathered &a, const Gathered &b) {
    return std::tie(a.candidate.peak, a.candidate.cost) <
           std::tie(b.candidate.peak, b.candidate.cost);
  }
  int64_t firstNeedOf(Gathered &each) const;
  int64_t firstExcessOf(Gathered &each) const;
  bool isNear(int64_t firstNeed, int64_t budget) const;
  bool hasFailed() const { return !failed.empty(); }
  bool areAlike(const Candidate &candidate, int64_t peak, int64_t cost, int nearer) const;
  bool isLikeFailed(const Candidate &candidate) const;
  bool isUnlikely(Gathered &each);
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
  bool hasRecreated = false;
  int64_t leastCost; // nothing cheaper is gathered
  int64_t enough;
  Candidate current; // where the descent goes on from
  std::vector<Gathered> gathered;
  int64_t left = 0, spent = 0;
  struct Failure { // of a search for offsets
    int64_t peak, cost;
  };
  std::vector<Failure> failed;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGET_DESCENT_H
