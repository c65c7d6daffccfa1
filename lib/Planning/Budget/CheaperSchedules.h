//===- CheaperSchedules.h - Schedules a little above the least memory -------------===//
//
// Between the least memory and the lowest sample a little less memory costs much more, and few of a
// dozen schedules pack tightly: so there are more of them than a bisection would meet. They come
// from the descent to the least memory and from rungs between the two. Each is placed once, for a
// number of bytes that is its own, so a larger budget chooses from as many or more.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_CHEAPERSCHEDULES_H
#define LLMMEM_LIB_PLANNING_BUDGET_CHEAPERSCHEDULES_H

#include "FrontierContext.h"

namespace llmmem::planning {

class CheaperSchedules {
public:
  explicit CheaperSchedules(FrontierContext &shared) : shared(shared) {}

  void clear();
  /// The plan of the least memory: what costs no less is not added.
  void setLeast(PlacedPlan plan) { least = std::move(plan); }
  /// For budgets from `rung` on, unless it is known.
  void add(Candidate candidate, int64_t rung);
  /// Adds the schedules of the rungs up to `budget`, the lowest of them first. The highest rung is
  /// below `high`.
  void gather(int64_t budget, int64_t high);
  /// The cheapest plan within `budget`; null where it costs less than `leastCost` or no less than
  /// `cost`.
  PlacedPlan within(int64_t budget, int64_t leastCost, int64_t cost);

private:
  struct Cheaper {
    Candidate candidate;
    int64_t rung;      // for budgets from here on
    PlacedPlan placed; // where it was asked for
  };

  FrontierContext &shared;
  PlacedPlan least;
  std::vector<Cheaper> schedules; // the cheapest first
  int64_t numRungs = 0;           // whose schedules are among them
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGET_CHEAPERSCHEDULES_H
