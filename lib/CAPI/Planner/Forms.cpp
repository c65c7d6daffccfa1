//===- Forms.cpp - Plans of a step that can run in several forms ----------------===//

#include "llmmem-c/Forms.h"
#include "Arrays.h"
#include "MakePlan.h"
#include "llmmem/CAPI/Boundary.h"
#include "llmmem/Planning/Model/ValidateTilings.h"
#include "llmmem/Planning/Variants/PlanVariants.h"
#include <limits>

using namespace llmmem;
using namespace llmmem::capi;
using namespace llmmem::planning;

//===----------------------------------------------------------------------===//
// Taking forms
//===----------------------------------------------------------------------===//

static constexpr int64_t kMost = std::numeric_limits<int32_t>::max();

/// Says what is wrong with the counts and the arrays of a form.
static std::optional<std::string> wrongArrays(const llmmem_form &form) {
  if (form.num_tilings < 0 || form.num_tilings >= kMost)
    return "num_tilings: is " + std::to_string(form.num_tilings) + "; expected 0 to 2^31 - 2";
  if (form.num_tiled_ops < 0 || form.num_tiled_ops >= kMost)
    return "num_tiled_ops: is " + std::to_string(form.num_tiled_ops) + "; expected 0 to 2^31 - 2";
  if (form.num_tilings == 0 || form.num_tiled_ops == 0)
    return std::nullopt;
  for (auto [array, name] : {std::pair((const void *)form.tiled_ops, "tiled_ops"),
                             std::pair((const void *)form.tiled_costs, "tiled_costs"),
                             std::pair((const void *)form.tiled_workspaces, "tiled_workspaces")})
    if (!array)
      return std::string(name) + ": is NULL";
  return std::nullopt;
}

/// Returns the ops that the policy `selective` recomputes, or what is wrong with them.
static Result<std::vector<OpIndex>> takeSelected(const llmmem_form &form, size_t numOps) {
  if (form.num_selected < 0 || form.num_selected >= kMost)
    return Failure{"num_selected: is " + std::to_string(form.num_selected) +
                   "; expected 0 to 2^31 - 2"};
  if (form.num_selected > 0 && !form.selected)
    return Failure{"selected: is NULL"};
  std::vector<OpIndex> selected;
  for (int64_t at = 0; at < form.num_selected; ++at) {
    const int32_t op = form.selected[at];
    if (op < 0 || static_cast<size_t>(op) >= numOps)
      return Failure{"selected[" + std::to_string(at) + "]: is " + std::to_string(op) +
                     "; expected the number of an op"};
    selected.push_back(op);
  }
  return selected;
}

static Result<ProblemVariant> takeForm(const llmmem_form *given) {
  Result<llmmem_form> form = take(given, "form");
  if (!form)
    return Failure{form.error()};
  Result<Problem> problem = takeProblem(form->problem);
  if (!problem)
    return Failure{problem.error()};
  if (std::optional<std::string> wrong = wrongArrays(*form))
    return Failure{*wrong};
  Result<std::vector<OpIndex>> selected = takeSelected(*form, problem->ops.size());
  if (!selected)
    return Failure{selected.error()};
  ProblemVariant taken{std::move(*problem), {}, std::move(*selected)};
  for (int64_t at = 0; form->num_tilings > 0 && at < form->num_tiled_ops; ++at)
    if (form->tiled_ops[at] < 0 || form->tiled_ops[at] >= (int64_t)taken.problem.ops.size())
      return Failure{"tiled_ops[" + std::to_string(at) + "]: is " +
                     std::to_string(form->tiled_ops[at]) + "; expected the number of an op"};
  for (int64_t tiling = 0; tiling < form->num_tilings; ++tiling) {
    Tiling &entries = taken.tilings.emplace_back();
    for (int64_t at = 0; at < form->num_tiled_ops; ++at) {
      const int64_t place = tiling * form->num_tiled_ops + at;
      entries.push_back(
          {form->tiled_ops[at], form->tiled_costs[place], form->tiled_workspaces[place]});
    }
  }
  if (taken.tilings.empty())
    taken.tilings.emplace_back();
  if (std::optional<std::string> wrong = validateTilings(taken))
    return Failure{*wrong};
  return taken;
}

