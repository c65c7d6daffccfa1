//===- OffloadSchedules.h - Schedules of the device to which copies are added -----===//
//
// Schedules come from the planner for one memory, under the budget and under larger ones up to the
// one where nothing is recomputed. What a larger budget keeps in addition is what copies have to
// take to the host.
//
// The larger budgets are those of one grid that depends on the problem alone. So searches under
// several budgets share most of their schedules, and each schedule is made once.
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

  /// `device` is the graph of `shape.device`. All references must outlive this object. `work`
  /// bounds the exhaustive search of each schedule of a small problem.
  OffloadSchedules(const Problem &problem, const OffloadShape &shape, const Graph &device,
                   BudgetSearch &search, Frontier &frontier, int64_t work);

  /// Returns the footprint on the device where nothing is recomputed.
  int64_t footprintWithoutRecomputation();
  /// Returns the plan that only recomputes, and null where none was found.
  Placed at(int64_t budget);
  /// Adds the schedules to `copies` that are worth trying under `budget`.
  void addTo(CopySearch &copies, int64_t budget);
  /// Adds the schedules to `copies` among which that of the least footprint is searched.
  void addLeastMemoryTo(CopySearch &copies);

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
  std::map<int64_t, std::vector<OpIndex>> exact; // empty where none was found
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_OFFLOAD_OFFLOADSCHEDULES_H
