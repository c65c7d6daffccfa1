//===- LeastMemorySchedules.h - Schedules on the way to the least memory ----------===//
//
// The schedules come from the levels of the recursion down to the lowest that has a plan. From the
// one of the least peak among them, a descent by eviction goes on in small steps until eviction
// fails. None of it depends on a capacity, so it is made once.
//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_LEASTMEMORYSCHEDULES_H
#define LLMMEM_LIB_PLANNING_BUDGET_LEASTMEMORYSCHEDULES_H

#include "NestedTables.h"

namespace llmmem::planning {

/// Returns `steps` with the runs that may not be repeated moved to just before their first readers
/// (Schedulers/LaterRuns.h), where that does not raise the peak.
std::vector<OpIndex> withLaterRuns(const Graph &graph, const std::vector<OpIndex> &steps);

class LeastMemorySchedules {
public:
  LeastMemorySchedules(SearchContext &context, NestedTables &tables)
      : context(context), tables(tables) {}

  /// Returns the schedules, the lowest peak first. All but the first few are as they were before
  /// they are improved.
  const Candidates &all();

private:
  void addEveryLevel();
  void descend();
  void improveLast(llvm::ArrayRef<int64_t> targets);

  SearchContext &context;
  NestedTables &tables;
  Candidates found;
  int64_t spent = 0; // not counted anywhere: it is the same for all capacities
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGET_LEASTMEMORYSCHEDULES_H
