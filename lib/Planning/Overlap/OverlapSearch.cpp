//===- OverlapSearch.cpp - Plans of problems with several resources of time ---===//

#include "OverlapSearch.h"
#include "Budget/BisectTimes.h"
#include "Budget/Certificate.h"
#include "OverlapOrder.h"
#include "Timeline.h"
#include "Tuning/Constants.h"
#include "llmmem/Planning/Allocation/Placement.h"
#include "llmmem/Planning/Model/Schedule.h"
#include <algorithm>

using namespace llmmem::planning;

namespace {

/// Returns the problem with everything on one resource, and with the costs of the link as they are
/// or left out.
Problem onOneResource(Problem problem, bool linkIsFree) {
  for (Op &op : problem.ops) {
    if (op.resource == Resource::Link && linkIsFree)
      op.cost = 0;
    op.resource = Resource::Compute;
  }
  for (Value &value : problem.values)
    value.orderOnly = false; // nothing overlaps it
  return problem;
}

/// The planner for one resource. Its tables are made once for all budgets.
class OneResource {
public:
  OneResource(const Problem &problem, bool linkIsFree, const OverlapOptions &options)
      : problem(onOneResource(problem, linkIsFree)), graph(this->problem, options.cancellation),
        search(graph, tuning::workFor(options.seconds, tuning::stepsPerSecond)),
        frontier(graph, search, tuning::workFor(options.seconds, tuning::packUnitsPerSecond)) {
    search.reportTo(options.progress);
  }

  std::shared_ptr<const Plan> at(int64_t budget) { return frontier.at(budget); }

  /// Returns the bounds on every plan within the budget, with the costs that count here. `steps`
  /// says where it is fullest.
  Plan boundsAt(const std::vector<OpIndex> &steps) {
    Plan plan;
    plan.status = Status::Feasible;
    plan.steps = steps;
    plan.cost = profile(graph, steps).cost;
    plan.costLowerBound = graph.baseCost();
    plan.bound = "every op once";
    certify(graph, search, frontier, {}, plan);
    return plan;
  }

private:
  const Problem problem;
  Graph graph;
  BudgetSearch search;
  Frontier frontier;
};

/// A placed plan and the time at which it ends.
struct Timed {
  Plan plan;
  int64_t time = INT64_MAX;
};
using TimedPlan = std::shared_ptr<const Timed>;

class OverlapSearch {
public:
  OverlapSearch(const Problem &problem, const OverlapOptions &options)
      : problem(problem), graph(problem, options.cancellation), asItIs(problem, false, options),
        hidden(problem, true, options), compute(computeOnce()) {}

  /// Returns null where no plan was found.
  TimedPlan within(int64_t budget);
  TimedPlan improved(const Plan &start, int64_t budget);
  void certify(Plan &plan);

private:
  int64_t computeOnce() const;
  int64_t longestChain() const;
  int64_t footprintOf(int64_t arena) const { return graph.residentBytes() + arena; }
  std::optional<OverlappedOrder> reorder(const Plan &start, int64_t window, int64_t budget) const;
  TimedPlan searchAt(int64_t budget);
  TimedPlan timed(const std::vector<OpIndex> &steps, int64_t budget,
                  std::span<const StepSpan> spans) const;
  std::vector<int64_t> samples();
  TimedPlan bestFrom(llvm::ArrayRef<int64_t> samples);

  const Problem &problem;
  Graph graph;
  OneResource asItIs, hidden;
  const int64_t compute; // cost of every op of Compute once
};

} // namespace

int64_t OverlapSearch::computeOnce() const {
  int64_t sum = 0;
  for (const Op &op : problem.ops)
    sum += op.resource == Resource::Compute ? op.cost : 0;
  return sum;
}

/// Returns the longest chain. Reads wait for writes, whatever the resources, except for values that
/// only order ops.
int64_t OverlapSearch::longestChain() const {
  std::vector<int64_t> ready(problem.values.size(), 0);
  int64_t longest = 0;
  for (const Op &op : problem.ops) {
    int64_t end = 0;
    for (ValueIndex value : op.reads)
      end = std::max(end, ready[value]);
    end += op.cost;
    for (ValueIndex value : op.writes)
      if (!problem.values[value].orderOnly)
        ready[value] = end;
    longest = std::max(longest, end);
  }
  return longest;
}

