//===- ScheduleOracle.h - Small problems, and all of their schedules --------------===//
//
// `makeRandom` draws problems with in-place results, workspaces, several results, kept values and
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
  auto draw = [&](int32_t low,
                  int32_t high) { // inclusive; the standard distributions differ by library
    return low + static_cast<int32_t>(random() % static_cast<uint32_t>(high - low + 1));
  };
  Problem problem;
  auto value = [&](bool resident = false) {
    problem.values.push_back(
        {int64_t(problem.values.size()), draw(0, 9) ? draw(1, 8) : 0, resident, ""});
    return static_cast<ValueIndex>(problem.values.size()) - 1;
  };
  int32_t inputs = draw(0, 2);
  for (int32_t index = 0; index < inputs; ++index)
    value(draw(0, 2) == 0);
  int32_t count = draw(2, mostOps);
  for (int32_t index = 0; index < count; ++index) {
    Op op;
    op.id = index;
    op.cost = draw(0, 6);
    op.workspace = draw(0, 3) ? 0 : draw(1, 4);
    op.recompute = draw(0, 7) != 0;
    int32_t reads = std::min<int32_t>(draw(0, 3), static_cast<int32_t>(problem.values.size()));
    for (int32_t read = 0; read < reads; ++read) {
      int32_t last = static_cast<int32_t>(problem.values.size()) - 1;
      ValueIndex chosen = draw(0, 1) ? draw(std::max(0, last - 3), last) : draw(0, last);
      if (!llvm::is_contained(op.reads, chosen))
        op.reads.push_back(chosen);
    }
    int32_t writes = draw(0, 4) ? 1 : draw(0, 2);
    for (int32_t write = 0; write < writes; ++write)
      op.writes.push_back(value());
    for (ValueIndex write : op.writes)
      for (ValueIndex read : op.reads)
        if (draw(0, 3) == 0)
          op.inPlace.push_back({write, read});
    problem.ops.push_back(std::move(op));
  }
  for (ValueIndex index = 0; index < ValueIndex(problem.values.size()); ++index)
    if (!problem.values[index].resident && draw(0, 5) == 0)
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

/// Least cost over all schedules that hold at most `budget`; nothing where none does. At most 31
/// values. `refused` becomes the smallest sum of bytes that did not fit.
inline std::optional<int64_t> leastCost(const Problem &problem, int64_t budget, int64_t &refused) {
  using State = std::pair<uint32_t, uint32_t>; // ops that ran, values held
  uint32_t written = 0, keep = 0, inputs = 0, all = (1u << problem.ops.size()) - 1;
  for (const Op &op : problem.ops)
    for (ValueIndex value : op.writes)
      written |= 1u << value;
  for (ValueIndex value : problem.keep)
    keep |= 1u << value;
  for (size_t value = 0; value < problem.values.size(); ++value)
    if (!(written >> value & 1))
      inputs |= 1u << value;
  int64_t resident = problem.residentBytes();
  auto bytes = [&](uint32_t values) {
    int64_t sum = 0;
    for (size_t value = 0; value < problem.values.size(); ++value)
      if ((values >> value & 1) && !problem.values[value].resident)
        sum += problem.values[value].bytes;
    return sum;
  };
  std::map<State, int64_t> best;
  std::priority_queue<std::pair<int64_t, State>, std::vector<std::pair<int64_t, State>>,
                      std::greater<>>
      open;
  auto reach = [&](uint32_t done, uint32_t held, int64_t cost) {
    auto [it, isNew] = best.try_emplace({done, held}, cost);
    if (isNew || cost < it->second) {
      it->second = cost;
      open.push({cost, {done, held}});
    }
  };
  for (uint32_t start = inputs;;
       start = (start - 1) & inputs) { // inputs that nobody reads hold nothing
    reach(0, start, 0);
    if (start == 0)
      break;
  }
  refused = INT64_MAX;
  while (!open.empty()) {
    auto [cost, state] = open.top();
    open.pop();
    auto [done, held] = state;
    if (best[state] < cost)
      continue;
    if (done == all && (keep & ~held) == 0)
      return cost;
    for (size_t index = 0; index < problem.ops.size(); ++index) {
      const Op &op = problem.ops[index];
      uint32_t reads = 0, writes = 0;
      for (ValueIndex value : op.reads)
        reads |= 1u << value;
      for (ValueIndex value : op.writes)
        writes |= 1u << value;
      if ((reads & ~held) || ((done >> index & 1) && !op.recompute) || (held & writes))
        continue; // an instance that is written again was freed before
      uint32_t there = held | writes;
      for (uint32_t after = there;; after = (after - 1) & there) {
        // Only operands and results may go at this step: what else is held is held for a later one.
        if ((held & ~reads & ~after) == 0) {
          int64_t sum =
              resident + op.workspace + bytes(there) - mostShared(problem, op, held & ~after);
          if (sum <= budget)
            reach(done | 1u << index, after, cost + op.cost);
          else
            refused = std::min(refused, sum);
        }
        if (after == 0)
          break;
      }
    }
  }
  return std::nullopt;
}

} // namespace llmmem::planning::test

#endif // LLMMEM_UNITTESTS_PLANNING_SCHEDULEORACLE_H
