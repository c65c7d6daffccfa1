//===- CopyExchange.cpp - Recomputing instead of copying, and vice versa ----------===//
//
// Schedules of the device recompute what is cheapest without a link: often all that several layers
// in a row saved, where copies of every other layer would overlap compute better. So, starting from
// the best plan and from the schedule that recomputes nothing, single values are recomputed instead
// of copied, or copied instead of recomputed, as long as that makes the plan shorter.
//
//===----------------------------------------------------------------------===//

#include "CopySearch.h"
#include "llmmem/Planning/Model/Schedule.h"
#include <algorithm>

using namespace llmmem::planning;

namespace {
/// Finds the ops that must run again before the end of an idle interval to recompute its value.
class Repeats {
public:
  Repeats(const Graph &device, const std::vector<OpIndex> &steps, int32_t back)
      : device(device), steps(steps), back(back) {}

  /// Returns the writer alone, whose operands are then held until there, or together with the
  /// writers of those operands that are not held anyway. Returns nothing where one of them must not
  /// run again.
  std::optional<std::vector<OpIndex>> of(ValueIndex value, bool withOperands) {
    deep = withOperands;
    if (!add(value))
      return std::nullopt;
    return ops;
  }

private:
  static constexpr size_t mostOps = 8;

  bool add(ValueIndex value) {
    const OpIndex writer = device.writer(value);
    if (writer < 0 || !device.op(writer).recompute || ops.size() >= mostOps)
      return false;
    if (llvm::is_contained(ops, writer))
      return true;
    if (deep)
      for (ValueIndex operand : device.op(writer).reads)
        if (device.writer(operand) >= 0 && !isHeld(operand) && !add(operand))
          return false;
    ops.push_back(writer);
    return true;
  }

  /// Returns whether the instance at `back` is read from there on.
  bool isHeld(ValueIndex value) const {
    for (auto step = static_cast<size_t>(back); step < steps.size(); ++step) {
      if (llvm::is_contained(device.op(steps[step]).reads, value))
        return true;
      if (steps[step] == device.writer(value))
        return false;
    }
    return device.isKept(value);
  }

  const Graph &device;
  const std::vector<OpIndex> &steps;
  const int32_t back;
  bool deep = false;
  std::vector<OpIndex> ops;
};
} // namespace

/// Returns the shortest candidate with these steps over several amounts of memory for copies in
/// flight, and nothing where all take longer than `mostTime`.
std::optional<CopySearch::CopyCandidate> CopySearch::shortestOf(std::vector<OpIndex> steps,
                                                                int64_t mostTime) {
  dropUselessRepeats(device, steps);
  int64_t cost = 0;
  for (OpIndex op : steps)
    cost += device.op(op).cost;
  if (cost > mostTime)
    return std::nullopt;
  workLeft -= static_cast<int64_t>(steps.size());
  auto values = std::make_shared<EvictedValues>(shape, problem, device, std::move(steps));
  const Capacities within = capacities();
  std::optional<CopyCandidate> best;
  for (IdleIntervalOrder first : allIdleIntervalOrders) {
    int64_t largest = 0;
    for (int64_t spared : {0, 1, 2, 4}) {
      std::optional<std::vector<int32_t>> intervals =
          values->choose({within.device - spared * largest, within.host}, first);
      if (!intervals)
        break;
      for (int64_t ahead : {int64_t(0), INT64_MAX / 4})
        if (std::optional<CopyCandidate> found = ordered(
                values, *intervals, {within.device, ahead, best ? best->order.time - 1 : mostTime}))
          best = std::move(found);
      for (int32_t interval : *intervals)
        largest = std::max(largest, values->intervals()[interval].bytes);
      if (largest == 0)
        return best; // nothing has to leave
    }
  }
  return best;
}

/// Takes the shortest of these steps in place of `candidate` where that is shorter still.
bool CopySearch::shorten(CopyCandidate &candidate, std::vector<OpIndex> steps) {
  std::optional<CopyCandidate> other = shortestOf(std::move(steps), candidate.order.time - 1);
  if (other)
    candidate = std::move(*other);
  return other.has_value();
}

/// Recomputes the value of one idle interval instead of copying it. Values whose copies take the
/// longest are tried first.
bool CopySearch::runAgain(CopyCandidate &candidate) {
  const EvictedValues &values = *candidate.values;
  const std::vector<OpIndex> &steps = values.steps();
  std::vector<std::pair<int64_t, int32_t>> ranked;
  for (int32_t interval : candidate.intervals) {
    const CopyPair &copy = shape.copies[values.intervals()[interval].copy];
    if (values.intervals()[interval].back < static_cast<int32_t>(steps.size()))
      ranked.push_back({-problem.ops[copy.up].cost - problem.ops[copy.down].cost, interval});
  }
  llvm::sort(ranked);
  for (auto [rank, number] : ranked) {
    const IdleInterval &interval = values.intervals()[number];
    std::vector<OpIndex> triedBefore;
    for (bool withOperands : {false, true}) {
      if (workLeft <= 0)
        return false;
      std::optional<std::vector<OpIndex>> again =
          Repeats(device, steps, interval.back).of(shape.copies[interval.copy].value, withOperands);
      if (!again || *again == triedBefore)
        break;
      triedBefore = *again;
      std::vector<OpIndex> longer = steps;
      longer.insert(longer.begin() + interval.back, again->begin(), again->end());
      if (shorten(candidate, std::move(longer)))
        return true;
    }
  }
  return false;
}

/// Leaves out one repeat, the most expensive first, so that its result is held or copied instead.
bool CopySearch::copyInstead(CopyCandidate &candidate) {
  const std::vector<OpIndex> &steps = candidate.values->steps();
  std::vector<bool> ran(device.numOps(), false);
  std::vector<std::pair<int64_t, int64_t>> repeats;
  for (size_t step = 0; step < steps.size(); ++step) {
    if (ran[steps[step]])
      repeats.push_back({-device.op(steps[step]).cost, static_cast<int64_t>(step)});
    ran[steps[step]] = true;
  }
  llvm::sort(repeats);
  for (auto [cost, step] : repeats) {
    if (workLeft <= 0)
      return false;
    std::vector<OpIndex> shorter = steps;
    shorter.erase(shorter.begin() + step);
    if (shorten(candidate, std::move(shorter)))
      return true;
  }
  return false;
}

void CopySearch::exchangeAll(Exchanges exchanges) {
  workLeft = exchangeWork;
  std::vector<CopyCandidate> starts;
  if (!best.empty())
    starts.push_back(best[0]);
  if (exchanges == Exchanges::OfBestAndOnce)
    if (std::optional<CopyCandidate> once = shortestOf(givenOrder(device)))
      starts.push_back(std::move(*once));
  for (CopyCandidate &start : starts) {
    while (runAgain(start) || copyInstead(start) || descend(start, capacities()))
      continue;
    keep(start);
  }
}
