//===- CopySearch.cpp - The shortest plan with copies from given schedules -------===//

#include "CopySearch.h"
#include "llmmem/Planning/Model/Schedule.h"
#include <algorithm>

using namespace llmmem::planning;

/// This number stands for no budget, and is far from overflow.
static constexpr int64_t unbounded = INT64_MAX / 4;
/// So many of the best schedules are placed. Placement rarely changes which of them is the
/// shortest.
static constexpr size_t mostPlaced = 8;

CopySearch::CopySearch(const Problem &problem, const OffloadShape &shape, const Graph &device,
                       int64_t work, int64_t packWork)
    : problem(problem), shape(shape), device(device), arenas(problem), workLeft(work),
      exchangeWork(work / 2), packWork(packWork) {}

/// Returns the budgets plus the padding of the topmost buffer, which rounded sizes count and no
/// arena holds.
Capacities CopySearch::capacities() const {
  auto capacity = [&](MemoryIndex memory, int64_t padding) {
    return std::min(problem.budgetOf(memory).value_or(unbounded), unbounded) + padding;
  };
  return {capacity(0, device.topPadding()), capacity(1, problem.alignmentOf(1) - 1)};
}

int64_t CopySearch::bestTime() const { return best.empty() ? INT64_MAX : best[0].order.time; }

std::optional<CopySearch::CopyCandidate> CopySearch::ordered(const Values &values,
                                                             std::vector<int32_t> intervals,
                                                             const CopyLimits &limits) {
  device.poll();
  if (values->cost() > limits.time)
    return std::nullopt;
  workLeft -= static_cast<int64_t>(values->steps().size());
  std::optional<CopyOrder> order = orderCopies(shape, problem, *values, intervals, limits);
  if (!order)
    return std::nullopt;
  return CopyCandidate{values, std::move(intervals), limits, std::move(*order)};
}

/// Keeps the shortest candidates. Of equal ones it prefers that with fewer copies, and then the
/// first.
void CopySearch::keep(CopyCandidate candidate) {
  auto key = [](const CopyCandidate &it) {
    return std::pair(it.order.time, it.order.steps.size());
  };
  for (const CopyCandidate &other : best)
    if (other.order.steps == candidate.order.steps)
      return;
  best.insert(llvm::upper_bound(
                  best, candidate,
                  [&](const CopyCandidate &a, const CopyCandidate &b) { return key(a) < key(b); }),
              std::move(candidate));
  if (best.size() > mostPlaced)
    best.pop_back();
}

int64_t CopySearch::mostKept() const {
  return best.size() < mostPlaced ? INT64_MAX : best.back().order.time;
}

/// Tries to start host-to-device copies as late as they may, and as early as they can.
void CopySearch::tryOne(const Values &values, const std::vector<int32_t> &intervals,
                        const Capacities &within) {
  for (int64_t ahead : {int64_t(0), unbounded})
    if (std::optional<CopyCandidate> found =
            ordered(values, intervals, {within.device, ahead, mostKept()}))
      keep(std::move(*found));
}

/// Leaves single repeats out of the best schedule, the most expensive first, so that the host holds
/// what they recompute. The schedules of two neighbouring budgets differ by the work of a block,
/// and this reaches those in between.
bool CopySearch::keepMore() {
  if (best.empty())
    return false;
  const std::vector<OpIndex> start = best[0].values->steps();
  std::vector<bool> ran(device.numOps(), false);
  std::vector<std::pair<int64_t, size_t>> repeats;
  for (size_t step = 0; step < start.size(); ++step) {
    if (ran[start[step]])
      repeats.push_back({-device.op(start[step]).cost, step});
    ran[start[step]] = true;
  }
  llvm::sort(repeats);
  const int64_t before = bestTime();
  const Capacities within = capacities();
  for (auto [cost, step] : repeats) {
    if (workLeft <= 0)
      break;
    std::vector<OpIndex> steps = start;
    steps.erase(steps.begin() + static_cast<int64_t>(step));
    dropUselessRepeats(device, steps);
    auto values = std::make_shared<EvictedValues>(shape, problem, device, std::move(steps));
    workLeft -= static_cast<int64_t>(start.size());
    if (std::optional<std::vector<int32_t>> intervals =
            values->choose(within, IdleIntervalOrder::LongestWindow))
      tryOne(values, *intervals, within);
    if (bestTime() < before)
      return true;
  }
  return false;
}

/// Tries several amounts of memory for copies in flight, which need bytes in addition to those that
/// the schedule holds: up to four times the largest value.
void CopySearch::tryAll(const Values &values, const Capacities &within) {
  for (IdleIntervalOrder first : allIdleIntervalOrders) {
    std::optional<std::vector<int32_t>> tightest = values->choose(within, first);
    if (!tightest)
      continue;
    int64_t largest = 0;
    for (int32_t interval : *tightest)
      largest = std::max(largest, values->intervals()[interval].bytes);
    for (int64_t spared : {0, 1, 2, 4}) {
      if (spared > 0 && largest == 0)
        break;
      std::optional<std::vector<int32_t>> intervals =
          spared ? values->choose({within.device - spared * largest, within.host}, first)
                 : tightest;
      if (!intervals)
        break;
      tryOne(values, *intervals, within);
    }
    if (largest == 0)
      return; // nothing has to leave
  }
}

