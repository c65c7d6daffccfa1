//===- OffloadSearch.cpp - Keep, recompute or offload each value ------------------===//

#include "OffloadSearch.h"
#include "Bounds/CostCertificate.h"
#include "Budget/Certificate.h"
#include "Budget/Frontier.h"
#include "Budget/MicroBatchSearch.h"
#include "CopySearch.h"
#include "OffloadBound.h"
#include "Overlap/OverlapSearch.h"
#include "Schedulers/ExactSearch.h"
#include "llmmem/Support/ByteSize.h"
#include <algorithm>

using namespace llmmem;
using namespace llmmem::planning;

namespace {

class OffloadSearch {
public:
  OffloadSearch(const Problem &problem, const OffloadOptions &options);

  Plan run();

private:
  static int64_t workFor(double seconds, double rate) {
    return static_cast<int64_t>(std::clamp(seconds, 0.0, 1e5) * rate);
  }
  void announce(std::string_view what) const {
    device.poll();
    if (options.progress)
      options.progress(what);
  }
  bool isFixedPolicy() const {
    return options.policy != PolicyKind::Budget && options.policy != PolicyKind::LeastPeak;
  }
  int64_t linkBytes() const;
  std::vector<int64_t> largerBudgets(int64_t from);
  void addSchedule(int64_t budget);
  void addOrders();
  void addSchedules();
  Plan planLeastNeed();
  std::vector<OpIndex> moments() const;
  void certify(Plan &plan) const;
  Plan withoutCopies() const;
  Plan withoutPlan() const;

  const Problem &problem;
  const OffloadOptions &options;
  const OffloadShape shape;
  const Graph device;
  const std::unique_ptr<BudgetSearch> search;
  Frontier frontier;
  CopySearch copies;
  Plan alone; // of the device by itself
};

} // namespace

OffloadSearch::OffloadSearch(const Problem &problem, const OffloadOptions &options)
    : problem(problem), options(options), shape(takeApart(problem)),
      device(shape.device, options.cancellation),
      search(makeBudgetSearch(device, workFor(options.seconds, 4e6))),
      frontier(device, *search, workFor(options.seconds, 20000)),
      copies(problem, shape, device, workFor(options.seconds, 4e6),
             workFor(options.seconds, 2000)) {
  search->reportTo(options.progress);
}

/// The most bytes that the link moves up in half of the time of every op once: what goes up in the
/// one half comes down in the other.
int64_t OffloadSearch::linkBytes() const {
  constexpr __int128 largest = INT64_MAX / 4;
  __int128 most = 0;
  for (const HostCopy &copy : shape.copies) {
    const __int128 slower = std::max(problem.ops[copy.up].cost, problem.ops[copy.down].cost);
    const __int128 half = device.baseCost() / 2;
    most = std::max(most, slower ? half * device.bytes(copy.value) / slower : largest);
  }
  return static_cast<int64_t>(std::min(most, largest));
}

/// Budgets of the device at which other schedules are found: larger by what the host holds or the
/// link moves, at most, and that at which nothing is recomputed.
std::vector<int64_t> OffloadSearch::largerBudgets(int64_t from) {
  int64_t free = device.residentBytes();
  if (const auto plan = frontier.at(INT64_MAX / 4))
    free += plan->arena;
  const int64_t most =
      std::min({free - from, linkBytes(), problem.budgetOf(1).value_or(INT64_MAX / 4)});
  std::vector<int64_t> budgets;
  constexpr int64_t parts = 16;
  for (int64_t part : {1, 2, 3, 4, 6, 8, 10, 12, 14, 16})
    if (const int64_t more = static_cast<int64_t>(static_cast<__int128>(most) * part / parts);
        more > 0)
      budgets.push_back(from + more);
  if (free > from)
    budgets.push_back(free);
  return budgets;
}

/// Every schedule is searched where the problem is small.
void OffloadSearch::addSchedule(int64_t budget) {
  if (isSmall(device)) {
    const ExactAnswer exact =
        cheapestUnder(device, budget + device.topPadding(),
                      {.repeats = true, .work = workFor(options.seconds, 20000)});
    if (exact.kind == ExactAnswer::Kind::Found)
      copies.add(exact.steps);
  }
  if (const std::shared_ptr<const Plan> plan = frontier.at(budget))
    copies.add(plan->steps);
}

/// Orders of a small problem without repeats, depth first, as many as are worth it.
void OffloadSearch::addOrders() {
  constexpr size_t mostOrders = 200;
  std::vector<int32_t> unread(device.numOps(), 0); // operands that are not written yet
  for (OpIndex op = 0; op < device.numOps(); ++op)
    unread[op] = static_cast<int32_t>(
        llvm::count_if(device.op(op).reads, [&](ValueIndex v) { return device.writer(v) >= 0; }));
  std::vector<OpIndex> order;
  std::vector<bool> ran(device.numOps(), false);
  size_t found = 0;
  auto run = [&](OpIndex op, int32_t sign) {
    ran[op] = sign > 0;
    for (ValueIndex value : device.op(op).writes)
      for (OpIndex reader : device.readers(value))
        unread[reader] -= sign;
  };
  auto extend = [&](auto &&self) -> void {
    if (static_cast<int32_t>(order.size()) == device.numOps()) {
      ++found;
      copies.add(order);
    }
    for (OpIndex op = 0; op < device.numOps() && found < mostOrders; ++op) {
      if (ran[op] || unread[op] > 0)
        continue;
      run(op, 1);
      order.push_back(op);
      self(self);
      order.pop_back();
      run(op, -1);
    }
  };
  extend(extend);
}

