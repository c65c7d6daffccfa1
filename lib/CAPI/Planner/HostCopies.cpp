//===- HostCopies.cpp - Plans whose values may leave for a host -----------------===//

#include "llmmem-c/HostCopies.h"
#include "Arrays.h"
#include "MakePlan.h"
#include "Violations.h"
#include "llmmem/CAPI/Boundary.h"
#include "llmmem/Planning/Model/Verify.h"
#include "llmmem/Planning/Offload/OffloadProblem.h"
#include <memory>

using namespace llmmem;
using namespace llmmem::capi;
using namespace llmmem::planning;

/// Takes a problem, and adds the copies to the host.
static Result<Problem> takeProblemWithHost(const llmmem_problem *givenProblem,
                                           const llmmem_host *givenHost) {
  Result<Problem> problem = takeProblem(givenProblem);
  if (!problem)
    return Failure{problem.error()};
  Result<llmmem_host> host = take(givenHost, "host");
  if (!host)
    return Failure{host.error()};
  if (host->budget <= 0)
    return Failure{"host: budget: is " + std::to_string(host->budget) +
                   "; expected the bytes of the host's memory"};
  std::vector<bool> mayLeave;
  if (host->may_leave)
    mayLeave.assign(host->may_leave, host->may_leave + problem->values.size());
  const HostLink link{.up = host->to_host, .down = host->to_device, .latency = host->latency};
  Result<Problem> copied = withHostCopies(*problem, host->budget, link, mayLeave);
  return copied ? std::move(copied) : Result<Problem>(Failure{"host: " + copied.error()});
}

namespace {
struct OwnedHostPlan : llmmem_host_plan {
  OwnedHostPlan(const Problem &problem, const Plan &plan, size_t numOps) : llmmem_host_plan() {
    size = sizeof(llmmem_host_plan);
    for (size_t op = numOps; op < problem.ops.size(); ++op) {
      const Op &copy = problem.ops[op];
      const bool leaves = copy.resource == Resource::DeviceToHost;
      const ValueIndex from = copy.reads.front(), to = copy.writes.front();
      list.push_back({leaves ? from : to, leaves ? to : from, leaves, 0, copy.cost});
    }
    num_copies = static_cast<int64_t>(list.size());
    copies = list.data();
    if (!plan.moreMemories.empty()) {
      peak = plan.moreMemories[0].peak;
      arena = plan.moreMemories[0].arena;
      peak_lower_bound = plan.moreMemories[0].peakLowerBound;
    }
    if (plan.time) {
      time = plan.time->time;
      base_time = plan.time->base;
      time_lower_bound = plan.time->lowerBound;
    }
  }

  std::vector<llmmem_host_copy> list;
};
} // namespace

llmmem_result llmmem_parse_link(const char *text, llmmem_host *host, char **error) {
  clear(error);
  if (!text || !host)
    return invalid(error, std::string(!text ? "text" : "host") + ": is NULL");
  Result<HostLink> link = parseHostLink(text);
  if (!link)
    return invalid(error, link.error());
  host->to_host = link->up;
  host->to_device = link->down;
  return LLMMEM_OK;
}

llmmem_result llmmem_make_plan_with_host(const llmmem_problem *givenProblem,
                                         const llmmem_host *givenHost,
                                         const llmmem_plan_options *options,
                                         const llmmem_plan **plan,
                                         const llmmem_host_plan **hostPlan, char **error) {
  if (!begin(hostPlan, "host_plan", error))
    return LLMMEM_INVALID;
  std::unique_ptr<OwnedHostPlan> made;
  auto make = [&](const PlanOptions &planOptions) -> Result<PlannedProblem> {
    Result<Problem> problem = takeProblemWithHost(givenProblem, givenHost);
    if (!problem)
      return Failure{problem.error()};
    Plan found = planning::plan(*problem, planOptions);
    made = std::make_unique<OwnedHostPlan>(*problem, found, givenProblem->num_ops);
    return PlannedProblem{std::move(*problem), std::move(found)};
  };
  const llmmem_result result = makePlan(make, options, plan, nullptr, error);
  if (result == LLMMEM_OK)
    *hostPlan = made.release();
  return result;
}

void llmmem_free_host_plan(const llmmem_host_plan *hostPlan) {
  delete static_cast<const OwnedHostPlan *>(hostPlan);
}

llmmem_result llmmem_verify_plan_with_host(const llmmem_problem *givenProblem,
                                           const llmmem_host *givenHost,
                                           const llmmem_plan *givenPlan,
                                           const llmmem_host_plan *givenHostPlan,
                                           const llmmem_violations **violations, char **error) {
  if (!begin(violations, "violations", error))
    return LLMMEM_INVALID;
  Result<Problem> problem = takeProblemWithHost(givenProblem, givenHost);
  if (!problem)
    return invalid(error, problem.error());
  Result<Plan> plan = takePlan(givenPlan);
  if (!plan)
    return invalid(error, plan.error());
  Result<llmmem_host_plan> hostPlan = take(givenHostPlan, "host_plan");
  if (!hostPlan)
    return invalid(error, hostPlan.error());
  if (problem->needsVersion2()) {
    plan->moreMemories = {{.peak = hostPlan->peak,
                           .arena = hostPlan->arena,
                           .peakLowerBound = hostPlan->peak_lower_bound}};
    plan->time = {.time = hostPlan->time,
                  .base = hostPlan->base_time,
                  .lowerBound = hostPlan->time_lower_bound};
  }
  *violations = giveViolations(verify(*problem, *plan));
  return LLMMEM_OK;
}
