//===- ProblemVariants.cpp - One step written with different ops -----------===//

#include "llmmem/Planning/Variants/ProblemVariants.h"
#include "Overlap/OverlapSearch.h"
#include "Variants/CandidateSearch.h"
#include "llmmem/Planning/Bounds/Bounds.h"
#include "llmmem/Planning/Model/FoundStructure.h"
#include "llmmem/Planning/Model/Graph.h"
#include "llmmem/Planning/Variants/PlanVariants.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace llmmem::planning;

namespace {
class ProblemVariantSearch {
public:
  ProblemVariantSearch(llvm::ArrayRef<ProblemVariant> alternatives, VariantSelection choice,
                       const PlanOptions &options)
      : alternatives(alternatives), choice(choice), options(options),
        tilings(alternatives.size(), 0), outcomes(alternatives.size()) {
    // All alternatives together stay within the bound on the work.
    if (choice == VariantSelection::ByPlan)
      this->options.workSeconds /= alternatives.size();
    for (const ProblemVariant &it : alternatives)
      leastDurations.push_back(leastDurationOf(it));
  }

  ProblemVariantPlan run();

private:
  int64_t baseCostOf(size_t number) const {
    const ProblemVariant &it = alternatives[number];
    return Graph(TiledProblem(it.problem, it.tilings.front())).baseCost();
  }
  bool isLeastPeak() const { return options.policy.kind == PolicyKind::LeastPeak; }
  int64_t leastDurationOf(const ProblemVariant &alternative) const;
  std::vector<size_t> order();
  Plan planProblemVariant(size_t number);
  bool isBetter(size_t a, const Plan &planOfA, size_t b, const Plan &planOfB) const;
  void boundProblemVariant(size_t number);

  llvm::ArrayRef<ProblemVariant> alternatives;
  VariantSelection choice;
  PlanOptions options;
  std::vector<int64_t> leastDurations; // lower bounds over the tilings of each alternative
  std::vector<size_t> tilings;         // of the plan of each alternative
  std::vector<ProblemVariantOutcome> outcomes;
  CandidateSearch search;
};
} // namespace

/// Returns a lower bound on the duration of an alternative over all its tilings. Without a budget,
/// the first tiling has the least one.
int64_t ProblemVariantSearch::leastDurationOf(const ProblemVariant &alternative) const {
  if (choice == VariantSelection::ByOpsOnce)
    return leastDuration(TiledProblem(alternative.problem, alternative.tilings.front()));
  int64_t least = INT64_MAX;
  for (const Tiling &tiling : alternative.tilings)
    least = std::min(least, leastDuration(TiledProblem(alternative.problem, tiling), options));
  return least;
}

