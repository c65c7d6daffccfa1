//===- CandidateSearch.h - The best plan of several candidates -------------===//
//
// A step can be planned in several variants: with several tilings, or written with other ops. Each
// variant is a candidate with a plan of its own. This driver plans those that can win, keeps the
// best plan, and combines the bounds of all of them.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_VARIANTS_CANDIDATESEARCH_H
#define LLMMEM_LIB_PLANNING_VARIANTS_CANDIDATESEARCH_H

#include "llmmem/Planning/Planner.h"
#include "llvm/ADT/ArrayRef.h"

namespace llmmem::planning {

/// What the driver needs to know about the candidates, which it refers to by number.
struct CandidateCallbacks {
  /// Returns a lower bound on the duration of every plan of the candidate.
  llvm::function_ref<int64_t(size_t)> leastDuration;
  llvm::function_ref<Plan(size_t)> plan;
  /// Returns whether the plan of candidate `a` is better than that of `b`. Either may be
  /// infeasible.
  llvm::function_ref<bool(size_t a, const Plan &, size_t b, const Plan &)> isBetter;
  /// Returns the most that rounding can have added to a bound on the peak of the candidate
  /// (paddingOf).
  llvm::function_ref<int64_t(size_t)> padding;
  /// Is called for each candidate that is not planned because it cannot win.
  llvm::function_ref<void(size_t)> leaveOut;
};

/// Lower bounds on the peaks of several candidates. The bound of a plan with steps counts what
/// schedules hold, in exact sizes; that of a plan without steps counts what arenas need, in sizes
/// rounded up.
struct PeakBounds {
  int64_t held = INT64_MAX, needed = INT64_MAX;

  /// Adds the bound of a candidate's plan, to which rounding has added at most `padding`
  /// (paddingOf).
  void add(const Plan &plan, int64_t padding);
  /// Returns the bound over all candidates that fits the kind of `plan`.
  int64_t of(const Plan &plan) const { return plan.steps.empty() ? needed : held; }
};

struct CandidateSearch {
  size_t number = 0; // of the best candidate
  Plan plan;         // its plan
  bool found = false, allInfeasible = true, any = false;
  // Over the candidates that were planned.
  int64_t costLowerBound = INT64_MAX, timeLowerBound = INT64_MAX;
  PeakBounds peakBounds;
  std::string bound; // name of the bound in `costLowerBound`
  double seconds = 0;

  /// Plans the candidates of `order`. With `leavesOut` it skips those whose ops alone take at least
  /// as long as the best plan so far.
  void planEach(llvm::ArrayRef<size_t> order, bool leavesOut, const CandidateCallbacks &candidates);

  /// Gives the best plan the bounds that hold for all candidates. Those that were skipped take at
  /// least as long.
  void boundBest();

private:
  void planOne(size_t candidate, const CandidateCallbacks &candidates);
};

/// Returns a lower bound on the duration of every plan of `problem` by this policy.
int64_t leastDuration(const Problem &problem, const PlanOptions &options);

/// Places the program order, with the bound on the peak that needs no search.
Plan planWithoutSearch(Problem problem);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_VARIANTS_CANDIDATESEARCH_H
