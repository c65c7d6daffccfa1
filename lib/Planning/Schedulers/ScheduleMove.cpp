//===- ScheduleMove.cpp - A schedule under annealing moves --------------------------===//

#include "ScheduleMove.h"
#include <algorithm>

using namespace llmmem::planning;

ScheduleMove::ScheduleMove(const Graph &graph, llvm::ArrayRef<OpIndex> steps)
    : graph(graph), timesRun(graph.numOps(), 0), uses(graph.numValues()),
      ranges(graph.numValues()) {
  for (OpIndex op : steps) {
    int32_t id = static_cast<int32_t>(runs.size());
    runs.push_back({op, id});
    order.push_back(id);
    ++timesRun[op];
    costNow += graph.op(op).cost;
    for (ValueIndex value : graph.op(op).reads)
      uses[value].push_back(id);
    for (ValueIndex value : graph.op(op).writes)
      uses[value].push_back(id);
  }
  for (ValueIndex value = 0; value < graph.numValues(); ++value)
    deriveRanges(value);
  for (int32_t id : order)
    setUsage(runs[id], id);
  move.rangesBefore.clear();
  move.runsBefore.clear();
  bytes.resize(order.size());
  for (ValueIndex value = 0; value < graph.numValues(); ++value)
    if (graph.writer(value) < 0 && !ranges[value].empty() && ranges[value][0].last != unread)
      bytes.level[0] += graph.bytes(value);
  measure(0, numSteps() - 1);
}

void ScheduleMove::measure(int32_t first, int32_t last) {
  for (int32_t step = first; step <= last; ++step) {
    const Run &here = runs[order[step]];
    bytes.held[step] = bytes.level[step] + here.peakAdded;
    bytes.over[step] = bytes.excessOf(bytes.held[step]);
    bytes.level[step + 1] = bytes.level[step] + here.netAdded;
  }
}

void ScheduleMove::StepBytes::resize(size_t numSteps) {
  level.resize(numSteps + 1);
  held.resize(numSteps);
  over.resize(numSteps);
}

void ScheduleMove::setTarget(int64_t most) { setTarget(most, INT64_MAX, 1); }

void ScheduleMove::setTarget(int64_t most, int64_t lower, int64_t steepness) {
  bytes.target = most - graph.residentBytes();
  bytes.lowerTarget = lower - graph.residentBytes();
  bytes.steepness = steepness;
  excessNow = 0;
  for (int32_t step = 0; step < numSteps(); ++step)
    excessNow += bytes.over[step] = bytes.excessOf(bytes.held[step]);
}

int64_t ScheduleMove::peak() const {
  return graph.residentBytes() + (bytes.held.empty() ? 0 : *llvm::max_element(bytes.held));
}

std::vector<OpIndex> ScheduleMove::steps() const {
  std::vector<OpIndex> result;
  result.reserve(order.size());
  for (int32_t id : order)
    result.push_back(runs[id].op);
  return result;
}

/// Returns a sort key for the position of a run after the move. It is even at a step and odd in a
/// gap.
int64_t ScheduleMove::keyOf(int32_t id) const {
  return id == move.run ? 2 * int64_t(move.gap) - 1 : 2 * int64_t(runs[id].step);
}

/// Computes the live ranges of `value` after the move. Returns false where a read precedes every
/// write.
bool ScheduleMove::deriveRanges(ValueIndex value) {
  OpIndex writer = graph.writer(value);
  sorted.clear();
  for (int32_t id : uses[value])
    if (id != move.run || move.gap >= 0)
      sorted.push_back(id);
  if (move.run >= 0 && move.from < 0)
    sorted.push_back(move.run); // not yet among the uses
  llvm::sort(sorted, [&](int32_t a, int32_t b) { return keyOf(a) < keyOf(b); });
  LiveRanges now;
  if (writer < 0)
    now.push_back({-1, unread});
  for (int32_t id : sorted) {
    if (runs[id].op == writer)
      now.push_back({id, unread});
    else if (now.empty())
      return false;
    else
      now.back().last = id;
  }
  if (graph.isKept(value) && !now.empty())
    now.back().last = kept;
  move.rangesBefore.push_back({value, ranges[value]});
  ranges[value] = std::move(now);
  return true;
}

void ScheduleMove::setUsage(Run &here, int32_t id) const {
  const Op &op = graph.op(here.op);
  auto dies = [&](ValueIndex value) {
    return llvm::any_of(ranges[value], [&](const LiveRange &range) { return range.last == id; });
  };
  here.peakAdded = graph.workspace(here.op);
  here.netAdded = 0;
  for (ValueIndex value : op.writes) {
    here.peakAdded += graph.bytes(value);
    for (const LiveRange &range : ranges[value])
      if (range.writer == id && range.last != unread)
        here.netAdded += graph.bytes(value);
  }
  for (ValueIndex value : op.reads)
    if (dies(value))
      here.netAdded -= graph.bytes(value);
  if (!op.inPlace.empty())
    here.peakAdded -= sharedBytes(graph, op, dies);
}

void ScheduleMove::updateRun(int32_t id) {
  if (id < 0 || llvm::any_of(move.runsBefore, [&](auto &other) { return other.first == id; }))
    return;
  move.runsBefore.push_back({id, runs[id]});
  setUsage(runs[id], id);
  if (id != move.run) {
    move.low = std::min(move.low, runs[id].step);
    move.high = std::max(move.high, runs[id].step);
  }
}