TimedPlan OverlapSearch::timed(const std::vector<OpIndex> &steps, int64_t budget,
                               std::span<const StepSpan> spans) const {
  auto result = std::make_shared<Timed>();
  result->plan.steps = steps;
  PackOptions pack;
  pack.alignment = std::max<int64_t>(problem.alignment, 1);
  if (budget < INT64_MAX)
    pack.capacity = std::max<int64_t>(0, budget - graph.residentBytes());
  pack.cancellation = graph.cancellation();
  placeSteps(problem, result->plan, pack, spans);
  result->time = timeOf(problem, result->plan);
  return result;
}

/// Returns an order within the budget that moves steps by the window at most. The bytes are
/// modelled while it is made; where the order holds more than that, it is made again with less
/// capacity.
std::optional<OverlappedOrder> OverlapSearch::reorder(const Plan &start, int64_t window,
                                                      int64_t budget) const {
  const int64_t padding = graph.topPadding();
  const int64_t most = budget > INT64_MAX - padding ? budget : budget + padding;
  constexpr int mostRepairs = 4;
  int64_t capacity = most;
  for (int repair = 0; repair < mostRepairs; ++repair) {
    OverlappedOrder order = overlap(graph, start.steps, {window, capacity});
    const int64_t peak = profile(graph, order.steps).peak;
    if (peak <= most)
      return order;
    capacity -= peak - most;
  }
  return std::nullopt;
}

/// Reorders `start` with windows of many lengths and keeps the order that ends first within the
/// budget. Orders are placed by their times without shared bytes, which sharing can only raise.
TimedPlan OverlapSearch::improved(const Plan &start, int64_t budget) {
  TimedPlan best = std::make_shared<Timed>(Timed{start, timeOf(problem, start)});
  std::vector<OverlappedOrder> orders;
  constexpr int finest = 12, step = 2;
  for (int fineness = 0; fineness <= finest; fineness += step)
    if (std::optional<OverlappedOrder> order = reorder(start, compute >> fineness, budget))
      orders.push_back(std::move(*order));
  llvm::stable_sort(
      orders, [](const OverlappedOrder &a, const OverlappedOrder &b) { return a.time < b.time; });
  for (const OverlappedOrder &order : orders) {
    if (order.time >= best->time)
      break;
    for (std::span<const StepSpan> spans : {std::span(order.spans), std::span<const StepSpan>()}) {
      TimedPlan other = timed(order.steps, budget, spans);
      if (footprintOf(other->plan.arena) <= budget && other->time < best->time)
        best = std::move(other);
    }
  }
  return best;
}

/// Returns the best plan of both ways to count the link. A plan with less compute work than that of
/// `hidden` would have to be used at every larger budget too, but the searches of those budgets do
/// not find it. So it is left out.
TimedPlan OverlapSearch::searchAt(int64_t budget) {
  std::shared_ptr<const Plan> cheapest = hidden.at(budget), other = asItIs.at(budget);
  TimedPlan best = cheapest ? improved(*cheapest, budget) : nullptr;
  TimedPlan found = other ? improved(*other, budget) : nullptr;
  if (found && (!cheapest || found->time >= cheapest->cost) && (!best || found->time < best->time))
    best = std::move(found);
  return best;
}

/// Returns budgets that depend on the problem alone, the highest first. Some are above the
/// footprint of the plan without recomputation, where there is room to move collectives; there are
/// eight to each halving of its arena.
std::vector<int64_t> OverlapSearch::samples() {
  const int64_t most = asItIs.at(INT64_MAX)->arena;
  std::vector<int64_t> samples;
  for (int64_t eighths : {32, 16, 12, 10, 9, 8})
    if (most <= INT64_MAX / 32)
      samples.push_back(footprintOf(most / 8 * eighths + most % 8));
  constexpr double step = 0.917004043204671; // 2^(-1/8)
  for (double arena = step * double(most); arena >= 1; arena *= step)
    samples.push_back(footprintOf(int64_t(arena)));
  return samples;
}

