//===- Variants.cpp - One step made of different ops -----------------------===//

#include "llmmem/Planning/Alternatives/Variants.h"
#include "llmmem/Planning/Model/Graph.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace llmmem::planning;

namespace {
class VariantSearch {
public:
  VariantSearch(llvm::ArrayRef<Variant> variants, VariantChoice choice, const PlanOptions &options)
      : variants(variants), choice(choice), options(options) {
    // All together stay within the bound on the search.
    if (choice == VariantChoice::ByPlan)
      this->options.seconds /= variants.size();
    best.outcomes.resize(variants.size());
  }

  VariantPlan run();

private:
  bool isLeastPeak() const { return options.policy.kind == PolicyKind::LeastPeak; }
  int64_t baseCostOf(size_t variant) const;
  void planVariant(size_t variant);
  void boundVariant(size_t variant, int64_t baseCost);
  bool isBetter(size_t variant, const Plan &plan) const;

  llvm::ArrayRef<Variant> variants;
  VariantChoice choice;
  PlanOptions options;
  VariantPlan best;
  bool found = false, allInfeasible = true, any = false;
  int64_t peakLowerBound = INT64_MAX, costLowerBound = INT64_MAX;
  std::string bound; // the name of the one that `costLowerBound` is
  double seconds = 0;
};
} // namespace

/// Of the cheapest form, with every op once.
int64_t VariantSearch::baseCostOf(size_t variant) const {
  return Graph(inForm(variants[variant].problem, variants[variant].forms.front())).baseCost();
}

/// Feasible before not; then what the policy asks for; then the order of the variants, which may
/// not be the order of planning.
bool VariantSearch::isBetter(size_t variant, const Plan &plan) const {
  const Plan &other = best.chosen.plan;
  auto key = [&](size_t number, const Plan &it) {
    bool feasible = it.status == Status::Feasible, hasSteps = !it.steps.empty();
    int64_t bytes = hasSteps ? it.arena : it.peakLowerBound;
    return std::tuple(!feasible, !hasSteps, feasible && !isLeastPeak() ? it.cost : bytes, it.cost,
                      number);
  };
  return key(variant, plan) < key(best.variant, other);
}

void VariantSearch::planVariant(size_t variant) {
  options.policy.selected = variants[variant].selected;
  FormPlan candidate = planForms(variants[variant].problem, variants[variant].forms, options);
  const Plan &plan = candidate.plan;
  bool isFeasible = plan.status == Status::Feasible;
  seconds += plan.seconds;
  best.outcomes[variant] = {true, plan.status, isFeasible ? plan.cost : plan.costLowerBound,
                            plan.steps.empty() ? 0 : plan.peak,
                            plan.steps.empty() ? 0 : plan.arena};
  peakLowerBound = std::min(peakLowerBound, plan.peakLowerBound);
  // A variant without any plan bounds no plan's cost.
  if (plan.status != Status::Infeasible) {
    allInfeasible = false;
    if (plan.costLowerBound < costLowerBound) {
      costLowerBound = plan.costLowerBound;
      bound = plan.bound;
    }
  }
  if (!any || isBetter(variant, plan)) {
    best.variant = variant;
    best.chosen = std::move(candidate);
  }
  any = true;
  found |= isFeasible;
}

/// What holds of a variant that is not planned: no plan of it costs less than its ops once, and its
/// peak has the bound that is soon had without a search.
void VariantSearch::boundVariant(size_t variant, int64_t baseCost) {
  best.outcomes[variant].cost = baseCost;
  allInfeasible = false;
  const Variant &it = variants[variant];
  Problem lean = inForm(it.problem, it.forms.back());
  lean.budget.reset();
  PlanOptions asGiven;
  asGiven.policy.kind = PolicyKind::None;
  asGiven.seconds = 0;
  peakLowerBound = std::min(peakLowerBound, plan(lean, asGiven).peakLowerBound);
}

VariantPlan VariantSearch::run() {
  std::vector<int64_t> baseCosts(variants.size());
  for (size_t variant = 0; variant < variants.size(); ++variant)
    baseCosts[variant] = baseCostOf(variant);
  std::vector<size_t> order(variants.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::stable_sort(order, [&](size_t a, size_t b) { return baseCosts[a] < baseCosts[b]; });
  if (choice == VariantChoice::ByOpsOnce) {
    for (size_t variant : order)
      best.outcomes[variant].cost = baseCosts[variant];
    order.resize(1);
  }
  for (size_t variant : order) {
    bool canWin = !found || isLeastPeak() || baseCosts[variant] < best.chosen.plan.cost;
    canWin ? planVariant(variant) : boundVariant(variant, baseCosts[variant]);
  }
  Plan &plan = best.chosen.plan;
  plan.seconds = seconds;
  plan.peakLowerBound = peakLowerBound;
  if (found) {
    plan.costLowerBound = std::min(costLowerBound, plan.cost);
    plan.bound = bound;
  } else {
    plan.status = allInfeasible ? Status::Infeasible : Status::Unknown;
  }
  return std::move(best);
}

VariantPlan llmmem::planning::planVariants(llvm::ArrayRef<Variant> variants, VariantChoice choice,
                                           const PlanOptions &options) {
  return VariantSearch(variants, choice, options).run();
}
