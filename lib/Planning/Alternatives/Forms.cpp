//===- Forms.cpp - One step in several forms -------------------------------===//

#include "llmmem/Planning/Alternatives/Forms.h"
#include "llmmem/Planning/Model/Graph.h"
#include "llmmem/Planning/Allocation/Placement.h"
#include "llvm/ADT/STLExtras.h"

using namespace llmmem::planning;

Problem llmmem::planning::inForm(const Problem &problem, const Form &form) {
  Problem result = problem;
  for (const OpForm &entry : form) {
    result.ops[entry.op].cost = entry.cost;
    result.ops[entry.op].workspace = entry.workspace;
  }
  return result;
}

namespace {
class FormSearch {
public:
  FormSearch(const Problem &problem, llvm::ArrayRef<Form> forms, const PlanOptions &options)
      : problem(problem), forms(forms), options(options) {
    // All forms together stay within the bound on the search.
    this->options.seconds /= forms.size();
  }

  FormPlan run();

private:
  size_t leanest() const { return forms.size() - 1; }
  FormPlan planForm(size_t form);
  int64_t peakBoundOfAll();
  void planCheapest(FormPlan &best);
  void planLeastPeak(FormPlan &best);

  const Problem &problem;
  llvm::ArrayRef<Form> forms;
  PlanOptions options;
  int64_t costLowerBound = INT64_MAX; // over the forms that were planned
  std::optional<int64_t> leanestPeakBound;
  double seconds = 0;
};
} // namespace

FormPlan FormSearch::planForm(size_t form) {
  FormPlan result{form, plan(inForm(problem, forms[form]), options)};
  seconds += result.plan.seconds;
  if (form == leanest())
    leanestPeakBound = result.plan.peakLowerBound;
  // A form without any plan bounds no plan's cost.
  if (result.plan.status != Status::Infeasible)
    costLowerBound = std::min(costLowerBound, result.plan.costLowerBound);
  return result;
}

/// From the cheapest form on. Every plan of a form costs at least the form's ops once, so those
/// whose ops alone cost what the best plan costs cannot win, and where nothing is recomputed nor
/// can any later one.
void FormSearch::planCheapest(FormPlan &best) {
  bool found = false;
  for (size_t form = 0; form < forms.size(); ++form) {
    int64_t baseCost = Graph(inForm(problem, forms[form])).baseCost();
    if (found && baseCost >= best.plan.cost)
      continue;
    FormPlan candidate = planForm(form);
    bool isFeasible = candidate.plan.status == Status::Feasible;
    if (!found || (isFeasible && candidate.plan.cost < best.plan.cost))
      best = std::move(candidate);
    found |= isFeasible;
  }
}

/// The leanest form has the least peak; then the largest one that the same schedule has room for.
void FormSearch::planLeastPeak(FormPlan &best) {
  best = planForm(leanest());
  for (size_t form = 0; form < leanest() && !best.plan.steps.empty(); ++form) {
    Problem larger = inForm(problem, forms[form]);
    PackOptions pack;
    pack.alignment = std::max<int64_t>(problem.alignment, 1);
    pack.capacity = best.plan.arena;
    Plan other = best.plan;
    placeSteps(larger, other, pack);
    if (other.arena > best.plan.arena || other.peak > best.plan.peak)
      continue;
    other.baseCost = Graph(larger).baseCost();
    best = {form, std::move(other)};
    break;
  }
  costLowerBound = std::min(costLowerBound, Graph(inForm(problem, forms[0])).baseCost());
}

/// A schedule holds no less in any other form, so what is proved of the leanest holds for all.
/// Where it was not planned, its bound without a search is soon had.
int64_t FormSearch::peakBoundOfAll() {
  if (leanestPeakBound)
    return *leanestPeakBound;
  Problem lean = inForm(problem, forms[leanest()]);
  lean.budget.reset();
  PlanOptions asGiven;
  asGiven.policy.kind = PolicyKind::None;
  asGiven.seconds = 0;
  return plan(lean, asGiven).peakLowerBound;
}

FormPlan FormSearch::run() {
  FormPlan best;
  if (options.policy.kind == PolicyKind::LeastPeak)
    planLeastPeak(best);
  else
    planCheapest(best);
  best.plan.seconds = seconds;
  if (best.plan.status != Status::Feasible)
    return best;
  best.plan.peakLowerBound = peakBoundOfAll();
  best.plan.costLowerBound = std::min(costLowerBound, best.plan.cost);
  return best;
}

FormPlan llmmem::planning::planForms(const Problem &problem, llvm::ArrayRef<Form> forms,
                                     const PlanOptions &options) {
  return FormSearch(problem, forms, options).run();
}
