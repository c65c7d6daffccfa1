//===- SchedulePlacer.h - Offsets for the schedules of a frontier -----------------===//
//
// Turns a schedule into a plan with offsets, and says how many bytes schedules and plans need. The
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

/// How long offsets are searched for; without work heuristics alone look for them.
struct PlacingEffort {
  int64_t work = 0;
  int64_t ejections = 0;
  AfterCore afterCore = AfterCore::Search;
  const Plan *like = nullptr; // whose offsets the search begins at
};

class SchedulePlacer {
public:
  /// `packWork` bounds the search for offsets of each plan (Placement.h).
  SchedulePlacer(const Graph &graph, const BudgetSearch &search, int64_t packWork)
      : packWork(packWork), graph(graph), search(search), padding(graph.topPadding()) {}

  PlacedPlan place(const Candidate &candidate, int64_t budget, const PlacingEffort &effort) const;
  /// The footprint of the candidate by two heuristics alone, in a tenth of the time of a search.
  int64_t firstFootprintOf(const Candidate &candidate) const;
  /// The work of ejection chains for one plan.
  int64_t mostEjections() const;

  int64_t footprintOf(const Plan &plan) const { return graph.residentBytes() + plan.arena; }
  /// No packing needs less than the live bytes, but for the padding of the topmost buffer.
  int64_t leastFootprintOf(const Candidate &candidate) const { return candidate.peak - padding; }
  /// The budget that a candidate is placed for: little more than the least footprint.
  int64_t usualFootprintOf(const Candidate &candidate) const {
    const int64_t least = leastFootprintOf(candidate);
    return least + ((least - graph.residentBytes()) >> tuning::finestDescentShift);
  }
  /// The live bytes that fit a budget. They include the padding of the topmost buffer, which an
  /// arena does not hold.
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
