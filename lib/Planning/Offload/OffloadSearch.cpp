//===- OffloadSearch.cpp - Keep, recompute or offload each value ------------------===//

#include "OffloadSearch.h"
#include "Bounds/CostCertificate.h"
#include "Budget/MicroBatchSearch.h"
#include "OffloadBound.h"
#include "OffloadSamples.h"
#include "Overlap/OverlapSearch.h"
#include "Schedulers/ExactSearch.h"
#include "Tuning/Constants.h"
#include "llmmem/Support/ByteSize.h"
#include <algorithm>

using namespace llmmem;
using namespace llmmem::planning;
using Answer = OffloadSamples::Answer;

namespace {

class OffloadSearch {
public:
  OffloadSearch(const Problem &problem, const OffloadOptions &options);

  Plan run();

private:
  void announce(std::string_view what) const {
    device.poll();
    if (options.progress)
      options.progress(what);
  }
  Answer planFixed();
  Answer planWithin();
  Plan planLeastFootprint();
  Plan alone();
  std::vector<OpIndex> findProgramPoints() const;
  void certify(Plan &plan) const;
  Plan withoutPlan() const;

  const Problem &problem;
  const OffloadOptions &options;
  const OffloadShape shape;
  const Graph device;
  const std::unique_ptr<BudgetSearch> search;
  const std::vector<OpIndex> programPoints;
  Frontier frontier;
  OffloadSchedules schedules;
  OffloadSamples samples;
};

} // namespace

OffloadSearch::OffloadSearch(const Problem &problem, const OffloadOptions &options)
    : problem(problem), options(options), shape(takeApart(problem)),
      device(shape.device, options.cancellation),
      search(makeBudgetSearch(device, tuning::workFor(options.seconds, tuning::stepsPerSecond))),
      programPoints(findProgramPoints()),
      frontier(device, *search, tuning::workFor(options.seconds, tuning::packUnitsPerSecond)),
      schedules(problem, shape, device, *search, frontier,
                tuning::workFor(options.seconds, tuning::copySchedulesPerSecond)),
      samples(problem, shape, device, schedules, programPoints, options) {
  search->reportTo(options.progress);
}

/// Returns the schedule of a policy that does not depend on the budget, with copies where it does
/// not fit.
Answer OffloadSearch::planFixed() {
  const Plan scheduled = options.planOneMemory(shape.device, options.policy);
  CopySearch copies = samples.copiesOf(problem);
  if (!scheduled.steps.empty())
    copies.add(scheduled.steps);
  announce("copies to the host");
  Answer found = samples.timed(copies.shortest(Exchanges::None));
  if (scheduled.status == Status::Feasible)
    found = shorterOf(std::move(found), samples.withoutCopies(scheduled));
  return found;
}

/// Returns the plan within the budget that only recomputes.
Plan OffloadSearch::alone() {
  if (isSmall(device))
    return options.planOneMemory(shape.device, PolicyKind::Budget);
  Plan plan;
  plan.status =
      options.planUnderBudget(device, *search, frontier, plan) ? Status::Feasible : Status::Unknown;
  return plan;
}

Answer OffloadSearch::planWithin() {
  announce("schedules for the device");
  Answer found;
  if (const Plan plan = alone(); plan.status == Status::Feasible)
    found = samples.withoutCopies(plan);
  if (!problem.budget)
    return found;
  if (found && !samples.isModelled())
    found = nullptr;
  const int64_t known = std::min(found ? found->time : INT64_MAX, options.knownTime);
  if (!samples.isProved(*problem.budget, known))
    found = shorterOf(std::move(found), samples.within(*problem.budget, known));
  return found;
}

/// Returns the shortest plan within the least bytes of the device for which a plan was found.
Plan OffloadSearch::planLeastFootprint() {
  const Answer least = samples.least();
  if (!least)
    return withoutPlan();
  const Answer shortest = samples.within(least->footprint, INT64_MAX);
  Plan plan = (shortest ? shortest : least)->plan;
  plan.costLowerBound = plan.baseCost;
  plan.time->lowerBound = plan.time->base;
  plan.bound = "every op once";
  const int64_t bytes = OffloadBound(problem, shape, device).peakBound(programPoints).device.bytes;
  plan.peakLowerBound = std::max(problem.residentBytes(), bytes - paddingOf(shape.device));
  plan.status =
      problem.budget && least->footprint > *problem.budget ? Status::Unknown : Status::Feasible;
  return plan;
}

