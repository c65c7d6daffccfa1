//===- ScheduleChange.cpp - A schedule that is changed one run at a time --------------===//

#include "ScheduleChange.h"
#include <algorithm>

using namespace llmmem::planning;

ScheduleChange::ScheduleChange(const Graph &graph, llvm::ArrayRef<OpIndex> steps)
    : graph(graph), timesRun(graph.numOps(), 0), uses(graph.numValues()), lives(graph.numValues()) {
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
    settle(value);
  for (int32_t id : order)
    setWeight(runs[id], id);
  livesBefore.clear();
  runsBefore.clear();
  level.resize(order.size() + 1);
  held.resize(order.size());
  over.resize(order.size());
  for (ValueIndex value = 0; value < graph.numValues(); ++value)
    if (graph.writer(value) < 0 && !lives[value].empty() && lives[value][0].last != unread)
      level[0] += graph.bytes(value);
  measure(0, numSteps() - 1);
}

void ScheduleChange::measure(int32_t first, int32_t last) {
  for (int32_t step = first; step <= last; ++step) {
    const Run &here = runs[order[step]];
    held[step] = level[step] + here.hill;
    over[step] = excessOf(held[step]);
    level[step + 1] = level[step] + here.rest;
  }
}

void ScheduleChange::aimAt(int64_t bytes) { aimAt(bytes, INT64_MAX, 1); }

void ScheduleChange::aimAt(int64_t bytes, int64_t lower, int64_t steep) {
  target = bytes - graph.residentBytes();
  lowerTarget = lower - graph.residentBytes();
  steepness = steep;
  excessNow = 0;
  for (int32_t step = 0; step < numSteps(); ++step)
    excessNow += over[step] = excessOf(held[step]);
}

int64_t ScheduleChange::peak() const {
  return graph.residentBytes() + (held.empty() ? 0 : *llvm::max_element(held));
}

std::vector<OpIndex> ScheduleChange::steps() const {
  std::vector<OpIndex> result;
  for (int32_t id : order)
    result.push_back(runs[id].op);
  return result;
}

/// Where a run stands, or would stand after the change: gaps are odd.
int64_t ScheduleChange::keyOf(int32_t id) const {
  return id == run ? 2 * int64_t(gap) - 1 : 2 * int64_t(runs[id].step);
}

/// Finds the instances of `value` as the change would have them; false where a read precedes every
/// write.
bool ScheduleChange::settle(ValueIndex value) {
  OpIndex writer = graph.writer(value);
  sorted.clear();
  for (int32_t id : uses[value])
    if (id != run || gap >= 0)
      sorted.push_back(id);
  if (run >= 0 && from < 0)
    sorted.push_back(run); // not yet among the uses
  llvm::sort(sorted, [&](int32_t a, int32_t b) { return keyOf(a) < keyOf(b); });
  Lives now;
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
  livesBefore.push_back({value, lives[value]});
  lives[value] = std::move(now);
  return true;
}

void ScheduleChange::setWeight(Run &here, int32_t id) const {
  const Op &op = graph.op(here.op);
  auto dies = [&](ValueIndex value) {
    return llvm::any_of(lives[value], [&](const Life &life) { return life.last == id; });
  };
  here.hill = graph.workspace(here.op);
  here.rest = 0;
  for (ValueIndex value : op.writes) {
    here.hill += graph.bytes(value);
    for (const Life &life : lives[value])
      if (life.writer == id && life.last != unread)
        here.rest += graph.bytes(value);
  }
  for (ValueIndex value : op.reads)
    if (dies(value))
      here.rest -= graph.bytes(value);
  if (!op.inPlace.empty())
    here.hill -= sharedBytes(graph, op, dies);
}

void ScheduleChange::reweigh(int32_t id) {
  if (id < 0 || llvm::any_of(runsBefore, [&](auto &other) { return other.first == id; }))
    return;
  runsBefore.push_back({id, runs[id]});
  setWeight(runs[id], id);
  if (id != run) {
    low = std::min(low, runs[id].step);
    high = std::max(high, runs[id].step);
  }
}

/// Calls `function` for the runs of the steps from `low` to `high` as the change would have them.
template <typename Function>
void ScheduleChange::forEachNew(Function function) const {
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

std::optional<ScheduleChange::Effect> ScheduleChange::weigh(int32_t id, int32_t leaves,
                                                            int32_t enters) {
  run = id, from = leaves, gap = enters;
  low = std::min(from < 0 ? gap : from, gap < 0 ? from : gap);
  high = std::max(from, gap - 1);
  low = std::min(low, high); // an insertion looks at the step before it
  low = std::max(low, 0);
  const Op &op = graph.op(runs[run].op);
  for (const std::vector<ValueIndex> *list : {&op.reads, &op.writes})
    for (ValueIndex value : *list)
      if (!settle(value)) {
        drop();
        return std::nullopt;
      }
  for (auto &[value, before] : livesBefore) {
    const Lives &now = lives[value];
    for (const Life &life : before)
      if (!llvm::is_contained(now, life)) {
        reweigh(life.writer);
        reweigh(life.last);
      }
    for (const Life &life : now)
      if (!llvm::is_contained(before, life)) {
        reweigh(life.writer);
        reweigh(life.last);
      }
  }
  if (from < 0)
    reweigh(run);
  effect = {};
  if (from < 0)
    effect.cost = op.cost;
  else if (gap < 0)
    effect.cost = -op.cost;
  for (int32_t step = low; step <= high; ++step)
    effect.excess -= over[step];
  int64_t live = level[low];
  forEachNew([&](int32_t other) {
    effect.excess += excessOf(live + runs[other].hill);
    live += runs[other].rest;
  });
  return effect;
}

std::optional<ScheduleChange::Effect> ScheduleChange::weighMove(int32_t id, int32_t to) {
  return weigh(id, runs[id].step, to);
}

std::optional<ScheduleChange::Effect> ScheduleChange::weighRepeat(OpIndex op, int32_t at) {
  int32_t id = static_cast<int32_t>(runs.size());
  if (!freeIds.empty()) {
    id = freeIds.back();
    freeIds.pop_back();
    runs[id] = {op, -1};
  } else {
    runs.push_back({op, -1});
  }
  return weigh(id, -1, at);
}

std::optional<ScheduleChange::Effect> ScheduleChange::weighRemoval(int32_t id) {
  return weigh(id, runs[id].step, -1);
}

void ScheduleChange::drop() {
  for (auto &[value, before] : livesBefore)
    lives[value] = std::move(before);
  for (auto &[id, before] : runsBefore)
    runs[id] = before;
  livesBefore.clear();
  runsBefore.clear();
  if (from < 0)
    freeIds.push_back(run);
  run = -1;
}

void ScheduleChange::take() {
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
  livesBefore.clear();
  runsBefore.clear();
  run = -1;
}

std::pair<int32_t, int32_t> ScheduleChange::range(int32_t id) const {
  const Op &op = graph.op(runs[id].op);
  int32_t here = runs[id].step, first = 0, last = numSteps() - 1;
  for (ValueIndex value : op.reads)
    for (const Life &life : lives[value])
      if (life.writer >= 0 && runs[life.writer].step < here)
        first = std::max(first, runs[life.writer].step + 1);
  for (ValueIndex value : op.writes)
    for (int32_t other : uses[value])
      if (runs[other].step > here)
        last = std::min(last, runs[other].step - 1);
  return {first, last};
}
