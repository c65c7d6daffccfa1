//===- CandidateSearch.cpp - The best plan of several candidates -----------===//

#include "Variants/CandidateSearch.h"
#include "Offload/OffloadSearch.h"
#include "Offload/OffloadShape.h"
#include "Overlap/OverlapSearch.h"

using namespace llmmem::planning;

void PeakBounds::add(const Plan &plan, int64_t padding) {
  const int64_t bound = plan.peakLowerBound;
  needed = std::min(needed, bound);
  held = std::min(held, plan.steps.empty() ? std::max<int64_t>(0, bound - padding) : bound);
}

void CandidateSearch::planOne(size_t candidate, const CandidateCallbacks &candidates) {
  Plan made = candidates.plan(candidate);
  seconds += made.seconds;
  peakBounds.add(made, candidates.padding(candidate));
  found |= made.status == Status::Feasible;
  // A candidate without any plan bounds no plan's cost.
  if (made.status != Status::Infeasible) {
    allInfeasible = false;
    if (bound.empty() || made.costLowerBound < costLowerBound) {
      costLowerBound = made.costLowerBound;
      bound = made.bound;
    }
    if (made.time)
      timeLowerBound = std::min(timeLowerBound, made.time->lowerBound);
  }
  if (!any || candidates.isBetter(candidate, made, number, plan)) {
    number = candidate;
    plan = std::move(made);
  }
  any = true;
}

void CandidateSearch::planEach(llvm::ArrayRef<size_t> order, bool leavesOut,
                               const CandidateCallbacks &candidates) {
  for (size_t candidate : order) {
    if (leavesOut && found && candidates.leastDuration(candidate) >= plan.duration()) {
      allInfeasible = false;
      candidates.leaveOut(candidate);
    } else {
      planOne(candidate, candidates);
    }
  }
}

void CandidateSearch::boundBest() {
  plan.costLowerBound = std::min(costLowerBound, plan.cost);
  if (plan.time)
    plan.time->lowerBound = std::min(timeLowerBound, plan.time->time);
}

int64_t llmmem::planning::leastDuration(const Problem &problem, const PlanOptions &options) {
  const bool isBudgeted = options.policy.kind == PolicyKind::Budget && problem.budget;
  return isBudgeted && hasOffload(problem) && !checkOffloadable(problem) ? leastOffloadTime(problem)
                                                                         : leastDuration(problem);
}

Plan llmmem::planning::planWithoutSearch(Problem problem) {
  problem.budget.reset();
  PlanOptions asGiven;
  asGiven.policy.kind = PolicyKind::None;
  asGiven.workSeconds = 0;
  return plan(problem, asGiven);
}
