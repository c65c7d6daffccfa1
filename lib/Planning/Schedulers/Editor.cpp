//===- Editor.cpp - Remove repeats from a schedule ----------------------------===//

#include "Editor.h"
#include <algorithm>

using namespace llmmem::planning;

MaxTree::MaxTree(llvm::ArrayRef<int64_t> values) : size(std::max<int32_t>(1, values.size())) {
  top.assign(4 * static_cast<size_t>(size), 0);
  pending.assign(4 * static_cast<size_t>(size), 0);
  auto build = [&](auto &&self, int32_t node, int32_t low, int32_t high) -> void {
    if (low == high) {
      top[node] = values.empty() ? 0 : values[low];
      return;
    }
    int32_t middle = (low + high) / 2;
    self(self, 2 * node, low, middle);
    self(self, 2 * node + 1, middle + 1, high);
    top[node] = std::max(top[2 * node], top[2 * node + 1]);
  };
  build(build, 1, 0, size - 1);
}

void MaxTree::add(int32_t node, int32_t low, int32_t high, int32_t from, int32_t to,
                  int64_t amount) {
  if (from <= low && high <= to) {
    top[node] += amount;
    pending[node] += amount;
    return;
  }
  int32_t middle = (low + high) / 2;
  if (from <= middle)
    add(2 * node, low, middle, from, to, amount);
  if (to > middle)
    add(2 * node + 1, middle + 1, high, from, to, amount);
  top[node] = std::max(top[2 * node], top[2 * node + 1]) + pending[node];
}

int64_t MaxTree::max(int32_t node, int32_t low, int32_t high, int32_t from, int32_t to) const {
  if (from <= low && high <= to)
    return top[node];
  int32_t middle = (low + high) / 2;
  int64_t best = INT64_MIN / 2;
  if (from <= middle)
    best = std::max(best, max(2 * node, low, middle, from, to));
  if (to > middle)
    best = std::max(best, max(2 * node + 1, middle + 1, high, from, to));
  return best + pending[node];
}

Editor::Editor(const Graph &graph, std::vector<OpIndex> list)
    : graph(graph), steps(std::move(list)), alive(steps.size(), true), firstRun(graph.numOps(), -1),
      events(graph.numValues()), sharedAt(steps.size(), 0), tree(profile(graph, steps).bytes) {
  for (int32_t step = 0; step < numSteps(); ++step) {
    const Op &op = graph.op(steps[step]);
    if (firstRun[steps[step]] < 0)
      firstRun[steps[step]] = step;
    for (ValueIndex value : op.reads)
      events[value].push_back({step, false});
    for (ValueIndex value : op.writes)
      events[value].push_back({step, true});
  }
  for (int32_t step = 0; step < numSteps(); ++step)
    if (!graph.op(steps[step]).inPlace.empty())
      sharedAt[step] = shared(step);
}

int32_t Editor::endBefore(ValueIndex value, int32_t step) const {
  const std::vector<Event> &list = events[value];
  auto it = llvm::partition_point(list, [&](Event event) { return event.step < step; });
  while (it != list.begin())
    if (--it; alive[it->step])
      return it->step; // a read of that instance, or its write if it has no reader
  return -1;
}

/// The last read of the instance current after `step`, `step` itself included; -1 without any.
int32_t Editor::lastReadFrom(ValueIndex value, int32_t step) const {
  const std::vector<Event> &list = events[value];
  auto it = llvm::partition_point(list, [&](Event event) { return event.step < step; });
  int32_t last = -1;
  bool isWrittenAgain = false;
  for (; it != list.end(); ++it) {
    if (!alive[it->step] || (it->isWrite && it->step == step))
      continue;
    if (it->isWrite) {
      isWrittenAgain = true;
      break;
    }
    last = it->step;
  }
  return graph.isKept(value) && !isWrittenAgain ? numSteps() : last;
}

/// The in-place rule, as in `profile`.
int64_t Editor::shared(int32_t step) const {
  if (!alive[step])
    return 0;
  return sharedBytes(graph, graph.op(steps[step]),
                     [&](ValueIndex value) { return lastReadFrom(value, step) == step; });
}

bool Editor::tryRemove(int32_t step, int64_t capacity) {
  if (!isRepeat(step))
    return false;
  constexpr int64_t removed = int64_t(1) << 61; // excludes a removed step from every maximum
  const Op &op = graph.op(steps[step]);
  llvm::SmallVector<Change, 8> changes;
  llvm::SmallVector<int32_t, 8> touched;
  int32_t low = step;
  for (ValueIndex value : op.writes) {
    int32_t end = endBefore(value, step);
    if (lastReadFrom(value, step) < 0 || graph.bytes(value) == 0)
      continue;
    changes.push_back({end + 1, step, graph.bytes(value)});
    low = std::min(low, end + 1);
    if (end >= 0)
      touched.push_back(end);
  }
  for (ValueIndex value : op.reads) {
    if (graph.bytes(value) == 0 || lastReadFrom(value, step) != step)
      continue;
    int32_t end = endBefore(value, step);
    changes.push_back({end + 1, step, -graph.bytes(value)});
    if (end >= 0)
      touched.push_back(end);
  }
  for (Change change : changes)
    tree.add(change.from, change.to, change.bytes);
  tree.add(step, step, -removed);
  alive[step] = false;
  for (int32_t other : touched)
    if (!graph.op(steps[other]).inPlace.empty() && alive[other]) {
      int64_t now = shared(other);
      tree.add(other, other, sharedAt[other] - now);
      std::swap(sharedAt[other], now);
      low = std::min(low, other);
    }
  if (tree.max(low, step) <= capacity)
    return true;
  alive[step] = true;
  tree.add(step, step, removed);
  for (Change change : changes)
    tree.add(change.from, change.to, -change.bytes);
  for (int32_t other : touched)
    if (!graph.op(steps[other]).inPlace.empty() && alive[other]) {
      int64_t now = shared(other);
      tree.add(other, other, sharedAt[other] - now);
      sharedAt[other] = now;
    }
  return false;
}

std::vector<OpIndex> Editor::result() const {
  std::vector<OpIndex> list;
  for (int32_t step = 0; step < numSteps(); ++step)
    if (alive[step])
      list.push_back(steps[step]);
  return list;
}

void llmmem::planning::keepWhatFits(const Graph &graph, std::vector<OpIndex> &steps,
                                    int64_t capacity) {
  dropUselessRepeats(graph, steps);
  Editor editor(graph, steps);
  std::vector<int32_t> order;
  for (int32_t step = 0; step < editor.numSteps(); ++step)
    if (editor.isRepeat(step))
      order.push_back(step);
  if (order.empty())
    return;
  llvm::stable_sort(order, [&](int32_t a, int32_t b) {
    return graph.op(editor.opAt(a)).cost > graph.op(editor.opAt(b)).cost;
  });
  bool changed = false;
  for (int32_t step : order)
    changed |= editor.tryRemove(step, capacity);
  if (!changed)
    return;
  steps = editor.result();
  dropUselessRepeats(graph, steps);
}