/// Says what is wrong between the forms of one step: they differ in ops and values alone.
static std::optional<std::string> differenceFrom(const Problem &problem, const Problem &first) {
  if (problem.budget != first.budget)
    return "problem: its budget is not that of forms[0]";
  if (problem.alignment != first.alignment)
    return "problem: its alignment is not that of forms[0]";
  return std::nullopt;
}

static Result<VariantSet> takeForms(const llmmem_forms *given) {
  Result<llmmem_forms> taken = take(given, "forms");
  if (!taken)
    return Failure{taken.error()};
  if (taken->num_forms < 1 || taken->num_forms >= kMost)
    return Failure{"num_forms: is " + std::to_string(taken->num_forms) +
                   "; expected 1 to 2^31 - 2"};
  if (!taken->forms)
    return Failure{"forms: is NULL"};
  if (taken->choice != LLMMEM_CHOOSE_BY_PLAN && taken->choice != LLMMEM_CHOOSE_BY_OPS_ONCE)
    return Failure{"choice: expected LLMMEM_CHOOSE_BY_PLAN or LLMMEM_CHOOSE_BY_OPS_ONCE"};
  VariantSet forms;
  forms.choice = static_cast<VariantSelection>(taken->choice);
  forms.guessedPhases = taken->guessed_phases != 0;
  for (int64_t number = 0; number < taken->num_forms; ++number) {
    const std::string place = "forms[" + std::to_string(number) + "]: ";
    Result<ProblemVariant> form = takeForm(taken->forms[number]);
    if (!form)
      return Failure{place + form.error()};
    forms.alternatives.push_back(std::move(*form));
    if (std::optional<std::string> wrong =
            differenceFrom(forms.alternatives.back().problem, forms.alternatives.front().problem))
      return Failure{place + *wrong};
  }
  return forms;
}

//===----------------------------------------------------------------------===//
// Plans and problems of forms
//===----------------------------------------------------------------------===//

llmmem_result llmmem_make_plan_of_forms(const llmmem_forms *given,
                                        const llmmem_plan_options *options,
                                        const llmmem_plan **plan, llmmem_form_number *chosen,
                                        char **proof, char **error) {
  clear(error);
  if (proof)
    *proof = nullptr;
  if (!chosen)
    return invalid(error, "chosen: is NULL");
  auto make = [&](const PlanOptions &planOptions) -> Result<PlannedProblem> {
    Result<VariantSet> forms = takeForms(given);
    if (!forms)
      return Failure{forms.error()};
    VariantPlan best = planBestVariant(*forms, planOptions);
    *chosen = {best.variant.alternative, best.variant.tiling};
    return PlannedProblem{*forms->problemOf(best.variant), std::move(best.plan)};
  };
  return makePlan(make, options, plan, proof, error);
}

namespace {
struct OwnedProblem : llmmem_problem {
  OwnedProblem(const llmmem_problem &of, const Problem &problem) : llmmem_problem(of) {
    size = sizeof(llmmem_problem);
    for (const Op &op : problem.ops) {
      costs.push_back(op.cost);
      workspaces.push_back(op.workspace);
    }
    op_costs = costs.data();
    op_workspaces = workspaces.data();
  }

  std::vector<int64_t> costs, workspaces;
};
} // namespace

llmmem_result llmmem_problem_of_form(const llmmem_forms *given, llmmem_form_number number,
                                     const llmmem_problem **problem, char **error) {
  if (!begin(problem, "problem", error))
    return LLMMEM_INVALID;
  Result<VariantSet> forms = takeForms(given);
  if (!forms)
    return invalid(error, forms.error());
  std::optional<Problem> found = forms->problemOf({number.form, number.tiling});
  if (!found)
    return invalid(error, "number: there is no form " + std::to_string(number.form) +
                              " with a tiling " + std::to_string(number.tiling));
  *problem = new OwnedProblem(*given->forms[number.form]->problem, *found);
  return LLMMEM_OK;
}

void llmmem_free_problem(const llmmem_problem *problem) {
  delete static_cast<const OwnedProblem *>(problem);
}

llmmem_result llmmem_forms_json(const llmmem_forms *given, char **text, char **error) {
  if (!begin(text, "text", error))
    return LLMMEM_INVALID;
  Result<VariantSet> forms = takeForms(given);
  if (!forms)
    return invalid(error, forms.error());
  *text = copyText(toJson(*forms));
  return LLMMEM_OK;
}