void OffloadSearch::addSchedules() {
  announce("schedules for the device");
  alone = options.planOneMemory(shape.device);
  if (!alone.steps.empty())
    copies.add(alone.steps);
  if (isFixedPolicy())
    return;
  copies.add(givenOrder(device));
  constexpr int32_t mostOpsOfOrders = 12;
  if (device.numOps() <= mostOpsOfOrders)
    addOrders();
  const int64_t from = problem.budget.value_or(INT64_MAX / 4);
  addSchedule(from);
  for (int64_t budget : largerBudgets(from)) {
    announce("schedules that keep more than the device holds");
    addSchedule(budget);
  }
  if (const std::shared_ptr<const Plan> least = frontier.least())
    copies.add(least->steps);
}

/// The shortest plan in the least bytes of the device.
Plan OffloadSearch::planLeastNeed() {
  addSchedules();
  for (int64_t budget : largerBudgets(device.residentBytes()))
    addSchedule(budget);
  std::optional<Plan> least = copies.leastNeed();
  if (!least)
    return withoutPlan();
  Problem bounded = problem;
  bounded.budget = problem.residentBytes() + least->arena;
  OffloadOptions underBudget = options;
  underBudget.policy = PolicyKind::Budget;
  const Plan shorter = OffloadSearch(bounded, underBudget).run();
  if (shorter.status == Status::Feasible && shorter.time->time < least->time->time)
    least = shorter;
  least->costLowerBound = least->baseCost;
  least->time->lowerBound = least->time->base;
  least->bound = "every op once";
  const int64_t bytes = OffloadBound(problem, shape, device).peakBound(moments()).device.bytes;
  least->peakLowerBound = std::max(problem.residentBytes(), bytes - paddingOf(shape.device));
  least->status =
      problem.budget && *bounded.budget > *problem.budget ? Status::Unknown : Status::Feasible;
  return std::move(*least);
}

/// The end of the forward, and where the program order is fullest.
std::vector<OpIndex> OffloadSearch::moments() const {
  std::vector<OpIndex> ops = givenOrder(device);
  const std::vector<int64_t> bytes = profile(device, ops).bytes;
  llvm::sort(
      ops, [&](OpIndex a, OpIndex b) { return std::pair(-bytes[a], a) < std::pair(-bytes[b], b); });
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
  const std::vector<OpIndex> ops = moments();
  const OffloadBound::OfBytes bytes = bound.peakBound(ops);
  const int64_t padding = paddingOf(shape.device);
  plan.peakLowerBound = std::max(problem.residentBytes(), bytes.device.bytes - padding);
  plan.moreMemories[0].peakLowerBound =
      problem.residentBytes(1) + std::max<int64_t>(0, bytes.host - padding);
  plan.costLowerBound = plan.baseCost;
  plan.time->lowerBound = device.baseCost();
  plan.bound = "every op once";
  if (!problem.budget || plan.time->time <= plan.time->lowerBound)
    return;
  const OffloadBound::OfTime time = bound.timeBound(ops, plan.time->time);
  plan.time->lowerBound = time.time;
  if (time.op >= 0)
    plan.bound = "one moment at op " + std::to_string(device.op(time.op).id) +
                 ", when copies hold " + formatByteSize(time.moved) + " at most";
}

/// Says whether none exists.
Plan OffloadSearch::withoutPlan() const {
  Plan plan;
  plan.baseCost = plan.costLowerBound = device.baseCost();
  plan.moreMemories.resize(1);
  retime(problem, plan);
  plan.time->lowerBound = device.baseCost();
  const OffloadBound bound(problem, shape, device);
  const PeakBound least = bound.peakBound(moments()).device;
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
    witness.why =
        "beside this op every plan holds as much on the device, whatever it recomputes and "
        "with the host full";
  return plan;
}

/// The plan of the device by itself, in its own offsets: more was searched for them than for those
/// of any plan with copies.
Plan OffloadSearch::withoutCopies() const {
  Plan plan = alone;
  for (OpIndex &op : plan.steps)
    op = shape.opOf[op];
  const int64_t resident = problem.residentBytes(1);
  plan.moreMemories = {{resident, 0, resident}};
  plan.peakBasis = plan.costBasis = {};
  retime(problem, plan);
  return plan;
}

Plan OffloadSearch::run() {
  if (options.policy == PolicyKind::LeastPeak)
    return planLeastNeed();
  addSchedules();
  announce("copies to the host");
  std::optional<Plan> found = copies.shortest(!isFixedPolicy());
  const bool hostHolds = problem.residentBytes(1) <= problem.budgetOf(1).value_or(INT64_MAX);
  if (alone.status == Status::Feasible && hostHolds && (!found || found->time->time > alone.cost))
    found = withoutCopies();
  if (!found)
    return withoutPlan();
  found->status = Status::Feasible;
  certify(*found);
  return std::move(*found);
}

Plan llmmem::planning::planOffloaded(const Problem &problem, const OffloadOptions &options) {
  return OffloadSearch(problem, options).run();
}
