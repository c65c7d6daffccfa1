//===- AbsentValues.cpp - Which values a schedule evicts to the host -------------===//

#include "AbsentValues.h"
#include "Schedulers/Editor.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <numeric>

using namespace llmmem::planning;

AbsentValues::AbsentValues(const OffloadShape &shape, const Problem &problem, const Graph &device,
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
      addGaps(instances++, shape.copyOf[value], uses[value]);
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
  rankGaps();
}

void AbsentValues::rankGaps() {
  for (GapChoice first : allGapChoices) {
    std::vector<int32_t> &order = ranked[static_cast<size_t>(first)];
    order.resize(all.size());
    std::iota(order.begin(), order.end(), 0);
    llvm::stable_sort(
        order, [&](int32_t a, int32_t b) { return rankOf(all[a], first) < rankOf(all[b], first); });
  }
}

void AbsentValues::addGaps(int32_t instance, int32_t copy, const std::vector<int32_t> &uses) {
  const ValueIndex value = shape.copies[copy].value;
  const auto hostAlignment = static_cast<uint64_t>(problem.alignmentOf(1));
  for (size_t use = 1; use < uses.size(); ++use)
    if (uses[use] > uses[use - 1] + 1)
      all.push_back(
          {copy, instance, uses.front(), uses[use - 1], uses[use], device.bytes(value),
           static_cast<int64_t>(llvm::alignTo(problem.values[value].bytes, hostAlignment)),
           starts[uses[use]] - starts[uses[use - 1] + 1]});
}

int64_t AbsentValues::peak() const {
  return held.empty() ? device.residentBytes() : *llvm::max_element(held);
}

/// Returns the rank of an interval in this order. The one of the least rank is taken first.
int64_t AbsentValues::rankOf(const Gap &gap, GapChoice first) const {
  const HostCopy &copy = shape.copies[gap.copy];
  const int64_t time = problem.ops[copy.up].cost + problem.ops[copy.down].cost;
  switch (first) {
  case GapChoice::LongestWindow:
    return time - gap.window;
  case GapChoice::MostBytes:
    return -gap.bytes;
  case GapChoice::ShortestCopy:
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
  BothSides(const AbsentValues &values, const Capacities &capacities, int64_t hostResident)
      : capacities(capacities), count(values.steps().size()), device(values.bytes()),
        host(std::vector<int64_t>(count + 1, hostResident)) {}

  bool isFull() const { return device.max(0, count - 1) > capacities.device; }
  int32_t fullest() const { return fullestStep(device, count); }
  /// Returns whether the host has room for the instance from its writer on, since the copy may
  /// start that early.
  bool hostTakes(const Gap &gap) const {
    return host.max(gap.written, gap.back) <= capacities.host - gap.hostBytes;
  }
  bool hostFits() const { return host.max(0, count) <= capacities.host; }
  bool fitsWithout(const Gap &gap) const {
    return device.max(gap.leaves + 1, gap.back - 1) <= capacities.device - gap.bytes;
  }
  void take(const Gap &gap, int sign = 1) {
    device.add(gap.leaves + 1, gap.back - 1, -sign * gap.bytes);
    host.add(gap.written, gap.back, sign * gap.hostBytes);
  }

private:
  const Capacities capacities;
  const int32_t count;
  MaxTree device, host;
};
} // namespace

std::optional<std::vector<int32_t>> AbsentValues::choose(const Capacities &capacities,
                                                         GapChoice first,
                                                         const std::vector<bool> &banned,
                                                         const std::vector<bool> &wanted) const {
  if (steps().empty())
    return std::vector<int32_t>();
  BothSides sides(*this, capacities, problem.residentBytes(1));
  std::vector<int32_t> taken;
  std::vector<bool> isOut = banned; // neither taken nor to be taken
  isOut.resize(all.size(), false);
  auto take = [&](int32_t gap) {
    sides.take(all[gap]);
    taken.push_back(gap);
    isOut[gap] = true;
  };
  const std::vector<int32_t> &byRank = ranked[static_cast<size_t>(first)];
  if (!wanted.empty())
    for (int32_t gap : byRank)
      if (wanted[gap] && sides.hostTakes(all[gap]))
        take(gap);
  const size_t fixed = taken.size();
  while (sides.isFull()) {
    const int32_t step = sides.fullest();
    const auto found = llvm::find_if(byRank, [&](int32_t gap) {
      return all[gap].leaves < step && step < all[gap].back && !isOut[gap] &&
             sides.hostTakes(all[gap]);
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

bool AbsentValues::fits(const std::vector<int32_t> &gaps, const Capacities &capacities) const {
  BothSides sides(*this, capacities, problem.residentBytes(1));
  for (int32_t gap : gaps)
    sides.take(all[gap]);
  return !sides.isFull() && sides.hostFits();
}
