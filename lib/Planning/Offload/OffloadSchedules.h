//===- OffloadSchedules.h - Schedules of the device to which copies are added -----===//
//
// Schedules come from the planner for one memory, under the budget and under larger ones up to
// where nothing is recomputed: what a larger budget would keep is what copies have to hold.
//
// The larger budgets are those of one grid that depends on the problem alone. So searches under
// several budgets share most of their schedules, and each of them is made once.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_OFFLOAD_OFFLOADSCHEDULES_H
#define LLMMEM_LIB_PLANNING_OFFLOAD_OFFLOADSCHEDULES_H

#include "Budget/Frontier.h"
#include "CopySearch.h"
#include <map>

namespace llmmem::planning {

class OffloadSchedules {
public:
  using Placed = std::shared_ptr<const Plan>;

  /// `device` is the graph of `shape.device`; all are referred to. `work` bounds the search of
  /// every schedule of a small problem.
  OffloadSchedules(const Problem &problem, const OffloadShape &shape, const Graph &device,
                   BudgetSearch &search, Frontier &frontier, int64_t work);

  /// What the device needs where nothing is recomputed, resident bytes included.
  int64_t freeNeed();
  /// The plan of recomputation alone; null where none was found.
  Placed at(int64_t budget);
  /// Gives `copies` the schedules that are worth trying under `budget`.
  void addTo(CopySearch &copies, int64_t budget);
  /// Gives `copies` those among which the one that needs the least bytes is looked for.
  void addLeanestTo(CopySearch &copies);

private:
  int64_t linkBytes() const;
  int64_t mostAbove();
  void addAt(CopySearch &copies, int64_t budget);
  void addOrdersTo(CopySearch &copies) const;

  const Problem &problem;
  const OffloadShape &shape;
  const Graph &device;
  BudgetSearch &search;
  Frontier &frontier;
  const int64_t work;
  std::map<int64_t, Placed> placed;
  std::map<int64_t, std::vector<OpIndex>> exact; // empty: none was found
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_OFFLOAD_OFFLOADSCHEDULES_H
