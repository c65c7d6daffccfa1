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
  rangesBefore.clear();
  runsBefore.clear();
  level.resize(order.size() + 1);
  held.resize(order.size());
  over.resize(order.size());
  for (ValueIndex value = 0; value < graph.numValues(); ++value)
    if (graph.writer(value) < 0 && !ranges[value].empty() && ranges[value][0].last != unread)
      level[0] += graph.bytes(value);
  measure(0, numSteps() - 1);
}

void ScheduleMove::measure(int32_t first, int32_t last) {
  for (int32_t step = first; step <= last; ++step) {
    const Run &here = runs[order[step]];
    held[step] = level[step] + here.peakAdded;
    over[step] = excessOf(held[step]);
    level[step + 1] = level[step] + here.netAdded;
  }
}

void ScheduleMove::setTarget(int64_t bytes) { setTarget(bytes, INT64_MAX, 1); }

void ScheduleMove::setTarget(int64_t bytes, int64_t lower, int64_t steep) {
  target = bytes - graph.residentBytes();
  lowerTarget = lower - graph.residentBytes();
  steepness = steep;
  excessNow = 0;
  for (int32_t step = 0; step < numSteps(); ++step)
    excessNow += over[step] = excessOf(held[step]);
}

int64_t ScheduleMove::peak() const {
  return graph.residentBytes() + (held.empty() ? 0 : *llvm::max_element(held));
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
  return id == run ? 2 * int64_t(gap) - 1 : 2 * int64_t(runs[id].step);
}

/// Computes the live ranges of `value` after the move. Returns false where a read precedes every
/// write.
bool ScheduleMove::deriveRanges(ValueIndex value) {
  OpIndex writer = graph.writer(value);
  sorted.clear();
  for (int32_t id : uses[value])
    if (id != run || gap >= 0)
      sorted.push_back(id);
  if (run >= 0 && from < 0)
    sorted.push_back(run); // not yet among the uses
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
  rangesBefore.push_back({value, ranges[value]});
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
  if (id < 0 || llvm::any_of(runsBefore, [&](auto &other) { return other.first == id; }))
    return;
  runsBefore.push_back({id, runs[id]});
  setUsage(runs[id], id);
  if (id != run) {
    low = std::min(low, runs[id].step);
    high = std::max(high, runs[id].step);
  }
}

/// Calls `function` for the runs of the steps from `low` to `high` after the move.
template <typename Function>
void ScheduleMove::forEachNew(Function function) const {
  int32_t step = low;
  auto upTo = [&](int32_t end) {
    for (; step < end; ++step)
      function(order[step]);
  };
  auto enter = [&] {
    upTo(gap);
    function(run);
  };
  if (gap >= 0 && (from < 0 || gap <= from))
    enter();
  if (from >= 0) {
    upTo(from);
    ++step;
    if (gap > from)
      enter();
  }
  upTo(high + 1);
}

std::optional<ScheduleMove::Effect> ScheduleMove::evaluate(int32_t id, int32_t leaves,
                                                           int32_t enters) {
  run = id, from = leaves, gap = enters;
  low = std::min(from < 0 ? gap : from, gap < 0 ? from : gap);
  high = std::max(from, gap - 1);
  low = std::min(low, high); // an insertion also reevaluates the step before it
  low = std::max(low, 0);
  const Op &op = graph.op(runs[run].op);
  for (const std::vector<ValueIndex> *list : {&op.reads, &op.writes})
    for (ValueIndex value : *list)
      if (!deriveRanges(value)) {
        reject();
        return std::nullopt;
      }
  for (auto &[value, before] : rangesBefore) {
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
  if (from < 0)
    updateRun(run);
  effect = {};
  if (from < 0)
    effect.cost = op.cost;
  else if (gap < 0)
    effect.cost = -op.cost;
  for (int32_t step = low; step <= high; ++step)
    effect.excess -= over[step];
  int64_t live = level[low];
  forEachNew([&](int32_t other) {
    effect.excess += excessOf(live + runs[other].peakAdded);
    live += runs[other].netAdded;
  });
  return effect;
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
  for (auto &[value, before] : rangesBefore)
    ranges[value] = std::move(before);
  for (auto &[id, before] : runsBefore)
    runs[id] = before;
  rangesBefore.clear();
  runsBefore.clear();
  if (from < 0)
    freeIds.push_back(run);
  run = -1;
}

void ScheduleMove::accept() {
  costNow += effect.cost;
  excessNow += effect.excess;
  int32_t last = high;
  if (from >= 0 && gap >= 0) {
    if (gap > from)
      std::rotate(order.begin() + from, order.begin() + from + 1, order.begin() + gap);
    else
      std::rotate(order.begin() + gap, order.begin() + from, order.begin() + from + 1);
  } else {
    const Op &op = graph.op(runs[run].op);
    bool isNew = from < 0;
    for (const std::vector<ValueIndex> *list : {&op.reads, &op.writes})
      for (ValueIndex value : *list) {
        if (isNew)
          uses[value].push_back(run);
        else
          uses[value].erase(llvm::find(uses[value], run));
      }
    timesRun[runs[run].op] += isNew ? 1 : -1;
    if (isNew) {
      order.insert(order.begin() + gap, run);
    } else {
      order.erase(order.begin() + from);
      freeIds.push_back(run);
    }
    held.resize(order.size());
    over.resize(order.size());
    level.resize(order.size() + 1);
    last = numSteps() - 1;
  }
  for (int32_t step = low; step <= last; ++step)
    runs[order[step]].step = step;
  measure(low, last);
  rangesBefore.clear();
  runsBefore.clear();
  run = -1;
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
