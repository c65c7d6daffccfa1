//===- CheaperSchedules.h - Schedules a little above the least memory -------------===//
//
// Between the least memory and the lowest sample, a little less memory costs much more, and few of
// a dozen schedules pack tightly. So this class gathers more schedules than a bisection would meet.
// They come from the descent to the least memory and from fixed levels between the two. Each is
// placed once, for a number of bytes that is its own, so a larger budget chooses from as many or
// more.
//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_CHEAPERSCHEDULES_H
#define LLMMEM_LIB_PLANNING_BUDGET_CHEAPERSCHEDULES_H

#include "FrontierContext.h"

namespace llmmem::planning {

class CheaperSchedules {
public:
  explicit CheaperSchedules(FrontierContext &shared) : shared(shared) {}

  void clear();
  /// Sets the plan of the least memory. A schedule that costs no less is not added.
  void setLeast(PlacedPlan plan) { least = std::move(plan); }
  /// Adds a candidate for budgets from `level` on, unless it is known.
  void add(Candidate candidate, int64_t level);
  /// Adds the schedules of the levels up to `budget`, the lowest of them first. The highest level
  /// is below `high`.
  void gather(int64_t budget, int64_t high);
  /// Returns the cheapest plan within `budget`, or null where that costs less than `leastCost` or
  /// no less than `cost`.
  PlacedPlan within(int64_t budget, int64_t leastCost, int64_t cost);

private:
  struct Cheaper {
    Candidate candidate;
    int64_t level;     // for budgets from here on
    PlacedPlan placed; // set once it was asked for
  };

  FrontierContext &shared;
  PlacedPlan least;
  std::vector<Cheaper> schedules; // sorted, the cheapest first
  int64_t numCapacityLevels = 0;  // the number of levels whose schedules are among them
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGET_CHEAPERSCHEDULES_H
