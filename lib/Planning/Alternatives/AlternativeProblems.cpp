//===- AlternativeProblems.cpp - One step written with different ops -------===//

#include "llmmem/Planning/Alternatives/AlternativeProblems.h"
#include "Alternatives/CandidateSearch.h"
#include "Overlap/OverlapSearch.h"
#include "llmmem/Planning/Alternatives/PlanForms.h"
#include "llmmem/Planning/Bounds/Bounds.h"
#include "llmmem/Planning/Model/FoundStructure.h"
#include "llmmem/Planning/Model/Graph.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace llmmem::planning;

namespace {
class AlternativeSearch {
public:
  AlternativeSearch(llvm::ArrayRef<AlternativeProblem> alternatives, AlternativeChoice choice,
                    const PlanOptions &options)
      : alternatives(alternatives), choice(choice), options(options),
        tilings(alternatives.size(), 0), outcomes(alternatives.size()) {
    // All alternatives together stay within the bound on the work.
    if (choice == AlternativeChoice::ByPlan)
      this->options.workSeconds /= alternatives.size();
    for (const AlternativeProblem &it : alternatives)
      leastDurations.push_back(leastDurationOf(it));
  }

  AlternativePlan run();

private:
  int64_t baseCostOf(size_t number) const {
    const AlternativeProblem &it = alternatives[number];
    return Graph(TiledProblem(it.problem, it.tilings.front())).baseCost();
  }
  bool isLeastPeak() const { return options.policy.kind == PolicyKind::LeastPeak; }
  int64_t leastDurationOf(const AlternativeProblem &alternative) const;
  std::vector<size_t> order();
  Plan planAlternative(size_t number);
  bool isBetter(size_t a, const Plan &planOfA, size_t b, const Plan &planOfB) const;
  void boundAlternative(size_t number);

  llvm::ArrayRef<AlternativeProblem> alternatives;
  AlternativeChoice choice;
  PlanOptions options;
  std::vector<int64_t> leastDurations; // lower bounds over the tilings of each alternative
  std::vector<size_t> tilings;         // of the plan of each alternative
  std::vector<AlternativeOutcome> outcomes;
  CandidateSearch search;
};
} // namespace

/// Returns a lower bound on the duration of an alternative over all its tilings. Without a budget,
/// the first tiling has the least one.
int64_t AlternativeSearch::leastDurationOf(const AlternativeProblem &alternative) const {
  if (choice == AlternativeChoice::ByOpsOnce)
    return leastDuration(TiledProblem(alternative.problem, alternative.tilings.front()));
  int64_t least = INT64_MAX;
  for (const Tiling &tiling : alternative.tilings)
    least = std::min(least, leastDuration(TiledProblem(alternative.problem, tiling), options));
  return least;
}

/// Compares two plans: feasible ones come first, then the one that the policy prefers, then the
/// earlier alternative, which may not have been planned earlier.
bool AlternativeSearch::isBetter(size_t a, const Plan &planOfA, size_t b,
                                 const Plan &planOfB) const {
  auto key = [&](size_t number, const Plan &it) {
    bool feasible = it.status == Status::Feasible, hasSteps = !it.steps.empty();
    // What is resident in one alternative may be in the arena of another.
    int64_t bytes =
        hasSteps ? alternatives[number].problem.residentBytes() + it.arena : it.peakLowerBound;
    return std::tuple(!feasible, !hasSteps, feasible && !isLeastPeak() ? it.duration() : bytes,
                      it.duration(), number);
  };
  return key(a, planOfA) < key(b, planOfB);
}

Plan AlternativeSearch::planAlternative(size_t number) {
  options.policy.selected = alternatives[number].selected;
  options.form.alternative = static_cast<int32_t>(number);
  if (search.found)
    options.knownTime = search.plan.duration();
  auto [tiling, plan] =
      planTilings(alternatives[number].problem, alternatives[number].tilings, options);
  tilings[number] = tiling;
  bool isFeasible = plan.status == Status::Feasible;
  outcomes[number] = {true, plan.status, isFeasible ? plan.cost : plan.costLowerBound,
                      plan.steps.empty() ? 0 : plan.peak, plan.steps.empty() ? 0 : plan.arena};
  if (isFeasible && plan.time)
    outcomes[number].time = plan.duration();
  return std::move(plan);
}

/// Returns the alternative with its tiling of the least memory: no schedule holds less with any
/// other tiling.
static TiledProblem leanestOf(const AlternativeProblem &alternative) {
  return TiledProblem(alternative.problem, alternative.tilings.back());
}

/// Bounds an alternative that is not planned: no plan costs less than its ops once, and the bound
/// on its peak is the one that needs no search.
void AlternativeSearch::boundAlternative(size_t number) {
  outcomes[number].cost = baseCostOf(number);
  const AlternativeProblem &it = alternatives[number];
  search.peakBounds.add(planWithoutSearch(leanestOf(it)), /*padding=*/0); // its plan has steps
}

/// Returns the alternatives in the order of planning, sorted by the least duration; only the first
/// where it is chosen by the cost of its ops.
std::vector<size_t> AlternativeSearch::order() {
  std::vector<size_t> numbers(alternatives.size());
  llvm::copy(llvm::seq<size_t>(0, numbers.size()), numbers.begin());
  llvm::stable_sort(numbers,
                    [&](size_t a, size_t b) { return leastDurations[a] < leastDurations[b]; });
  if (choice == AlternativeChoice::ByOpsOnce) {
    for (size_t number : numbers)
      outcomes[number].cost = baseCostOf(number);
    numbers.resize(1);
  }
  return numbers;
}

