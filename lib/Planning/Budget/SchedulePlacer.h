//===- SchedulePlacer.h - Offsets for the schedules of a frontier -----------------===//
//
// Turns a schedule into a plan with offsets, and says what footprint schedules and plans have. The
// footprint of a plan is what a budget bounds: resident bytes and arena.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_SCHEDULEPLACER_H
#define LLMMEM_LIB_PLANNING_BUDGET_SCHEDULEPLACER_H

#include "BudgetSearch.h"
#include "Tuning/Constants.h"
#include "llmmem/Planning/Allocation/Placement.h"
#include "llmmem/Planning/Model/Plan.h"

namespace llmmem::planning {

using PlacedPlan = std::shared_ptr<const Plan>;

/// The effort of a search for offsets. Without work, heuristics alone look for them.
struct PlacingEffort {
  int64_t work = 0;
  int64_t ejections = 0;
  AfterCore afterCore = AfterCore::Search;
  const Plan *like = nullptr; // the plan at whose offsets the search begins
};

class SchedulePlacer {
public:
  /// `packWork` bounds the search for offsets of each plan (Placement.h).
  SchedulePlacer(const Graph &graph, const BudgetSearch &search, int64_t packWork)
      : packWork(packWork), graph(graph), search(search), padding(graph.topPadding()) {}

  PlacedPlan place(const Candidate &candidate, int64_t budget, const PlacingEffort &effort) const;
  /// Returns the footprint of the candidate by two heuristics alone, which take a tenth of the time
  /// of a search.
  int64_t firstFootprintOf(const Candidate &candidate) const;
  /// Returns the work of ejection chains for one plan.
  int64_t mostEjections() const;

  int64_t footprintOf(const Plan &plan) const { return graph.residentBytes() + plan.arena; }
  /// Returns the live bytes without the padding of the topmost buffer. No packing has a smaller
  /// footprint.
  int64_t leastFootprintOf(const Candidate &candidate) const { return candidate.peak - padding; }
  /// Returns the budget for which a candidate is placed: little more than the least footprint.
  int64_t footprintWithHeadroomOf(const Candidate &candidate) const {
    const int64_t least = leastFootprintOf(candidate);
    return least + ((least - graph.residentBytes()) >> tuning::finestDescentShift);
  }
  /// Returns the live bytes that fit a budget. They include the padding of the topmost buffer,
  /// which an arena does not hold.
  int64_t capacityOf(int64_t budget) const { return budget + padding; }

  const int64_t packWork;

private:
  PackOptions packOptions(int64_t budget) const;

  const Graph &graph;
  const BudgetSearch &search;
  const int64_t padding;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGET_SCHEDULEPLACER_H
