//===- Planner.cpp - The planner on plain arrays --------------------------------===//
//
// This file calls nothing except the planner's public headers. What it gives out is a C structure
// that heads an object which owns its arrays.
//
//===----------------------------------------------------------------------===//

#include "llmmem/Planning/Planner.h"
#include "Arrays.h"
#include "MakePlan.h"
#include "Violations.h"
#include "llmmem/CAPI/Boundary.h"
#include "llmmem/Planning/Formats/Explain.h"
#include "llmmem/Planning/Proofs/Check.h"

using namespace llmmem;
using namespace llmmem::capi;
using namespace llmmem::planning;

//===----------------------------------------------------------------------===//
// Problems
//===----------------------------------------------------------------------===//

llmmem_result llmmem_check_problem(const llmmem_problem *given, char **error) {
  clear(error);
  Result<Problem> problem = takeProblem(given);
  return problem ? LLMMEM_OK : invalid(error, problem.error());
}

llmmem_result llmmem_problem_json(const llmmem_problem *given, char **text, char **error) {
  if (!begin(text, "text", error))
    return LLMMEM_INVALID;
  Result<Problem> problem = takeProblem(given);
  if (!problem)
    return invalid(error, problem.error());
  *text = copyText(toJson(*problem));
  return LLMMEM_OK;
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// Returns a plan of the one form that there is.
static std::function<Result<PlannedProblem>(const PlanOptions &)>
planOf(const llmmem_problem *given) {
  return [given](const PlanOptions &options) -> Result<PlannedProblem> {
    Result<Problem> problem = takeProblem(given);
    if (!problem)
      return Failure{problem.error()};
    Plan made = planning::plan(*problem, options);
    return PlannedProblem{std::move(*problem), std::move(made)};
  };
}

llmmem_result llmmem_make_plan(const llmmem_problem *given, const llmmem_plan_options *options,
                               const llmmem_plan **plan, char **error) {
  clear(error);
  return makePlan(planOf(given), options, plan, nullptr, error);
}

llmmem_result llmmem_make_plan_with_proof(const llmmem_problem *given,
                                          const llmmem_plan_options *options,
                                          const llmmem_plan **plan, char **proof, char **error) {
  if (!begin(proof, "proof", error))
    return LLMMEM_INVALID;
  return makePlan(planOf(given), options, plan, proof, error);
}

/// Takes a problem and a plan as the planner knows them.
static Result<PlannedProblem> takeBoth(const llmmem_problem *givenProblem,
                                       const llmmem_plan *givenPlan) {
  Result<Problem> problem = takeProblem(givenProblem);
  if (!problem)
    return Failure{problem.error()};
  Result<Plan> plan = takePlan(givenPlan);
  if (!plan)
    return Failure{plan.error()};
  return PlannedProblem{std::move(*problem), std::move(*plan)};
}

llmmem_result llmmem_plan_json(const llmmem_problem *givenProblem, const llmmem_plan *givenPlan,
                               char **text, char **error) {
  if (!begin(text, "text", error))
    return LLMMEM_INVALID;
  Result<PlannedProblem> both = takeBoth(givenProblem, givenPlan);
  if (!both)
    return invalid(error, both.error());
  const auto &[problem, plan] = *both;
  *text = copyText(toJson(problem, plan));
  return LLMMEM_OK;
}

//===----------------------------------------------------------------------===//
// Checking and explaining
//===----------------------------------------------------------------------===//

namespace {

struct OwnedClaims : llmmem_claims {
  explicit OwnedClaims(std::vector<ClaimCheck> found) : llmmem_claims(), checks(std::move(found)) {
    for (const ClaimCheck &it : checks)
      list.push_back({it.claim.c_str(), static_cast<int32_t>(it.verdict), 0, it.message.c_str()});
    size = sizeof(llmmem_claims);
    count = static_cast<int64_t>(list.size());
    items = list.data();
  }

  std::vector<ClaimCheck> checks;
  std::vector<llmmem_claim> list;
};

struct OwnedExplanation : llmmem_explanation {
  OwnedExplanation(const Problem &problem, const std::vector<ExplainedValue> &saved)
      : llmmem_explanation(), lines(explanationText(problem, saved)) {
    for (const ExplainedValue &it : saved)
      list.push_back({.value = it.value,
                      .runs = it.runs,
                      .bytes = it.bytes,
                      .steps_held = it.stepsHeld,
                      .steps_idle = it.stepsIdle,
                      .other_cost = it.otherCost,
                      .can_recompute = it.canRecompute,
                      .reserved = 0});
    size = sizeof(llmmem_explanation);
    count = static_cast<int64_t>(list.size());
    items = list.data();
    text = lines.c_str();
  }

  std::string lines;
  std::vector<llmmem_saved_value> list;
};

} // namespace

llmmem_result llmmem_verify_plan(const llmmem_problem *givenProblem, const llmmem_plan *givenPlan,
                                 const llmmem_violations **violations, char **error) {
  if (!begin(violations, "violations", error))
    return LLMMEM_INVALID;
  Result<PlannedProblem> both = takeBoth(givenProblem, givenPlan);
  if (!both)
    return invalid(error, both.error());
  const auto &[problem, plan] = *both;
  *violations = giveViolations(verify(problem, plan));
  return LLMMEM_OK;
}

llmmem_result llmmem_check_proof(const llmmem_problem *givenProblem, const llmmem_plan *givenPlan,
                                 const char *givenProof, const llmmem_claims **claims,
                                 char **error) {
  if (!begin(claims, "claims", error))
    return LLMMEM_INVALID;
  if (!givenProof)
    return invalid(error, "proof: is NULL");
  Result<PlannedProblem> both = takeBoth(givenProblem, givenPlan);
  if (!both)
    return invalid(error, both.error());
  const auto &[problem, plan] = *both;
  Result<Proof> proof = parseProof(problem, givenProof);
  if (!proof)
    return invalid(error, "proof: " + proof.error());
  *claims = new OwnedClaims(checkProof(problem, plan, *proof));
  return LLMMEM_OK;
}

void llmmem_free_claims(const llmmem_claims *claims) {
  delete static_cast<const OwnedClaims *>(claims);
}

llmmem_result llmmem_explain_plan(const llmmem_problem *givenProblem, const llmmem_plan *givenPlan,
                                  const llmmem_explanation **explanation, char **error) {
  if (!begin(explanation, "explanation", error))
    return LLMMEM_INVALID;
  Result<PlannedProblem> both = takeBoth(givenProblem, givenPlan);
  if (!both)
    return invalid(error, both.error());
  const auto &[problem, plan] = *both;
  for (const Violation &violation : verify(problem, plan))
    return invalid(error, "plan: " + violation.rule + ": " + violation.message);
  if (plan.steps.empty())
    return invalid(error, "plan: has no steps to explain");
  *explanation = new OwnedExplanation(problem, explainPlan(problem, plan));
  return LLMMEM_OK;
}

void llmmem_free_explanation(const llmmem_explanation *explanation) {
  delete static_cast<const OwnedExplanation *>(explanation);
}
