//===- PlacementOracle.h - All schedules with all placements of a small problem ---===//
//
// `leastPlacedCost` also tries every place for every instance: what ScheduleOracle.h says about
// live bytes, this says about arenas. It shares no code and no trick with the solvers; the two
// oracles agree wherever packing loses nothing.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_UNITTESTS_PLANNING_PLACEMENTORACLE_H
#define LLMMEM_UNITTESTS_PLANNING_PLACEMENTORACLE_H

#include "llmmem/Planning/Model/Problem.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <map>
#include <queue>

namespace llmmem::planning::test {

class PlacementOracle {
public:
  PlacementOracle(const Problem &problem, int64_t budget)
      : problem(problem), arena(budget - problem.residentBytes()) {}

  /// Least cost over all plans whose resident bytes and arena are at most the budget.
  std::optional<int64_t> leastCost() {
    std::vector<ValueIndex> inputs;
    for (ValueIndex value = 0; value < ValueIndex(problem.values.size()); ++value)
      if (!isResident(value) && !isWritten(value) && isUsed(value))
        inputs.push_back(value);
    if (arena < 0)
      return std::nullopt;
    enterInputs(inputs, 0, Places(problem.values.size(), nowhere));
    const uint32_t all = (1u << problem.ops.size()) - 1;
    while (!open.empty()) {
      auto [cost, state] = open.top();
      open.pop();
      if (best[state] < cost)
        continue;
      if (state.first == all && llvm::all_of(problem.keep, [&](ValueIndex value) {
            return isResident(value) || state.second[value] != nowhere;
          }))
        return cost;
      for (size_t op = 0; op < problem.ops.size(); ++op)
        if (problem.ops[op].recompute || !(state.first >> op & 1))
          runOp(state, op, cost + problem.ops[op].cost);
    }
    return std::nullopt;
  }

private:
  static constexpr int8_t nowhere = -1;
  using Places = std::vector<int8_t>; // by value: its byte offset
  using State = std::pair<uint32_t, Places>;
  using Entry = std::pair<int64_t, State>;

  bool isResident(ValueIndex value) const { return problem.values[value].resident; }
  bool isWritten(ValueIndex value) const {
    return llvm::any_of(problem.ops,
                        [&](const Op &op) { return llvm::is_contained(op.writes, value); });
  }
  bool isUsed(ValueIndex value) const {
    return llvm::is_contained(problem.keep, value) || llvm::any_of(problem.ops, [&](const Op &op) {
             return llvm::is_contained(op.reads, value);
           });
  }

  static bool overlap(int64_t a, int64_t sizeOfA, int64_t b, int64_t sizeOfB) {
    return a < b + sizeOfB && b < a + sizeOfA;
  }
  bool isClear(const Places &places, int64_t offset, int64_t size) const {
    for (size_t value = 0; value < places.size(); ++value)
      if (places[value] != nowhere &&
          overlap(places[value], problem.values[value].bytes, offset, size))
        return false;
    return true;
  }

  /// Calls `use` with every offset at which `size` bytes are clear of all `places`; nothing takes
  /// no place, and one is enough.
  template <typename Use>
  void atEveryPlace(const Places &places, int64_t size, Use use) const {
    for (int64_t offset = 0; offset + size <= arena; offset += problem.alignment)
      if (isClear(places, offset, size)) {
        use(static_cast<int8_t>(offset));
        if (size == 0)
          return;
      }
  }

  void enterInputs(const std::vector<ValueIndex> &inputs, size_t next, Places places) {
    if (next == inputs.size())
      return reach({0, places}, 0);
    atEveryPlace(places, problem.values[inputs[next]].bytes, [&](int8_t offset) {
      Places more = places;
      more[inputs[next]] = offset;
      enterInputs(inputs, next + 1, more);
    });
  }

  void runOp(const State &state, size_t index, int64_t cost) {
    const Op &op = problem.ops[index];
    for (ValueIndex value : op.reads)
      if (!isResident(value) && state.second[value] == nowhere)
        return;
    for (ValueIndex value : op.writes)
      if (state.second[value] != nowhere)
        return; // an instance that is written again was freed before
    writeResults(state.first | 1u << index, op, 0, state.second, state.second, cost);
  }

  /// `places` is what is occupied while the op runs; `after` what is left of it, before frees.
  void writeResults(uint32_t done, const Op &op, size_t next, Places places, Places after,
                    int64_t cost) {
    if (next == op.writes.size()) {
      if (op.workspace == 0)
        return freeTouched(done, op, after, cost);
      bool hasPlace = false;
      atEveryPlace(places, op.workspace, [&](int8_t) { hasPlace = true; });
      if (hasPlace)
        freeTouched(done, op, after, cost);
      return;
    }
    const ValueIndex result = op.writes[next];
    const int64_t size = problem.values[result].bytes;
    atEveryPlace(places, size, [&](int8_t offset) {
      Places more = places, left = after;
      more[result] = left[result] = offset;
      writeResults(done, op, next + 1, more, left, cost);
    });
    for (const InPlace &pair : op.inPlace) {
      // The operand stays in `places`, so nothing else comes there; it is gone from `after`, so
      // that no second result takes it.
      if (pair.write != result || size == 0 || isResident(pair.read) ||
          after[pair.read] == nowhere || size > problem.values[pair.read].bytes)
        continue;
      Places left = after;
      left[result] = after[pair.read];
      left[pair.read] = nowhere;
      writeResults(done, op, next + 1, places, left, cost);
    }
  }

  /// Operands and results may go at this step: what else is held is held for a later one.
  void freeTouched(uint32_t done, const Op &op, const Places &after, int64_t cost) {
    std::vector<ValueIndex> touched;
    for (const auto *list : {&op.reads, &op.writes})
      for (ValueIndex value : *list)
        if (after[value] != nowhere)
          touched.push_back(value);
    for (uint32_t freed = 0; freed < 1u << touched.size(); ++freed) {
      Places left = after;
      for (size_t bit = 0; bit < touched.size(); ++bit)
        if (freed >> bit & 1)
          left[touched[bit]] = nowhere;
      reach({done, left}, cost);
    }
  }

  void reach(const State &state, int64_t cost) {
    auto [it, isNew] = best.try_emplace(state, cost);
    if (!isNew && it->second <= cost)
      return;
    it->second = cost;
    open.push({cost, state});
  }

  const Problem &problem;
  const int64_t arena;
  std::map<State, int64_t> best;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
};

inline std::optional<int64_t> leastPlacedCost(const Problem &problem, int64_t budget) {
  return PlacementOracle(problem, budget).leastCost();
}

} // namespace llmmem::planning::test

#endif // LLMMEM_UNITTESTS_PLANNING_PLACEMENTORACLE_H
