//===- DescentState.h - The best plan on the way to the least memory --------------===//
//
// What the parts of a descent (Descent.h) share: the best plan so far, and the test of what else is
// worth a look. The descent tells footprints apart that differ by more than a four-thousandth of
// the arena.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_DESCENTSTATE_H
#define LLMMEM_LIB_PLANNING_BUDGET_DESCENTSTATE_H

#include "FrontierContext.h"

namespace llmmem::planning {

class DescentState {
public:
  /// A plan that costs less than `leastCost` is of no use, nor is one whose footprint is not less
  /// than `enough` by more than the descent can tell apart.
  DescentState(FrontierContext &shared, PlacedPlan best, int64_t leastCost, int64_t enough)
      : shared(shared), plan(std::move(best)), leastCost(leastCost), enough(enough) {}

  const Plan &best() const { return *plan; }
  const PlacedPlan &bestPlan() const { return plan; }
  Candidate bestCandidate() const { return {plan->steps, plan->cost, plan->peak, plan->searcher}; }
  int64_t footprint() const { return shared.footprintOf(plan); }
  /// Returns the difference that the descent can tell apart.
  int64_t tolerance() const { return plan->arena >> tuning::finestDescentShift; }

  bool isAdmitted(const Candidate &candidate) const { return candidate.cost >= leastCost; }
  /// Says whether the candidate is worth placing, which for so many steps takes a second or two.
  bool isWorthPlacing(const Candidate &candidate) const;
  bool mayBeOfUse(const Candidate &candidate) const;
  bool mayHaveSmallerFootprint(const Candidate &candidate) const {
    return shared.placer.leastFootprintOf(candidate) < footprint() - tolerance();
  }
  bool isBetter(const Plan &other) const;
  /// Returns the bytes up to which a cheaper plan is taken: a smaller difference of bytes is not
  /// worth a higher cost.
  int64_t indistinctFrom(int64_t bytes) const {
    return bytes + ((bytes - shared.graph.residentBytes()) >> tuning::indistinctShift);
  }
  bool isWithin(const Plan &other, int64_t budget) const {
    return shared.placer.footprintOf(other) <= budget;
  }
  /// Says whether it is proved that no plan has a footprint that is smaller by more than the
  /// descent tells apart.
  bool isProved() const { return footprint() - shared.footprintBound().bytes <= tolerance(); }
  /// Says whether the graph has many ops. Otherwise searches take little time.
  bool hasManyOps() const { return shared.graph.numOps() > tuning::manyOpsOfDescent; }

  /// Makes `other` the best plan. Its packing stopped at `budget` where it is within it.
  void take(PlacedPlan other, int64_t budget) {
    plan = std::move(other);
    hasMetBudget = isWithin(*plan, budget);
  }
  bool stoppedAtBudget() const { return hasMetBudget; }

  FrontierContext &shared;

private:
  PlacedPlan plan;
  bool hasMetBudget = true;
  const int64_t leastCost, enough;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGET_DESCENTSTATE_H
