//===- TimedVariants.cpp - More budget never makes a step with copies longer -----===//

#include "llmmem/Planning/Variants/TimedVariants.h"
#include "Budget/BisectTimes.h"
#include <memory>

using namespace llmmem::planning;

namespace {

/// The plan of a sample.
struct Timed {
  ProblemVariantPlan made;
  int64_t time;
  int64_t leastBelow; // a lower bound on the time of plans of this budget or a smaller one
};
using TimedPlan = std::shared_ptr<const Timed>;

class TimedSearch {
public:
  TimedSearch(const VariantSet &given, const PlanOptions &options, const TimeOfPlan &timeOf)
      : variants(given), ofSamples(options), ofLeast(options), timeOf(timeOf) {
    ofLeast.policy.kind = PolicyKind::LeastPeak;
    ofSamples.provesCost = false;
  }

  /// Returns the plan of `budget`, and null where none was found.
  TimedPlan within(int64_t budget);
  /// Plans under the budget itself, for the bounds of that plan.
  ProblemVariantPlan certified(int64_t budget);
  double seconds() const { return spent; }

private:
  const Problem &problemOf(const ProblemVariantPlan &made) const {
    return variants.alternatives[made.alternative].problem;
  }
  int64_t footprintOf(const ProblemVariantPlan &made) const {
    return problemOf(made).residentBytes() + made.chosen.plan.arena;
  }
  TimedPlan search(std::optional<int64_t> budget, const PlanOptions &options);
  TimedPlan searchAt(int64_t budget) { return search(budget, ofSamples); }
  std::vector<int64_t> samples();
  TimedPlan bestFrom(llvm::ArrayRef<int64_t> samples);

  VariantSet variants;
  PlanOptions ofSamples, ofLeast;
  const TimeOfPlan &timeOf;
  double spent = 0;
  TimedPlan least; // the plan of the last sample
};

} // namespace

TimedPlan TimedSearch::search(std::optional<int64_t> budget, const PlanOptions &options) {
  variants.setBudget(budget);
  auto found = std::make_shared<Timed>(Timed{planVariants(variants, options), 0, 0});
  const Plan &plan = found->made.chosen.plan;
  spent += plan.seconds;
  if (plan.status != Status::Feasible)
    return nullptr;
  const std::optional<int64_t> time = timeOf(found->made);
  if (!time)
    return nullptr;
  found->time = *time;
  found->leastBelow = plan.cost; // which never rises with the budget
  return found;
}

/// Returns the samples, the highest first. The last one is the least footprint that was found.
std::vector<int64_t> TimedSearch::samples() {
  const TimedPlan top = searchAt(INT64_MAX / 4);
  least = search(std::nullopt, ofLeast);
  if (!top || !least)
    return {};
  const int64_t resident = problemOf(top->made).residentBytes(), last = footprintOf(least->made);
  std::vector<int64_t> budgets;
  for (int64_t arena = top->made.chosen.plan.arena * 2; arena > 0 && resident + arena > last;
       arena /= 2)
    budgets.push_back(resident + arena);
  budgets.push_back(last);
  return budgets;
}

/// Returns the shortest plan of these samples, which are sorted, the highest first. Of equal plans
/// it returns that of the highest sample.
TimedPlan TimedSearch::bestFrom(llvm::ArrayRef<int64_t> samples) {
  TimedPlan best;
  for (size_t at = 0; at < samples.size(); ++at) {
    const bool isLast = at + 1 == samples.size();
    TimedPlan found = isLast ? least : searchAt(samples[at]);
    if (!found)
      continue;
    const int64_t leastBelow = found->leastBelow;
    if (!best || found->time < best->time)
      best = std::move(found);
    if (best->time <= leastBelow)
      break;
  }
  return best;
}

TimedPlan TimedSearch::within(int64_t budget) {
  return planWithin(
      budget, samples(), /*mostHalvings=*/6,
      [&](llvm::ArrayRef<int64_t> below) { return bestFrom(below); },
      [&](int64_t middle) { return searchAt(middle); });
}

ProblemVariantPlan TimedSearch::certified(int64_t budget) {
  variants.setBudget(budget);
  PlanOptions options = ofSamples;
  options.provesCost = true;
  ProblemVariantPlan made = planVariants(variants, options);
  spent += made.chosen.plan.seconds;
  return made;
}

/// Gives `taken`, another plan within the budget, the bounds that `own` proves about the budget.
static void takeBounds(const ProblemVariantPlan &own, ProblemVariantPlan &taken) {
  const Plan &from = own.chosen.plan;
  Plan &to = taken.chosen.plan;
  to.peakBasis = from.peakBasis;
  to.infeasibilityBasis = from.infeasibilityBasis;
  to.peakLowerBound = std::min(from.peakLowerBound, to.peak);
  to.costLowerBound = std::min(from.costLowerBound, to.cost);
  to.costBasis = from.costBasis;
  to.bound = from.bound;
  if (to.time && from.time)
    to.time->lowerBound = std::min(from.time->lowerBound, to.time->time);
  if (own.alternative == taken.alternative && own.chosen.tiling == taken.chosen.tiling)
    return;
  // The proof of `own` is for another variant.
  to.costLowerBound = std::min(to.costLowerBound, to.baseCost);
  to.costBasis = {};
  to.bound = "every op once";
}

ProblemVariantPlan llmmem::planning::planVariantsByTime(const VariantSet &variants,
                                                        const PlanOptions &options,
                                                        const TimeOfPlan &timeOf) {
  const std::optional<int64_t> budget = variants.alternatives.front().problem.budget;
  if (options.policy.kind != PolicyKind::Budget || !budget)
    return planVariants(variants, options);
  TimedSearch search(variants, options, timeOf);
  const TimedPlan found = search.within(*budget);
  if (!found)
    return planVariants(variants, options);
  const ProblemVariantPlan own = search.certified(*budget);
  ProblemVariantPlan taken = found->made;
  takeBounds(own, taken);
  taken.outcomes = own.outcomes;
  ProblemVariantOutcome &outcome = taken.outcomes[taken.alternative];
  const Plan &plan = taken.chosen.plan;
  outcome = {true, plan.status, plan.cost, plan.peak, plan.arena};
  if (plan.time)
    outcome.time = plan.time->time;
  taken.chosen.plan.seconds = search.seconds();
  return taken;
}