void CopySearch::add(const std::vector<OpIndex> &steps) {
  for (const Values &other : schedules)
    if (other->steps() == steps)
      return;
  auto values = std::make_shared<EvictedValues>(shape, problem, device, steps);
  schedules.push_back(values);
  if (values->cost() < bestTime()) // the ops alone take that long
    tryAll(values, capacities());
}

/// Evicts one more value, or keeps one, as long as that makes the order shorter. This ends where
/// compute no longer waits.
bool CopySearch::descend(CopyCandidate &candidate, const Capacities &within) {
  const size_t count = candidate.values->intervals().size();
  bool isBetter = false;
  auto waits = [&] { return candidate.order.time > candidate.values->cost(); };
  for (size_t interval = 0; interval < count && workLeft > 0 && waits(); ++interval) {
    std::vector<bool> banned(count, false), wanted(count, false);
    for (int32_t taken : candidate.intervals)
      wanted[taken] = true;
    const bool wasTaken = wanted[interval];
    wanted[interval] = !wasTaken;
    banned[interval] = wasTaken;
    workLeft -= static_cast<int64_t>(candidate.values->steps().size());
    std::optional<std::vector<int32_t>> intervals =
        candidate.values->choose(within, IdleIntervalOrder::LongestWindow, banned, wanted);
    if (!intervals)
      continue;
    CopyLimits shorter = candidate.limits;
    shorter.time = candidate.order.time - 1;
    std::optional<CopyCandidate> other = ordered(candidate.values, *intervals, shorter);
    if (!other)
      continue;
    candidate = std::move(*other);
    isBetter = true;
  }
  return isBetter;
}

std::optional<Plan> CopySearch::placed(const CopyCandidate &candidate) const {
  Plan plan;
  plan.steps = candidate.order.steps;
  arenas.place(plan, packWork, device.cancellation());
  return plan;
}

/// Places a candidate. Where the bytes that fit cannot be packed, more values are evicted.
std::optional<Plan> CopySearch::repaired(CopyCandidate candidate) {
  Capacities within = capacities();
  constexpr int mostRepairs = 6;
  for (int repair = 0; repair < mostRepairs; ++repair) {
    std::optional<Plan> plan = placed(candidate);
    const MemoryIndex over = arenas.overfull(*plan);
    if (over < 0)
      return plan;
    const int64_t arena = over == 0 ? plan->arena : plan->moreMemories[0].arena;
    (over == 0 ? within.device : within.host) -=
        problem.residentBytes(over) + arena - *problem.budgetOf(over);
    std::optional<std::vector<int32_t>> intervals =
        candidate.values->choose(within, IdleIntervalOrder::LongestWindow);
    if (!intervals)
      return std::nullopt;
    std::optional<CopyCandidate> other =
        ordered(candidate.values, *intervals, {within.device, candidate.limits.ahead});
    if (!other)
      return std::nullopt;
    candidate = std::move(*other);
  }
  return std::nullopt;
}

void CopySearch::improve(Exchanges exchanges) {
  const Capacities within = capacities();
  while (keepMore())
    continue;
  std::vector<CopyCandidate> starts = best;
  for (CopyCandidate &start : starts)
    while (descend(start, within))
      keep(start);
  if (exchanges != Exchanges::None)
    exchangeAll(exchanges);
}

std::optional<Plan> CopySearch::shortest(Exchanges exchanges) {
  if (bestTime() > device.baseCost()) // otherwise nothing is shorter
    improve(exchanges);
  std::optional<Plan> found;
  for (const CopyCandidate &candidate : std::vector<CopyCandidate>(best)) {
    if (found && candidate.order.time >= found->time->time)
      break;
    std::optional<Plan> plan = repaired(candidate);
    if (plan && (!found || plan->time->time < found->time->time))
      found = std::move(plan);
  }
  return found;
}

std::optional<Plan> CopySearch::planOfLeastFootprint() const {
  std::optional<Plan> least;
  const int64_t host = capacities().host;
  for (const Values &values : schedules) {
    auto orderAt = [&](int64_t capacity) -> std::optional<CopyOrder> {
      device.poll();
      std::optional<std::vector<int32_t>> intervals =
          values->choose({capacity, host}, IdleIntervalOrder::LongestWindow);
      return intervals ? orderCopies(shape, problem, *values, *intervals, {capacity, 0})
                       : std::nullopt;
    };
    int64_t low = device.residentBytes() - 1, high = values->peak();
    while (high - low > 1) {
      const int64_t middle = low + (high - low) / 2;
      (orderAt(middle) ? high : low) = middle;
    }
    std::optional<CopyOrder> order = orderAt(high);
    if (!order)
      continue;
    Plan plan;
    plan.steps = std::move(order->steps);
    arenas.place(plan, packWork, device.cancellation());
    const MemoryIndex over = arenas.overfull(plan);
    if (over != 1 && (!least || std::pair(plan.arena, plan.time->time) <
                                    std::pair(least->arena, least->time->time)))
      least = std::move(plan);
  }
  return least;
}
