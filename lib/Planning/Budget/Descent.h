//===- Descent.h - The way down to the least bytes -------------------------------===//
//
// The descent first gathers schedules that hold a little less each, by their live bytes alone
// (DescentGatherer.h). Then it places the one of the least peak. Where that does not pack, it
// places those that most likely do (GatheredSchedules.h), until the next one holds more than the
// best footprint, or is like one that did not pack. So a handful of dozens of schedules is placed,
// and one that cannot be placed tightly does not end the search.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_DESCENT_H
#define LLMMEM_LIB_PLANNING_BUDGET_DESCENT_H

#include "DescentGatherer.h"

namespace llmmem::planning {

class Descent {
public:
  /// Begins with the plan `best`. `leastCost` and `enough` are as for DescentState.
  Descent(FrontierContext &shared, PlacedPlan best, int64_t leastCost, int64_t enough)
      : shared(shared), state(shared, std::move(best), leastCost, enough), schedules(state),
        gatherer(state, schedules) {}

  /// Returns the plan of the smallest footprint that is found.
  PlacedPlan run();
  Candidates gatheredSchedules() const { return schedules.all(); }
  /// Returns the number of steps visited.
  int64_t work() const { return gatherer.work() + placingWork; }

private:
  PlacedPlan place(const Candidate &candidate, int64_t budget, bool isLowered = false);
  void placeGathered();
  void takeCheaperGathered();
  void ruinAndRecreate();
  void tighten();

  FrontierContext &shared;
  DescentState state;
  GatheredSchedules schedules;
  DescentGatherer gatherer;
  int64_t placingWork = 0;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGET_DESCENT_H
