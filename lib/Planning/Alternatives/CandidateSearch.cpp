//===- CandidateSearch.cpp - The best plan of several candidates -----------===//

#include "Alternatives/CandidateSearch.h"

using namespace llmmem::planning;

void CandidateSearch::planOne(size_t candidate, const Candidates &candidates) {
  Plan made = candidates.plan(candidate);
  seconds += made.seconds;
  peakLowerBound = std::min(peakLowerBound, made.peakLowerBound);
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
                               const Candidates &candidates) {
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

int64_t llmmem::planning::peakBoundWithoutSearch(Problem problem) {
  problem.budget.reset();
  PlanOptions asGiven;
  asGiven.policy.kind = PolicyKind::None;
  asGiven.seconds = 0;
  return plan(problem, asGiven).peakLowerBound;
}