/// Compares two plans: feasible ones come first, then the one that the policy prefers, then the
/// earlier alternative, which may not have been planned earlier.
bool ProblemVariantSearch::isBetter(size_t a, const Plan &planOfA, size_t b,
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

Plan ProblemVariantSearch::planProblemVariant(size_t number) {
  options.policy.selected = alternatives[number].selected;
  options.variant.alternative = static_cast<int32_t>(number);
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
static TiledProblem leastMemoryOf(const ProblemVariant &alternative) {
  return TiledProblem(alternative.problem, alternative.tilings.back());
}

/// Bounds an alternative that is not planned: no plan costs less than its ops once, and the bound
/// on its peak is the one that needs no search.
void ProblemVariantSearch::boundProblemVariant(size_t number) {
  outcomes[number].cost = baseCostOf(number);
  const ProblemVariant &it = alternatives[number];
  search.peakBounds.add(planWithoutSearch(leastMemoryOf(it)), /*padding=*/0); // its plan has steps
}

/// Returns the alternatives in the order of planning, sorted by the least duration; only the first
/// where it is chosen by the cost of its ops.
std::vector<size_t> ProblemVariantSearch::order() {
  std::vector<size_t> numbers(alternatives.size());
  llvm::copy(llvm::seq<size_t>(0, numbers.size()), numbers.begin());
  llvm::stable_sort(numbers,
                    [&](size_t a, size_t b) { return leastDurations[a] < leastDurations[b]; });
  if (choice == VariantSelection::ByOpsOnce) {
    for (size_t number : numbers)
      outcomes[number].cost = baseCostOf(number);
    numbers.resize(1);
  }
  return numbers;
}

ProblemVariantPlan ProblemVariantSearch::run() {
  search.planEach(order(), /*leavesOut=*/!isLeastPeak(),
                  {[&](size_t number) { return leastDurations[number]; },
                   [&](size_t number) { return planProblemVariant(number); },
                   [&](size_t a, const Plan &planOfA, size_t b, const Plan &planOfB) {
                     return isBetter(a, planOfA, b, planOfB);
                   },
                   [&](size_t number) { return paddingOf(leastMemoryOf(alternatives[number])); },
                   [&](size_t number) { boundProblemVariant(number); }});
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

ProblemVariantPlan
llmmem::planning::planProblemVariants(llvm::ArrayRef<ProblemVariant> alternatives,
                                      VariantSelection choice, const PlanOptions &options) {
  return ProblemVariantSearch(alternatives, choice, options).run();
}

//===----------------------------------------------------------------------===//
// Variants of a step
//===----------------------------------------------------------------------===//

static int64_t footprintOf(const ProblemVariantPlan &made,
                           llvm::ArrayRef<ProblemVariant> alternatives) {
  return alternatives[made.alternative].problem.residentBytes() + made.chosen.plan.arena;
}

/// Returns whether `made` fits and `other` does not, or both fit and `made` is better by the
/// policy.
static bool isBetter(const ProblemVariantPlan &made, const ProblemVariantPlan &other,
                     llvm::ArrayRef<ProblemVariant> alternatives, bool wantsLeast) {
  const Plan &plan = made.chosen.plan, &otherPlan = other.chosen.plan;
  bool fits = plan.status == Status::Feasible;
  if (fits != (otherPlan.status == Status::Feasible))
    return fits;
  return wantsLeast || !fits ? footprintOf(made, alternatives) < footprintOf(other, alternatives)
                             : plan.duration() < otherPlan.duration();
}

static std::vector<ProblemVariant> withoutPhases(llvm::ArrayRef<ProblemVariant> alternatives) {
  std::vector<ProblemVariant> unlabelled = alternatives.vec();
  for (ProblemVariant &alternative : unlabelled)
    for (Op &op : alternative.problem.ops)
      op.phase = Phase::None;
  return unlabelled;
}

/// Returns whether a plan that trusts guessed phases is not worth the time to search it. A larger
/// budget gets the same answer, or a plan that costs no more than any plan of this one: a cost at
/// its bound, or a proof that there is no plan, holds for what trusts the phases, too.
static bool isEnough(const ProblemVariantPlan &made, llvm::ArrayRef<ProblemVariant> unlabelled,
                     bool wantsLeast) {
  const Plan &plan = made.chosen.plan;
  const bool isCheapest = plan.status == Status::Feasible && !wantsLeast && !plan.time &&
                          plan.cost == plan.costLowerBound;
  // Where blocks repeat, they are a better guide than the guess: no plan of a JAX step became
  // cheaper by trusting it.
  return plan.status == Status::Infeasible || isCheapest ||
         findStructure(unlabelled.front().problem).repeats;
}

ProblemVariantPlan llmmem::planning::planVariants(const VariantSet &variants,
                                                  const PlanOptions &options) {
  const bool wantsLeast = options.policy.kind == PolicyKind::LeastPeak;
  if (!variants.guessedPhases || (!wantsLeast && options.policy.kind != PolicyKind::Budget))
    return planProblemVariants(variants.alternatives, variants.choice, options);
  const std::vector<ProblemVariant> unlabelled = withoutPhases(variants.alternatives);
  ProblemVariantPlan best = planProblemVariants(unlabelled, variants.choice, options);
  if (isEnough(best, unlabelled, wantsLeast))
    return best;
  ProblemVariantPlan trusting =
      planProblemVariants(variants.alternatives, variants.choice, options);
  const double seconds = best.chosen.plan.seconds + trusting.chosen.plan.seconds;
  if (isBetter(trusting, best, variants.alternatives, wantsLeast))
    best = std::move(trusting);
  best.chosen.plan.seconds = seconds;
  return best;
}

std::optional<int64_t> llmmem::planning::costWithoutBudget(const VariantSet &variants) {
  std::optional<int64_t> least;
  for (const ProblemVariant &it : variants.alternatives) {
    const TiledProblem cheapest(it.problem, it.tilings.front());
    if (hasSeveralResources(cheapest))
      return std::nullopt;
    const int64_t cost = Graph(cheapest).baseCost();
    least = std::min(least.value_or(cost), cost);
  }
  return least;
}

VariantPlan llmmem::planning::planBestVariant(const VariantSet &variants,
                                              const PlanOptions &options) {
  ProblemVariantPlan best = planVariants(variants, options);
  return {{static_cast<int32_t>(best.alternative), static_cast<int32_t>(best.chosen.tiling)},
          std::move(best.chosen.plan)};
}
