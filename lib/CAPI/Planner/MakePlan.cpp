//===- MakePlan.cpp - Options in, a verified plan out -----------------------------===//

#include "MakePlan.h"
#include "llmmem/CAPI/Boundary.h"
#include "llmmem/Planning/Bounds/Prove.h"
#include "llmmem/Planning/Model/Verify.h"
#include <cmath>

using namespace llmmem;
using namespace llmmem::capi;
using namespace llmmem::planning;

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
    options.workSeconds = given.seconds;
  if (auto *progress = given.progress)
    options.progress = [progress, user = given.user](std::string_view activity) {
      progress(user, std::string(activity).c_str());
    };
  return options;
}

/// Returns the question of `isCancelled`, which notes the answer in `wasCancelled`.
static std::function<bool()> question(int32_t (*isCancelled)(void *), void *user,
                                      bool &wasCancelled) {
  if (!isCancelled)
    return nullptr;
  return [=, &wasCancelled] { return wasCancelled = isCancelled(user) != 0; };
}

llmmem_result capi::makePlan(const std::function<Result<PlannedProblem>(const PlanOptions &)> &make,
                             const llmmem_plan_options *givenOptions, const llmmem_plan **plan,
                             char **proof, char **error) {
  if (!plan)
    return invalid(error, "plan: is NULL");
  *plan = nullptr;
  const llmmem_plan_options defaults = LLMMEM_INIT(llmmem_plan_options);
  Result<llmmem_plan_options> taken = take(givenOptions ? givenOptions : &defaults, "options");
  if (!taken)
    return invalid(error, taken.error());
  Result<PlanOptions> options = takeOptions(*taken);
  if (!options)
    return invalid(error, options.error());
  bool wasCancelled = false;
  options->isCancelled = question(taken->is_cancelled, taken->user, wasCancelled);
  Result<PlannedProblem> planned = make(*options);
  if (!planned)
    return invalid(error, planned.error());
  if (wasCancelled)
    return fail(LLMMEM_CANCELLED, error, "cancelled");
  const Problem &problem = planned->problem;
  for (const Violation &violation : verify(problem, planned->plan))
    return fail(LLMMEM_WRONG_PLAN, error,
                "the plan found is wrong; please report this: " + violation.rule + ": " +
                    violation.message);
  if (proof)
    *proof = copyText(toJson(problem, prove(problem, planned->plan)));
  *plan = new OwnedPlan(std::move(planned->plan));
  return LLMMEM_OK;
}

void llmmem_free_plan(const llmmem_plan *plan) { delete static_cast<const OwnedPlan *>(plan); }
