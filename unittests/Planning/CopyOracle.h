//===- CopyOracle.h - The least time with copies, by every course of events --------===//
//
// Shortest paths over states of a small problem with copies: which ops have run, which values are
// on the device and on the host, and what each resource is doing for how much longer. Whenever a
// resource is idle it may start anything that its operands and the bytes allow, or wait; values may
// be dropped at any time. Steps start at 0 or where another ends, since starting earlier only frees
// bytes earlier. Bytes are counted, not placed: no plan is shorter, and a plan of that time is
// optimal. Shares no code with the solvers.
//
// For ops of one result, without in-place pairs, at alignment 1.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_UNITTESTS_PLANNING_COPYORACLE_H
#define LLMMEM_UNITTESTS_PLANNING_COPYORACLE_H

#include "llmmem/Planning/Model/Problem.h"
#include <array>
#include <map>
#include <queue>
#include <tuple>

namespace llmmem::planning::test {

class CopyOracle {
public:
  explicit CopyOracle(const Problem &problem) : problem(problem) {
    for (const Op &op : problem.ops)
      for (ValueIndex value : op.writes)
        isWritten |= bit(value);
  }

  /// The least time; nothing where no plan fits. `mostStates` ends a search that is too long, and
  /// `gaveUp` says so.
  std::optional<int64_t> leastTime(size_t mostStates = 2000000) {
    State start;
    for (ValueIndex value = 0; value < static_cast<ValueIndex>(problem.values.size()); ++value)
      if (!(isWritten & bit(value)))
        start.there |= bit(value);
    push(start, 0);
    while (!open.empty()) {
      const auto [bound, state] = open.top();
      open.pop();
      const int64_t time = bound - left(state);
      if (time > best[state])
        continue;
      if (isDone(state))
        return time;
      if (best.size() > mostStates) {
        gaveUp = true;
        return std::nullopt;
      }
      drop(state, time);
      for (OpIndex op = 0; op < static_cast<OpIndex>(problem.ops.size()); ++op)
        begin(state, op, time);
      wait(state, time);
    }
    return std::nullopt;
  }

  bool gaveUp = false;

private:
  using Set = uint32_t;
  static Set bit(int32_t at) { return Set(1) << at; }
  /// Compute, up, down: the op that runs, and how much longer.
  struct State {
    Set ran = 0, there = 0;
    std::array<std::pair<int32_t, int64_t>, 3> running{{{-1, 0}, {-1, 0}, {-1, 0}}};
    auto key() const { return std::tie(ran, there, running); }
    bool operator<(const State &other) const { return key() < other.key(); }
  };

  static size_t laneOf(const Op &op) {
    return op.resource == Resource::DeviceToHost   ? 1
           : op.resource == Resource::HostToDevice ? 2
                                                   : 0;
  }
  /// What compute has left to do at least.
  int64_t left(const State &state) const {
    int64_t cost = 0;
    for (size_t op = 0; op < problem.ops.size(); ++op)
      if (!problem.ops[op].optional && !(state.ran & bit(op)) &&
          state.running[0].first != static_cast<int32_t>(op))
        cost += problem.ops[op].cost;
    return cost + state.running[0].second;
  }
  bool isDone(const State &state) const {
    for (size_t op = 0; op < problem.ops.size(); ++op)
      if (!problem.ops[op].optional && !(state.ran & bit(op)))
        return false;
    for (ValueIndex value : problem.keep)
      if (!(state.there & bit(value)) && !problem.values[value].resident)
        return false;
    return state.running[0].first < 0;
  }
  void push(const State &state, int64_t time) {
    const auto [at, isNew] = best.try_emplace(state, time);
    if (!isNew && at->second <= time)
      return;
    at->second = time;
    open.push({time + left(state), state});
  }
  /// What running steps read, and what they write.
  std::pair<Set, Set> inUse(const State &state) const {
    Set reads = 0, writes = 0;
    for (auto [op, more] : state.running)
      if (op >= 0) {
        for (ValueIndex value : problem.ops[op].reads)
          reads |= bit(value);
        for (ValueIndex value : problem.ops[op].writes)
          writes |= bit(value);
      }
    return {reads, writes};
  }
  int64_t bytesIn(const State &state, MemoryIndex memory) const {
    const Set held = state.there | inUse(state).second;
    int64_t bytes = 0;
    for (size_t value = 0; value < problem.values.size(); ++value)
      if (problem.values[value].memory == memory &&
          ((held & bit(value)) || problem.values[value].resident))
        bytes += problem.values[value].bytes;
    if (memory == 0 && state.running[0].first >= 0)
      bytes += problem.ops[state.running[0].first].workspace;
    return bytes;
  }
  void drop(const State &state, int64_t time) {
    const Set reads = inUse(state).first;
    for (ValueIndex value = 0; value < static_cast<ValueIndex>(problem.values.size()); ++value)
      if ((state.there & ~reads & bit(value)) && !problem.values[value].resident) {
        State next = state;
        next.there &= ~bit(value);
        push(next, time);
      }
  }
  void begin(const State &state, OpIndex index, int64_t time) {
    const Op &op = problem.ops[index];
    if (state.running[laneOf(op)].first >= 0 || (!op.recompute && (state.ran & bit(index))))
      return;
    for (ValueIndex value : op.reads)
      if (!(state.there & bit(value)))
        return;
    const Set writing = inUse(state).second;
    for (ValueIndex value : op.writes)
      if ((state.there | writing) & bit(value))
        return;
    State next = state;
    next.running[laneOf(op)] = {index, op.cost};
    for (MemoryIndex memory : {0, 1})
      if (bytesIn(next, memory) > problem.budgetOf(memory).value_or(INT64_MAX))
        return;
    push(next, time);
  }
  /// Until a step ends.
  void wait(const State &state, int64_t time) {
    int64_t least = INT64_MAX;
    for (auto [op, more] : state.running)
      if (op >= 0)
        least = std::min(least, more);
    if (least == INT64_MAX)
      return;
    State next = state;
    for (auto &[op, more] : next.running) {
      if (op < 0)
        continue;
      more -= least;
      if (more > 0)
        continue;
      next.ran |= problem.ops[op].optional ? 0 : bit(op);
      for (ValueIndex value : problem.ops[op].writes)
        next.there |= bit(value);
      op = -1;
      more = 0;
    }
    push(next, time + least);
  }

  const Problem &problem;
  Set isWritten = 0;
  std::map<State, int64_t> best;
  using Entry = std::pair<int64_t, State>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
};

} // namespace llmmem::planning::test

#endif // LLMMEM_UNITTESTS_PLANNING_COPYORACLE_H
