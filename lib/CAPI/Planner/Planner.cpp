//===- Planner.cpp - The planner on plain arrays --------------------------------===//
//
// Calls nothing but the planner's public headers. What is given out is a C structure that heads an
// object which owns its arrays.
//
//===----------------------------------------------------------------------===//

#include "llmmem/Planning/Planner.h"
#include "Arrays.h"
#include "llmmem/CAPI/Boundary.h"
#include "llmmem/Planning/Bounds/Prove.h"
#include "llmmem/Planning/Formats/Explain.h"
#include "llmmem/Planning/Model/Verify.h"
#include "llmmem/Planning/Proofs/Check.h"
#include <cmath>
#include <memory>

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
  clear(error);
  if (!text)
    return invalid(error, "text: is NULL");
  *text = nullptr;
  Result<Problem> problem = takeProblem(given);
  if (!problem)
    return invalid(error, problem.error());
  *text = copyText(toJson(*problem));
  return LLMMEM_OK;
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

namespace {

struct OwnedPlan : llmmem_plan {
  explicit OwnedPlan(Plan planned) : llmmem_plan(), plan(std::move(planned)) {
    size = sizeof(llmmem_plan);
    status = static_cast<int32_t>(plan.status);
    num_steps = static_cast<int64_t>(plan.steps.size());
    llmmem_plan::steps = plan.steps.data();
    for (const InstanceOffset &it : plan.offsets)
      offsetList.push_back({it.step, it.value, it.offset});
    for (const WorkspaceOffset &it : plan.workspaces)
      workspaceList.push_back({it.step, -1, it.offset});
    num_offsets = static_cast<int64_t>(offsetList.size());
    offsets = offsetList.data();
    num_workspaces = static_cast<int64_t>(workspaceList.size());
    workspaces = workspaceList.data();
    peak = plan.peak;
    arena = plan.arena;
    cost = plan.cost;
    base_cost = plan.baseCost;
    cost_lower_bound = plan.costLowerBound;
    peak_lower_bound = plan.peakLowerBound;
    seconds = plan.seconds;
    witness_op = -1;
    if (!plan.witness)
      return;
    witness = plan.witness->why.c_str();
    witness_bytes = plan.witness->bytes;
    witness_op = plan.witness->op.value_or(-1);
    witness_proved = plan.witness->proved;
  }

  Plan plan;
  std::vector<llmmem_offset> offsetList, workspaceList;
};

} // namespace

static Result<PlanOptions> takeOptions(const llmmem_plan_options &given) {
  PlanOptions options;
  if (given.policy) {
    Result<Policy> policy = parsePolicy(given.policy);
    if (!policy)
      return Failure{"policy: " + policy.error()};
    options.policy = *policy;
  }
  if (!(given.seconds >= 0) || !std::isfinite(given.seconds))
    return Failure{"seconds: expected a number from 0 up; 0 is 10"};
  if (given.seconds > 0)
    options.seconds = given.seconds;
  if (auto *progress = given.progress)
    options.progress = [progress, user = given.user](std::string_view activity) {
      progress(user, std::string(activity).c_str());
    };
  return options;
}

/// The question of `isCancelled`, which notes the answer in `wasCancelled`.
static std::function<bool()> question(int32_t (*isCancelled)(void *), void *user,
                                      bool &wasCancelled) {
  if (!isCancelled)
    return nullptr;
  return [=, &wasCancelled] { return wasCancelled = isCancelled(user) != 0; };
}

/// Plans, and proves where `proof` is there.
static llmmem_result makePlan(const llmmem_problem *given, const llmmem_plan_options *givenOptions,
                              const llmmem_plan **plan, char **proof, char **error) {
  if (!plan)
    return invalid(error, "plan: is NULL");
  *plan = nullptr;
  const llmmem_plan_options usual = LLMMEM_INIT(llmmem_plan_options);
  Result<llmmem_plan_options> taken = take(givenOptions ? givenOptions : &usual, "options");
  if (!taken)
    return invalid(error, taken.error());
  Result<PlanOptions> options = takeOptions(*taken);
  if (!options)
    return invalid(error, options.error());
  Result<Problem> problem = takeProblem(given);
  if (!problem)
    return invalid(error, problem.error());

  bool wasCancelled = false;
  options->isCancelled = question(taken->is_cancelled, taken->user, wasCancelled);
  auto made = std::make_unique<OwnedPlan>(planning::plan(*problem, *options));
  if (wasCancelled)
    return fail(LLMMEM_CANCELLED, error, "cancelled");
  for (const Violation &violation : verify(*problem, made->plan))
    return fail(LLMMEM_WRONG_PLAN, error,
                "the plan found is wrong; please report this: " + violation.rule + ": " +
                    violation.message);
  if (proof)
    *proof = copyText(toJson(*problem, prove(*problem, made->plan)));
  *plan = made.release();
  return LLMMEM_OK;
}

