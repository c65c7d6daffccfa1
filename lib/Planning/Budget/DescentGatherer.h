//===- DescentGatherer.h - Schedules of fewer and fewer bytes ---------------------===//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_DESCENTGATHERER_H
#define LLMMEM_LIB_PLANNING_BUDGET_DESCENTGATHERER_H

#include "GatheredSchedules.h"

namespace llmmem::planning {

class DescentGatherer {
public:
  DescentGatherer(DescentState &state, GatheredSchedules &schedules)
      : state(state), schedules(schedules), current(state.bestCandidate()) {}

  /// Gathers schedules that hold a little less each, by their live bytes alone. Returns true where
  /// the schedule of the least peak was also made cheaper.
  bool run();
  /// Returns the number of steps visited.
  int64_t work() const { return spent; }

private:
  bool gather(llvm::ArrayRef<Candidate> candidates, int64_t budget, bool isLowered = false);
  bool lowerCurrent(int64_t budget);
  bool searchBelow(int64_t budget);
  void descend(bool (DescentGatherer::*lower)(int64_t budget));
  void gatherKnown();
  void gatherSearched();
  void gatherAtLeast();
  bool gatherRuinAndRecreate();

  DescentState &state;
  GatheredSchedules &schedules;
  Candidate current; // the schedule from which the descent continues
  int64_t left = 0, spent = 0;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGET_DESCENTGATHERER_H