AlternativePlan AlternativeSearch::run() {
  search.planEach(order(), /*leavesOut=*/!isLeastPeak(),
                  {[&](size_t number) { return leastDurations[number]; },
                   [&](size_t number) { return planAlternative(number); },
                   [&](size_t a, const Plan &planOfA, size_t b, const Plan &planOfB) {
                     return isBetter(a, planOfA, b, planOfB);
                   },
                   [&](size_t number) { return paddingOf(leanestOf(alternatives[number])); },
                   [&](size_t number) { boundAlternative(number); }});
  Plan &plan = search.plan;
  plan.seconds = search.seconds;
  plan.peakLowerBound = search.peakBounds.of(plan);
  if (search.found) {
    search.boundBest();
    plan.bound = search.bound;
  } else {
    plan.status = search.allInfeasible ? Status::Infeasible : Status::Unknown;
  }
  return {search.number, {tilings[search.number], std::move(plan)}, std::move(outcomes)};
}

AlternativePlan llmmem::planning::planAlternatives(llvm::ArrayRef<AlternativeProblem> alternatives,
                                                   AlternativeChoice choice,
                                                   const PlanOptions &options) {
  return AlternativeSearch(alternatives, choice, options).run();
}

//===----------------------------------------------------------------------===//
// Variants of a step
//===----------------------------------------------------------------------===//

static int64_t needOf(const AlternativePlan &made,
                      llvm::ArrayRef<AlternativeProblem> alternatives) {
  return alternatives[made.alternative].problem.residentBytes() + made.chosen.plan.arena;
}

/// Returns whether `made` fits and `other` does not, or both fit and `made` is better by the
/// policy.
static bool isBetter(const AlternativePlan &made, const AlternativePlan &other,
                     llvm::ArrayRef<AlternativeProblem> alternatives, bool wantsLeast) {
  const Plan &plan = made.chosen.plan, &otherPlan = other.chosen.plan;
  bool fits = plan.status == Status::Feasible;
  if (fits != (otherPlan.status == Status::Feasible))
    return fits;
  return wantsLeast || !fits ? needOf(made, alternatives) < needOf(other, alternatives)
                             : plan.duration() < otherPlan.duration();
}

static std::vector<AlternativeProblem>
withoutPhases(llvm::ArrayRef<AlternativeProblem> alternatives) {
  std::vector<AlternativeProblem> unlabelled = alternatives.vec();
  for (AlternativeProblem &alternative : unlabelled)
    for (Op &op : alternative.problem.ops)
      op.phase = Phase::None;
  return unlabelled;
}

/// Returns whether a plan that trusts guessed phases is not worth the time to search it.
static bool isEnough(const AlternativePlan &made, llvm::ArrayRef<AlternativeProblem> unlabelled,
                     bool wantsLeast) {
  const Plan &plan = made.chosen.plan;
  // With a host, of two steps of nearly the same time the longer one may be that of the larger
  // budget.
  const bool hasHost = !unlabelled.front().problem.moreMemories.empty();
  const bool isClose = !hasHost && plan.cost - plan.costLowerBound <= plan.baseCost / 100;
  if (plan.status == Status::Infeasible ||
      (plan.status == Status::Feasible && isClose && !wantsLeast))
    return true;
  // Where blocks repeat, they are a better guide than the guess: no plan of a JAX step became
  // cheaper by trusting it.
  return findStructure(unlabelled[hasHost ? 0 : made.alternative].problem).repeats;
}

AlternativePlan llmmem::planning::planForms(const StepForms &forms, const PlanOptions &options) {
  const bool wantsLeast = options.policy.kind == PolicyKind::LeastPeak;
  if (!forms.guessedPhases || (!wantsLeast && options.policy.kind != PolicyKind::Budget))
    return planAlternatives(forms.alternatives, forms.choice, options);
  const std::vector<AlternativeProblem> unlabelled = withoutPhases(forms.alternatives);
  AlternativePlan best = planAlternatives(unlabelled, forms.choice, options);
  if (isEnough(best, unlabelled, wantsLeast))
    return best;
  AlternativePlan trusting = planAlternatives(forms.alternatives, forms.choice, options);
  const double seconds = best.chosen.plan.seconds + trusting.chosen.plan.seconds;
  if (isBetter(trusting, best, forms.alternatives, wantsLeast))
    best = std::move(trusting);
  best.chosen.plan.seconds = seconds;
  return best;
}

std::optional<int64_t> llmmem::planning::costWithoutBudget(const StepForms &forms) {
  std::optional<int64_t> least;
  for (const AlternativeProblem &it : forms.alternatives) {
    const TiledProblem cheapest(it.problem, it.tilings.front());
    if (hasSeveralResources(cheapest))
      return std::nullopt;
    const int64_t cost = Graph(cheapest).baseCost();
    least = std::min(least.value_or(cost), cost);
  }
  return least;
}

FormPlan llmmem::planning::planInBestForm(const StepForms &forms, const PlanOptions &options) {
  AlternativePlan best = planForms(forms, options);
  return {{static_cast<int32_t>(best.alternative), static_cast<int32_t>(best.chosen.tiling)},
          std::move(best.chosen.plan)};
}