llmmem_result llmmem_make_plan(const llmmem_problem *given, const llmmem_plan_options *options,
                               const llmmem_plan **plan, char **error) {
  clear(error);
  return makePlan(given, options, plan, nullptr, error);
}

llmmem_result llmmem_make_plan_with_proof(const llmmem_problem *given,
                                          const llmmem_plan_options *options,
                                          const llmmem_plan **plan, char **proof, char **error) {
  clear(error);
  if (!proof)
    return invalid(error, "proof: is NULL");
  *proof = nullptr;
  return makePlan(given, options, plan, proof, error);
}

void llmmem_free_plan(const llmmem_plan *plan) { delete static_cast<const OwnedPlan *>(plan); }

/// A problem and a plan as the planner knows them.
static std::optional<std::string> takeBoth(const llmmem_problem *givenProblem,
                                           const llmmem_plan *givenPlan, Problem &problem,
                                           Plan &plan) {
  Result<Problem> takenProblem = takeProblem(givenProblem);
  if (!takenProblem)
    return takenProblem.error();
  Result<Plan> takenPlan = takePlan(givenPlan);
  if (!takenPlan)
    return takenPlan.error();
  problem = std::move(*takenProblem);
  plan = std::move(*takenPlan);
  return std::nullopt;
}

llmmem_result llmmem_plan_json(const llmmem_problem *givenProblem, const llmmem_plan *givenPlan,
                               char **text, char **error) {
  clear(error);
  if (!text)
    return invalid(error, "text: is NULL");
  *text = nullptr;
  Problem problem;
  Plan plan;
  if (std::optional<std::string> wrong = takeBoth(givenProblem, givenPlan, problem, plan))
    return invalid(error, *wrong);
  *text = copyText(toJson(problem, plan));
  return LLMMEM_OK;
}

//===----------------------------------------------------------------------===//
// Checking and explaining
//===----------------------------------------------------------------------===//

namespace {

struct OwnedViolations : llmmem_violations {
  explicit OwnedViolations(std::vector<Violation> found)
      : llmmem_violations(), violations(std::move(found)) {
    for (const Violation &it : violations)
      list.push_back({it.step, it.rule.c_str(), it.message.c_str()});
    size = sizeof(llmmem_violations);
    count = static_cast<int64_t>(list.size());
    items = list.data();
  }

  std::vector<Violation> violations;
  std::vector<llmmem_violation> list;
};

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
  OwnedExplanation(const Problem &problem, const std::vector<SavedValue> &saved)
      : llmmem_explanation(), lines(explanationText(problem, saved)) {
    for (const SavedValue &it : saved)
      list.push_back({it.value, it.runs, it.bytes, it.stepsHeld, it.stepsIdle, it.otherCost,
                      it.canRecompute, 0});
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
  clear(error);
  if (!violations)
    return invalid(error, "violations: is NULL");
  *violations = nullptr;
  Problem problem;
  Plan plan;
  if (std::optional<std::string> wrong = takeBoth(givenProblem, givenPlan, problem, plan))
    return invalid(error, *wrong);
  *violations = new OwnedViolations(verify(problem, plan));
  return LLMMEM_OK;
}

void llmmem_free_violations(const llmmem_violations *violations) {
  delete static_cast<const OwnedViolations *>(violations);
}

llmmem_result llmmem_check_proof(const llmmem_problem *givenProblem, const llmmem_plan *givenPlan,
                                 const char *givenProof, const llmmem_claims **claims,
                                 char **error) {
  clear(error);
  if (!claims)
    return invalid(error, "claims: is NULL");
  *claims = nullptr;
  if (!givenProof)
    return invalid(error, "proof: is NULL");
  Problem problem;
  Plan plan;
  if (std::optional<std::string> wrong = takeBoth(givenProblem, givenPlan, problem, plan))
    return invalid(error, *wrong);
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
  clear(error);
  if (!explanation)
    return invalid(error, "explanation: is NULL");
  *explanation = nullptr;
  Problem problem;
  Plan plan;
  if (std::optional<std::string> wrong = takeBoth(givenProblem, givenPlan, problem, plan))
    return invalid(error, *wrong);
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
