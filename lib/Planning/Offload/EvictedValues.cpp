//===- EvictedValues.cpp - Which values a schedule evicts to the host ------------===//

#include "EvictedValues.h"
#include "Schedulers/Editor.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace llmmem::planning;

EvictedValues::EvictedValues(const OffloadShape &shape, const Problem &problem, const Graph &device,
                             std::vector<OpIndex> steps)
    : shape(shape), problem(problem), device(device), order(std::move(steps)),
      held(profile(device, order).bytes), starts(1, 0) {
  for (OpIndex op : order)
    starts.push_back(starts.back() + device.op(op).cost);
  const auto count = static_cast<int32_t>(order.size());
  std::vector<std::vector<int32_t>> uses(device.numValues()); // of the latest instance
  int32_t instances = 0;
  auto end = [&](ValueIndex value) {
    if (!uses[value].empty())
      addIdleIntervals(instances++, shape.copyOf[value], uses[value]);
    uses[value].clear();
  };
  for (int32_t step = 0; step < count; ++step) {
    for (ValueIndex value : device.op(order[step]).reads)
      if (shape.copyOf[value] >= 0)
        uses[value].push_back(step);
    for (ValueIndex value : device.op(order[step]).writes)
      if (shape.copyOf[value] >= 0) {
        end(value);
        uses[value].push_back(step);
      }
  }
  for (ValueIndex value = 0; value < device.numValues(); ++value) {
    if (device.isKept(value) && !uses[value].empty())
      uses[value].push_back(count);
    end(value);
  }
  rankIdleIntervals();
}

void EvictedValues::rankIdleIntervals() {
  for (IdleIntervalOrder first : allIdleIntervalOrders) {
    std::vector<int32_t> &order = ranked[static_cast<size_t>(first)];
    order.resize(all.size());
    std::iota(order.begin(), order.end(), 0);
    llvm::stable_sort(
        order, [&](int32_t a, int32_t b) { return rankOf(all[a], first) < rankOf(all[b], first); });
  }
}

void EvictedValues::addIdleIntervals(int32_t instance, int32_t copy,
                                     const std::vector<int32_t> &uses) {
  const ValueIndex value = shape.copies[copy].value;
  const auto hostAlignment = static_cast<uint64_t>(problem.alignmentOf(1));
  for (size_t use = 1; use < uses.size(); ++use)
    if (uses[use] > uses[use - 1] + 1)
      all.push_back(
          {copy, instance, uses.front(), uses[use - 1], uses[use], device.bytes(value),
           static_cast<int64_t>(llvm::alignTo(problem.values[value].bytes, hostAlignment)),
           starts[uses[use]] - starts[uses[use - 1] + 1]});
}

int64_t EvictedValues::peak() const {
  return held.empty() ? device.residentBytes() : *llvm::max_element(held);
}

/// Returns the rank of an interval in this order. The one of the least rank is taken first.
int64_t EvictedValues::rankOf(const IdleInterval &interval, IdleIntervalOrder first) const {
  const CopyPair &copy = shape.copies[interval.copy];
  const int64_t time = problem.ops[copy.up].cost + problem.ops[copy.down].cost;
  switch (first) {
  case IdleIntervalOrder::LongestWindow:
    return time - interval.window;
  case IdleIntervalOrder::MostBytes:
    return -interval.bytes;
  case IdleIntervalOrder::ShortestCopy:
    return time;
  }
  return 0;
}

namespace {
/// Returns the first of the steps that hold the most bytes.
int32_t fullestStep(const MaxTree &tree, int32_t count) {
  const int64_t most = tree.max(0, count - 1);
  int32_t low = 0, high = count - 1;
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    if (tree.max(low, middle) == most)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/// Keeps the bytes of both memories at each step up to date while intervals are taken and dropped
/// again.
class BothSides {
public:
  BothSides(const EvictedValues &values, const Capacities &capacities, int64_t hostResident)
      : capacities(capacities), count(values.steps().size()), device(values.bytes()),
        host(std::vector<int64_t>(count + 1, hostResident)) {}

  bool isFull() const { return device.max(0, count - 1) > capacities.device; }
  int32_t fullest() const { return fullestStep(device, count); }
  /// Returns whether the host has room for the instance from its writer on, since the copy may
  /// start that early.
  bool hostTakes(const IdleInterval &interval) const {
    return host.max(interval.written, interval.back) <= capacities.host - interval.hostBytes;
  }
  bool hostFits() const { return host.max(0, count) <= capacities.host; }
  bool fitsWithout(const IdleInterval &interval) const {
    return device.max(interval.leaves + 1, interval.back - 1) <= capacities.device - interval.bytes;
  }
  void take(const IdleInterval &interval, int sign = 1) {
    device.add(interval.leaves + 1, interval.back - 1, -sign * interval.bytes);
    host.add(interval.written, interval.back, sign * interval.hostBytes);
  }

private:
  const Capacities capacities;
  const int32_t count;
  MaxTree device, host;
};
} // namespace

std::optional<std::vector<int32_t>> EvictedValues::choose(const Capacities &capacities,
                                                          IdleIntervalOrder first,
                                                          const std::vector<bool> &banned,
                                                          const std::vector<bool> &wanted) const {
  if (steps().empty())
    return std::vector<int32_t>();
  BothSides sides(*this, capacities, problem.residentBytes(1));
  std::vector<int32_t> taken;
  std::vector<bool> isOut = banned; // neither taken nor to be taken
  isOut.resize(all.size(), false);
  auto take = [&](int32_t interval) {
    sides.take(all[interval]);
    taken.push_back(interval);
    isOut[interval] = true;
  };
  const std::vector<int32_t> &byRank = ranked[static_cast<size_t>(first)];
  if (!wanted.empty())
    for (int32_t interval : byRank)
      if (wanted[interval] && sides.hostTakes(all[interval]))
        take(interval);
  const size_t fixed = taken.size();
  while (sides.isFull()) {
    const int32_t step = sides.fullest();
    const auto found = llvm::find_if(byRank, [&](int32_t interval) {
      return all[interval].leaves < step && step < all[interval].back && !isOut[interval] &&
             sides.hostTakes(all[interval]);
    });
    if (found == byRank.end())
      return std::nullopt;
    take(*found);
  }
  // An interval that was taken early may no longer be needed.
  for (size_t at = fixed; at < taken.size();) {
    if (!sides.fitsWithout(all[taken[at]])) {
      ++at;
      continue;
    }
    sides.take(all[taken[at]], -1);
    taken.erase(taken.begin() + at);
  }
  return taken;
}

bool EvictedValues::fits(const std::vector<int32_t> &intervals,
                         const Capacities &capacities) const {
  BothSides sides(*this, capacities, problem.residentBytes(1));
  for (int32_t interval : intervals)
    sides.take(all[interval]);
  return !sides.isFull() && sides.hostFits();
}