/// Returns all ops, sorted by the bytes that the program order holds while they run, most first.
static std::vector<OpIndex> fullestOps(const Graph &device) {
  std::vector<OpIndex> ops = givenOrder(device);
  const std::vector<int64_t> bytes = profile(device, ops).bytes;
  llvm::sort(
      ops, [&](OpIndex a, OpIndex b) { return std::pair(-bytes[a], a) < std::pair(-bytes[b], b); });
  return ops;
}

/// Returns the ops at whose first runs bounds are proved: the one at the end of the forward, and
/// those at which the program order holds the most bytes.
std::vector<OpIndex> OffloadSearch::findProgramPoints() const {
  std::vector<OpIndex> ops = fullestOps(device);
  constexpr size_t fraction = 4, few = 24;
  const size_t most = std::max(few, numCuts(device) / fraction);
  ops.resize(std::min(ops.size(), most));
  if (device.numOps() > 0)
    ops.insert(ops.begin(), findCutOp(device, search->mainChain()));
  return ops;
}

void OffloadSearch::certify(Plan &plan) const {
  announce("the certificate");
  const OffloadBound bound(problem, shape, device);
  const OffloadBound::OfBytes bytes = bound.peakBound(programPoints);
  const int64_t padding = paddingOf(shape.device);
  plan.peakLowerBound = std::max(problem.residentBytes(), bytes.device.bytes - padding);
  plan.moreMemories[0].peakLowerBound =
      problem.residentBytes(1) + std::max<int64_t>(0, bytes.host - padding);
  plan.costLowerBound = plan.baseCost;
  plan.time->lowerBound = device.baseCost();
  plan.bound = "every op once";
  if (!problem.budget || plan.time->time <= plan.time->lowerBound)
    return;
  const OffloadBound::OfTime time = bound.timeBound(programPoints, plan.time->time);
  plan.time->lowerBound = time.time;
  if (time.op >= 0)
    plan.bound = "one cut in time at op " + std::to_string(device.op(time.op).id) +
                 ", when copies hold " + formatByteSize(time.moved) + " at most";
}

/// Returns a plan without steps, whose witness says whether it is proved that no plan exists.
Plan OffloadSearch::withoutPlan() const {
  Plan plan;
  plan.baseCost = plan.costLowerBound = device.baseCost();
  plan.moreMemories.resize(1);
  retime(problem, plan);
  plan.time->lowerBound = device.baseCost();
  const OffloadBound bound(problem, shape, device);
  const PeakBound least = bound.peakBound(programPoints).device;
  plan.peakLowerBound = least.bytes;
  Witness &witness = plan.witness.emplace();
  witness.bytes = least.bytes;
  if (least.op >= 0)
    witness.op = shape.opOf[least.op];
  witness.proved = problem.budget && least.bytes > *problem.budget;
  plan.status = witness.proved ? Status::Infeasible : Status::Unknown;
  if (!witness.proved)
    witness.why =
        "no schedule was found that fits, with values recomputed or on the host; proved is "
        "only that " +
        std::to_string(least.bytes) + " bytes of the device are needed";
  else if (least.bytes <= bound.peakOfOneOp().bytes)
    witness.why =
        "this op cannot run in less, wherever all other values are: its operands, results "
        "and workspace, and the resident bytes";
  else
    witness.why = "every plan holds as much on the device while this op runs, whatever it "
                  "recomputes and however full the host is";
  return plan;
}

Plan OffloadSearch::run() {
  if (options.policy == PolicyKind::LeastPeak)
    return planLeastFootprint();
  const Answer found = options.policy == PolicyKind::Budget ? planWithin() : planFixed();
  if (!found)
    return withoutPlan();
  Plan plan = found->plan;
  plan.status = Status::Feasible;
  certify(plan);
  return plan;
}

int64_t llmmem::planning::leastOffloadTime(const Problem &problem) {
  const OffloadShape shape = takeApart(problem);
  const Graph device(shape.device);
  if (!problem.budget || device.numOps() == 0)
    return device.baseCost();
  // This is called for many variants, so the bound looks at few program points, and with a coarse
  // precision.
  constexpr size_t few = 6;
  constexpr int64_t factor = 2, precision = 1024;
  const OffloadBound bound(problem, shape, device);
  return bound
      .timeBound(llvm::ArrayRef(fullestOps(device)).take_front(few), factor * device.baseCost(),
                 std::max<int64_t>(1, device.baseCost() / precision))
      .time;
}

Plan llmmem::planning::planOffloaded(const Problem &problem, const OffloadOptions &options) {
  return OffloadSearch(problem, options).run();
}