/// Calls `function` for the runs of the steps from `low` to `high` after the move.
template <typename Function>
void ScheduleMove::forEachNew(Function function) const {
  int32_t step = move.low;
  auto upTo = [&](int32_t end) {
    for (; step < end; ++step)
      function(order[step]);
  };
  auto enter = [&] {
    upTo(move.gap);
    function(move.run);
  };
  if (move.gap >= 0 && (move.from < 0 || move.gap <= move.from))
    enter();
  if (move.from >= 0) {
    upTo(move.from);
    ++step;
    if (move.gap > move.from)
      enter();
  }
  upTo(move.high + 1);
}

std::optional<ScheduleMove::Effect> ScheduleMove::evaluate(int32_t id, int32_t leaves,
                                                           int32_t enters) {
  move.run = id, move.from = leaves, move.gap = enters;
  move.low = std::min(move.from < 0 ? move.gap : move.from, move.gap < 0 ? move.from : move.gap);
  move.high = std::max(move.from, move.gap - 1);
  move.low = std::min(move.low, move.high); // an insertion also reevaluates the step before it
  move.low = std::max(move.low, 0);
  const Op &op = graph.op(runs[move.run].op);
  for (const std::vector<ValueIndex> *list : {&op.reads, &op.writes})
    for (ValueIndex value : *list)
      if (!deriveRanges(value)) {
        reject();
        return std::nullopt;
      }
  for (auto &[value, before] : move.rangesBefore) {
    const LiveRanges &now = ranges[value];
    for (const LiveRange &range : before)
      if (!llvm::is_contained(now, range)) {
        updateRun(range.writer);
        updateRun(range.last);
      }
    for (const LiveRange &range : now)
      if (!llvm::is_contained(before, range)) {
        updateRun(range.writer);
        updateRun(range.last);
      }
  }
  if (move.from < 0)
    updateRun(move.run);
  move.effect = {};
  if (move.from < 0)
    move.effect.cost = op.cost;
  else if (move.gap < 0)
    move.effect.cost = -op.cost;
  for (int32_t step = move.low; step <= move.high; ++step)
    move.effect.excess -= bytes.over[step];
  int64_t live = bytes.level[move.low];
  forEachNew([&](int32_t other) {
    move.effect.excess += bytes.excessOf(live + runs[other].peakAdded);
    live += runs[other].netAdded;
  });
  return move.effect;
}

std::optional<ScheduleMove::Effect> ScheduleMove::evaluateRelocation(int32_t id, int32_t to) {
  return evaluate(id, runs[id].step, to);
}

std::optional<ScheduleMove::Effect> ScheduleMove::evaluateRepeat(OpIndex op, int32_t at) {
  int32_t id = static_cast<int32_t>(runs.size());
  if (!freeIds.empty()) {
    id = freeIds.back();
    freeIds.pop_back();
    runs[id] = {op, -1};
  } else {
    runs.push_back({op, -1});
  }
  return evaluate(id, -1, at);
}

std::optional<ScheduleMove::Effect> ScheduleMove::evaluateRemoval(int32_t id) {
  return evaluate(id, runs[id].step, -1);
}

void ScheduleMove::reject() {
  for (auto &[value, before] : move.rangesBefore)
    ranges[value] = std::move(before);
  for (auto &[id, before] : move.runsBefore)
    runs[id] = before;
  move.rangesBefore.clear();
  move.runsBefore.clear();
  if (move.from < 0)
    freeIds.push_back(move.run);
  move.run = -1;
}

void ScheduleMove::accept() {
  costNow += move.effect.cost;
  excessNow += move.effect.excess;
  int32_t last = move.high;
  if (move.from >= 0 && move.gap >= 0) {
    if (move.gap > move.from)
      std::rotate(order.begin() + move.from, order.begin() + move.from + 1,
                  order.begin() + move.gap);
    else
      std::rotate(order.begin() + move.gap, order.begin() + move.from,
                  order.begin() + move.from + 1);
  } else {
    const Op &op = graph.op(runs[move.run].op);
    bool isNew = move.from < 0;
    for (const std::vector<ValueIndex> *list : {&op.reads, &op.writes})
      for (ValueIndex value : *list) {
        if (isNew)
          uses[value].push_back(move.run);
        else
          uses[value].erase(llvm::find(uses[value], move.run));
      }
    timesRun[runs[move.run].op] += isNew ? 1 : -1;
    if (isNew) {
      order.insert(order.begin() + move.gap, move.run);
    } else {
      order.erase(order.begin() + move.from);
      freeIds.push_back(move.run);
    }
    bytes.resize(order.size());
    last = numSteps() - 1;
  }
  for (int32_t step = move.low; step <= last; ++step)
    runs[order[step]].step = step;
  measure(move.low, last);
  move.rangesBefore.clear();
  move.runsBefore.clear();
  move.run = -1;
}

std::pair<int32_t, int32_t> ScheduleMove::range(int32_t id) const {
  const Op &op = graph.op(runs[id].op);
  int32_t here = runs[id].step, first = 0, last = numSteps() - 1;
  for (ValueIndex value : op.reads)
    for (const LiveRange &range : ranges[value])
      if (range.writer >= 0 && runs[range.writer].step < here)
        first = std::max(first, runs[range.writer].step + 1);
  for (ValueIndex value : op.writes)
    for (int32_t other : uses[value])
      if (runs[other].step > here)
        last = std::min(last, runs[other].step - 1);
  return {first, last};
}
