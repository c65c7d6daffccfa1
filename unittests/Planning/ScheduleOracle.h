//===- ScheduleOracle.h - Small problems, and all of their schedules --------------===//
//
// `makeRandom` samples problems with in-place results, workspaces, several results, kept values and
// ops that must run once. `leastCost` tries every schedule in the plainest way: it shares no code
// and no trick with the solvers.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_UNITTESTS_PLANNING_SCHEDULEORACLE_H
#define LLMMEM_UNITTESTS_PLANNING_SCHEDULEORACLE_H

#include "llmmem/Planning/Model/Problem.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <map>
#include <queue>
#include <random>
#include <set>

namespace llmmem::planning::test {

inline Problem makeRandom(uint32_t seed, int32_t mostOps) {
  std::mt19937 random(seed);
  auto uniform = [&](int32_t low,
                     int32_t high) { // inclusive; the standard distributions differ by library
    return low + static_cast<int32_t>(random() % static_cast<uint32_t>(high - low + 1));
  };
  Problem problem;
  auto value = [&](bool resident = false) {
    problem.values.push_back(
        {int64_t(problem.values.size()), uniform(0, 9) ? uniform(1, 8) : 0, resident, ""});
    return static_cast<ValueIndex>(problem.values.size()) - 1;
  };
  int32_t inputs = uniform(0, 2);
  for (int32_t index = 0; index < inputs; ++index)
    value(uniform(0, 2) == 0);
  int32_t count = uniform(2, mostOps);
  for (int32_t index = 0; index < count; ++index) {
    Op op;
    op.id = index;
    op.cost = uniform(0, 6);
    op.workspace = uniform(0, 3) ? 0 : uniform(1, 4);
    op.recompute = uniform(0, 7) != 0;
    int32_t reads = std::min<int32_t>(uniform(0, 3), static_cast<int32_t>(problem.values.size()));
    for (int32_t read = 0; read < reads; ++read) {
      int32_t last = static_cast<int32_t>(problem.values.size()) - 1;
      ValueIndex chosen = uniform(0, 1) ? uniform(std::max(0, last - 3), last) : uniform(0, last);
      if (!llvm::is_contained(op.reads, chosen))
        op.reads.push_back(chosen);
    }
    int32_t writes = uniform(0, 4) ? 1 : uniform(0, 2);
    for (int32_t write = 0; write < writes; ++write)
      op.writes.push_back(value());
    for (ValueIndex write : op.writes)
      for (ValueIndex read : op.reads)
        if (uniform(0, 3) == 0)
          op.inPlace.push_back({write, read});
    problem.ops.push_back(std::move(op));
  }
  for (ValueIndex index = 0; index < ValueIndex(problem.values.size()); ++index)
    if (!problem.values[index].resident && uniform(0, 5) == 0)
      problem.keep.push_back(index);
  return problem;
}

/// The most bytes that the results of `op` can take from the operands in `dying`, by trying every
/// assignment.
inline int64_t mostShared(const Problem &problem, const Op &op, uint32_t dying, size_t pair = 0,
                          uint32_t taken = 0) {
  if (pair == op.inPlace.size())
    return 0;
  int64_t best = mostShared(problem, op, dying, pair + 1, taken);
  auto [write, read] = op.inPlace[pair];
  uint32_t both = 1u << write | 1u << read;
  const Value &source = problem.values[read], &result = problem.values[write];
  if ((dying >> read & 1) && !source.resident && !(taken & both) && result.bytes <= source.bytes)
    best = std::max(best, result.bytes + mostShared(problem, op, dying, pair + 1, taken | both));
  return best;
}

/// Searches all schedules of a problem with at most 31 values that hold at most `budget`.
class ScheduleOracle {
public:
  ScheduleOracle(const Problem &problem, int64_t budget) : problem(problem), budget(budget) {
    for (const Op &op : problem.ops) {
      reads.push_back(maskOf(op.reads));
      writes.push_back(maskOf(op.writes));
    }
  }

  /// The least cost; nothing where no schedule fits.
  std::optional<int64_t> leastCost() {
    reachInputs();
    const uint32_t keep = maskOf(problem.keep), all = (1u << problem.ops.size()) - 1;
    while (!open.empty()) {
      auto [cost, state] = open.top();
      open.pop();
      auto [done, held] = state;
      if (best[state] < cost)
        continue;
      if (done == all && (keep & ~held) == 0)
        return cost;
      for (size_t op = 0; op < problem.ops.size(); ++op)
        runOp(state, op, cost);
    }
    return std::nullopt;
  }

  int64_t refused = INT64_MAX; // the smallest sum of bytes that did not fit

private:
  using State = std::pair<uint32_t, uint32_t>; // ops that ran, values held
  using Entry = std::pair<int64_t, State>;

  static uint32_t maskOf(const std::vector<ValueIndex> &values) {
    uint32_t mask = 0;
    for (ValueIndex value : values)
      mask |= 1u << value;
    return mask;
  }

  int64_t bytes(uint32_t values) const {
    int64_t sum = 0;
    for (size_t value = 0; value < problem.values.size(); ++value)
      if ((values >> value & 1) && !problem.values[value].resident)
        sum += problem.values[value].bytes;
    return sum;
  }

  void reach(State state, int64_t cost) {
    auto [it, isNew] = best.try_emplace(state, cost);
    if (isNew || cost < it->second) {
      it->second = cost;
      open.push({cost, state});
    }
  }

  /// Any subset of the inputs may be held at first: one without readers holds nothing.
  void reachInputs() {
    uint32_t inputs = 0, written = 0;
    for (uint32_t values : writes)
      written |= values;
    for (size_t value = 0; value < problem.values.size(); ++value)
      if (!(written >> value & 1))
        inputs |= 1u << value;
    for (uint32_t start = inputs;; start = (start - 1) & inputs) {
      reach({0, start}, 0);
      if (start == 0)
        break;
    }
  }

  void runOp(State state, size_t index, int64_t cost) {
    auto [done, held] = state;
    const Op &op = problem.ops[index];
    if ((reads[index] & ~held) || ((done >> index & 1) && !op.recompute) || (held & writes[index]))
      return; // an instance that is written again was freed before
    const uint32_t during = held | writes[index];
    for (uint32_t after = during;; after = (after - 1) & during) {
      // Only operands and results may be freed at this step: other values are held for a later one.
      if ((held & ~reads[index] & ~after) == 0) {
        const int64_t sum = problem.residentBytes() + op.workspace + bytes(during) -
                            mostShared(problem, op, held & ~after);
        if (sum <= budget)
          reach({done | 1u << index, after}, cost + op.cost);
        else
          refused = std::min(refused, sum);
      }
      if (after == 0)
        break;
    }
  }

  const Problem &problem;
  const int64_t budget;
  std::vector<uint32_t> reads, writes; // by op
  std::map<State, int64_t> best;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
};

/// Least cost over all schedules that hold at most `budget`; nothing where none does. `refused`
/// becomes the smallest sum of bytes that did not fit.
inline std::optional<int64_t> leastCost(const Problem &problem, int64_t budget, int64_t &refused) {
  ScheduleOracle oracle(problem, budget);
  std::optional<int64_t> cost = oracle.leastCost();
  refused = oracle.refused;
  return cost;
}

} // namespace llmmem::planning::test

#endif // LLMMEM_UNITTESTS_PLANNING_SCHEDULEORACLE_H