/// Returns the best plan of a sample and all below it, highest sample first. No lower sample is
/// better once the compute work alone takes as long as the best plan.
TimedPlan OverlapSearch::bestFrom(llvm::ArrayRef<int64_t> samples) {
  TimedPlan best;
  auto keep = [&](TimedPlan found) {
    if (found && (!best || found->time < best->time))
      best = std::move(found);
  };
  for (int64_t sample : samples) {
    std::shared_ptr<const Plan> cheapest = hidden.at(sample);
    if (best && cheapest && cheapest->cost >= best->time)
      return best;
    TimedPlan found = searchAt(sample);
    if (!found)
      break;
    keep(std::move(found));
  }
  return best;
}

/// Returns the plan within a budget. A sample's search sees no other budget, and a plan is an
/// answer for every budget above its sample, so a larger sample has all answers of a smaller one.
/// Between two samples the answer is bisected as in Frontier.h, and each plan is used only if its
/// time lies between those of both ends.
TimedPlan OverlapSearch::within(int64_t budget) {
  TimedPlan found = planWithin(
      budget, samples(), /*mostHalvings=*/4,
      [&](llvm::ArrayRef<int64_t> below) { return bestFrom(below); },
      [&](int64_t middle) { return searchAt(middle); });
  return found ? found : searchAt(budget);
}

void OverlapSearch::certify(Plan &plan) {
  const Plan work = asItIs.boundsAt(plan.steps), computeWork = hidden.boundsAt(plan.steps);
  plan.costLowerBound = work.costLowerBound;
  plan.costBasis = work.costBasis;
  plan.bound = work.bound;
  plan.peakBasis = work.peakBasis;
  plan.peakLowerBound = std::max(problem.residentBytes(), work.peakLowerBound - paddingOf(problem));
  plan.time->lowerBound = std::max({computeWork.costLowerBound, (work.costLowerBound + 1) / 2,
                                    graph.baseCost() - compute, longestChain()});
}

//===----------------------------------------------------------------------===//
// The entry
//===----------------------------------------------------------------------===//

/// Fills what a placed and timed plan of one resource does not say about several.
static Plan describe(const Problem &problem, OverlapSearch &search, const Timed &found) {
  Plan plan = found.plan;
  plan.status = Status::Feasible;
  plan.baseCost = 0;
  for (const Op &op : problem.ops)
    plan.baseCost += op.cost;
  plan.cost = 0;
  for (OpIndex op : plan.steps)
    plan.cost += problem.ops[op].cost;
  retime(problem, plan);
  search.certify(plan);
  return plan;
}

Plan llmmem::planning::planOverlapped(const Problem &problem, const OverlapOptions &options) {
  OverlapSearch search(problem, options);
  const bool isBudgeted = options.policy == PolicyKind::Budget && problem.budget;
  TimedPlan found = isBudgeted ? search.within(*problem.budget) : nullptr;
  if (!found) {
    Plan start = options.planOneResource(onOneResource(problem, /*linkIsFree=*/false));
    if (start.status != Status::Feasible) { // bounds on bytes are true for several resources, too
      retime(problem, start);
      return start;
    }
    int64_t budget = problem.budget.value_or(INT64_MAX);
    if (options.policy == PolicyKind::LeastPeak)
      budget = problem.residentBytes() + start.arena;
    found = search.improved(start, budget);
  }
  return describe(problem, search, *found);
}

void llmmem::planning::retime(const Problem &problem, Plan &plan) {
  std::vector<OpIndex> once;
  for (OpIndex op = 0; op < static_cast<OpIndex>(problem.ops.size()); ++op)
    if (!problem.ops[op].optional)
      once.push_back(op);
  if (!plan.time)
    plan.time.emplace();
  plan.time->time = plan.steps.empty() ? 0 : timeOf(problem, plan);
  plan.time->base = timeWithoutSharing(problem, once);
}

int64_t llmmem::planning::leastDuration(const Problem &problem) {
  ResourceClock work;
  int64_t most = 0;
  for (const Op &op : problem.ops)
    most = std::max(most, work.of(op.resource) += op.optional ? 0 : op.cost);
  return most;
}

bool llmmem::planning::hasSeveralResources(const Problem &problem) {
  return llvm::any_of(problem.ops,
                      [&](const Op &op) { return op.resource != problem.ops.front().resource; });
}
