//===- CandidateSearch.h - The best plan of several candidates -------------===//
//
// A step can be planned in several ways: with several tilings, or written with alternative ops.
// Each way is a candidate with a plan of its own; the driver here plans those that can win, keeps
// the best plan, and gathers what is proved of all of them.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_ALTERNATIVES_CANDIDATESEARCH_H
#define LLMMEM_LIB_PLANNING_ALTERNATIVES_CANDIDATESEARCH_H

#include "llmmem/Planning/Planner.h"
#include "llvm/ADT/ArrayRef.h"

namespace llmmem::planning {

/// What the driver asks about the candidates, by number.
struct Candidates {
  /// No plan of the candidate has a shorter duration.
  llvm::function_ref<int64_t(size_t)> leastDuration;
  llvm::function_ref<Plan(size_t)> plan;
  /// Whether the plan of candidate `a` is better than that of `b`, where they may be infeasible.
  llvm::function_ref<bool(size_t a, const Plan &, size_t b, const Plan &)> isBetter;
  /// What rounding can have added to a bound on its peak (paddingOf).
  llvm::function_ref<int64_t(size_t)> padding;
  /// Told of each candidate that is not planned, as it cannot win.
  llvm::function_ref<void(size_t)> leaveOut;
};

/// What is proved of the peaks of several candidates. A plan with steps states what schedules hold,
/// in exact sizes; one without what arenas need, in sizes rounded up.
struct PeakBounds {
  int64_t held = INT64_MAX, needed = INT64_MAX;

  /// `padding`: the most that rounding has added to a bound of this candidate (paddingOf).
  void add(const Plan &plan, int64_t padding);
  /// What a plan of any of the candidates states.
  int64_t of(const Plan &plan) const { return plan.steps.empty() ? needed : held; }
};

struct CandidateSearch {
  size_t number = 0; // of the best candidate
  Plan plan;         // its plan
  bool found = false, allInfeasible = true, any = false;
  // Over the candidates that were planned.
  int64_t costLowerBound = INT64_MAX, timeLowerBound = INT64_MAX;
  PeakBounds peakBounds;
  std::string bound; // the name of the one that `costLowerBound` is
  double seconds = 0;

  /// Plans the candidates of `order`. With `leavesOut` not those whose ops alone take as long
  /// as the best plan so far.
  void planEach(llvm::ArrayRef<size_t> order, bool leavesOut, const Candidates &candidates);

  /// Gives the best plan the bounds that hold for all candidates. Those left out take longer.
  void boundBest();

private:
  void planOne(size_t candidate, const Candidates &candidates);
};

/// No plan of `problem` by this policy has a shorter duration.
int64_t leastDuration(const Problem &problem, const PlanOptions &options);

/// The program order placed, with the bound on the peak that needs no search.
Plan planWithoutSearch(Problem problem);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_ALTERNATIVES_CANDIDATESEARCH_H
