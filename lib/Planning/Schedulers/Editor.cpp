//===- Editor.cpp - Remove repeats from a schedule ----------------------------===//

#include "Editor.h"
#include "llvm/ADT/bit.h"
#include <algorithm>
#include <numeric>
#include <utility>

using namespace llmmem::planning;

/// A number below every value, and far from overflow.
static constexpr int64_t lowest = INT64_MIN / 2;

MaxTree::MaxTree(llvm::ArrayRef<int64_t> values)
    : size(static_cast<int32_t>(values.size())),
      leaves(static_cast<int32_t>(llvm::bit_ceil(std::max<size_t>(1, values.size())))),
      nodes(2 * static_cast<size_t>(leaves), Node{lowest, 0}) {
  for (int32_t index = 0; index < size; ++index)
    nodes[leaves + index].top = values[index];
  for (int32_t node = leaves - 1; node > 0; --node)
    update(node);
}

/// Adds from the leaves upwards. Between both ends, each node whose parent reaches beyond them
/// takes the amount; then the parents of the ends take their new maxima, up to one that did not
/// change.
void MaxTree::add(int32_t from, int32_t to, int64_t amount) {
  int32_t low = leaves + std::max(from, 0), high = leaves + std::min(to, size - 1);
  if (low > high)
    return;
  auto take = [&](int32_t node) {
    nodes[node].top += amount;
    nodes[node].pending += amount;
  };
  take(low);
  if (low != high)
    take(high);
  while (low >> 1 != high >> 1) {
    if ((low & 1) == 0)
      take(low + 1);
    if ((high & 1) == 1)
      take(high - 1);
    update(low >>= 1);
    update(high >>= 1);
  }
  while ((low >>= 1) > 0) {
    const int64_t before = nodes[low].top;
    update(low);
    if (nodes[low].top == before)
      return;
  }
}

int64_t MaxTree::max(int32_t from, int32_t to) const {
  int32_t low = leaves + std::max(from, 0), high = leaves + std::min(to, size - 1);
  if (low > high)
    return lowest;
  int64_t best = nodes[low].top, bestHigh = nodes[high].top;
  while (low >> 1 != high >> 1) {
    if ((low & 1) == 0)
      best = std::max(best, nodes[low + 1].top);
    if ((high & 1) == 1)
      bestHigh = std::max(bestHigh, nodes[high - 1].top);
    best += nodes[low >>= 1].pending;
    bestHigh += nodes[high >>= 1].pending;
  }
  best = std::max(best, bestHigh);
  while ((low >>= 1) > 0)
    best += nodes[low].pending;
  return best;
}

Editor::Editor(const Graph &graph, std::vector<OpIndex> list)
    : graph(graph), steps(std::move(list)), alive(steps.size(), true), firstRun(graph.numOps(), -1),
      sharedAt(steps.size(), 0), tree(profile(graph, steps).bytes) {
  for (int32_t step = 0; step < numSteps(); ++step)
    if (firstRun[steps[step]] < 0)
      firstRun[steps[step]] = step;
  listEvents();
  for (int32_t step = 0; step < numSteps(); ++step)
    if (!graph.op(steps[step]).inPlace.empty())
      sharedAt[step] = shared(step);
}

/// Lists the events in one array: an editor is made for every schedule that a search tries.
void Editor::listEvents() {
  eventsBegin.assign(graph.numValues() + 1, 0);
  for (OpIndex step : steps)
    for (const std::vector<ValueIndex> *values : {&graph.op(step).reads, &graph.op(step).writes})
      for (ValueIndex value : *values)
        ++eventsBegin[value];
  // Each list begins where its last event ends, and is lowered by one event at a time, last step
  // first.
  std::partial_sum(eventsBegin.begin(), eventsBegin.end(), eventsBegin.begin());
  events.resize(eventsBegin.back());
  for (int32_t step = numSteps(); step-- > 0;) {
    const Op &op = graph.op(steps[step]);
    for (ValueIndex value : op.writes)
      events[--eventsBegin[value]] = {step, true};
    for (ValueIndex value : op.reads)
      events[--eventsBegin[value]] = {step, false};
  }
}

int32_t Editor::endBefore(ValueIndex value, int32_t step) const {
  const llvm::ArrayRef<Event> list = eventsOf(value);
  auto it = llvm::partition_point(list, [&](Event event) { return event.step < step; });
  while (it != list.begin())
    if (--it; alive[it->step])
      return it->step; // a read of that instance, or its write if it has no reader
  return -1;
}

/// Returns the last read of the instance current after `step`, `step` itself included, or -1
/// without any.
int32_t Editor::lastReadFrom(ValueIndex value, int32_t step) const {
  const llvm::ArrayRef<Event> list = eventsOf(value);
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

/// Applies the in-place rule, as `profile` does.
int64_t Editor::shared(int32_t step) const {
  if (!alive[step])
    return 0;
  return sharedBytes(graph, graph.op(steps[step]),
                     [&](ValueIndex value) { return lastReadFrom(value, step) == step; });
}

/// Says whether the steps from `from` to `to` stay within `capacity` with the changes.
bool Editor::fits(llvm::ArrayRef<Change> changes, int32_t from, int32_t to,
                  int64_t capacity) const {
  if (from > to)
    return true;
  llvm::SmallVector<int32_t, 16> begins{from, to + 1}; // begins of the parts that change alike
  for (const Change &change : changes)
    for (int32_t begin : {change.from, change.to + 1})
      if (begin > from && begin <= to)
        begins.push_back(begin);
  llvm::sort(begins);
  for (size_t part = 0; part + 1 < begins.size(); ++part) {
    int64_t more = 0;
    for (const Change &change : changes)
      if (change.from <= begins[part] && begins[part] <= change.to)
        more += change.bytes;
    if (tree.max(begins[part], begins[part + 1] - 1) + more > capacity)
      return false;
  }
  return true;
}

Editor::Removal Editor::removalOf(int32_t step) const {
  const Op &op = graph.op(steps[step]);
  Removal removal;
  auto &[low, changes, touched] = removal;
  low = step;
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
  return removal;
}

/// Most repeats may not be removed, so the changes are summed up outside of the tree first.
bool Editor::tryRemove(int32_t step, int64_t capacity) {
  if (!isRepeat(step))
    return false;
  auto [low, changes, touched] = removalOf(step);
  alive[step] = false;
  const size_t firstShared = changes.size();
  for (int32_t other : touched)
    if (!graph.op(steps[other]).inPlace.empty() && alive[other]) {
      const int64_t before = std::exchange(sharedAt[other], shared(other));
      changes.push_back({other, other, before - sharedAt[other]});
      low = std::min(low, other);
    }
  const bool isRemoved = fits(changes, low, step - 1, capacity);
  if (isRemoved) {
    constexpr int64_t removed = int64_t(1) << 61; // excludes a removed step from every maximum
    for (const Change &change : changes)
      tree.add(change.from, change.to, change.bytes);
    tree.add(step, step, -removed);
  } else {
    for (const Change &change : llvm::ArrayRef(changes).drop_front(firstShared))
      sharedAt[change.from] += change.bytes;
    alive[step] = true;
  }
  return isRemoved;
}

std::vector<OpIndex> Editor::result() const {
  std::vector<OpIndex> list;
  for (int32_t step = 0; step < numSteps(); ++step)
    if (alive[step])
      list.push_back(steps[step]);
  return list;
}

static bool hasRepeats(const Graph &graph, llvm::ArrayRef<OpIndex> steps) {
  return steps.size() > static_cast<size_t>(graph.numOps()); // every op runs
}

bool llmmem::planning::keepWhatFits(const Graph &graph, std::vector<OpIndex> &steps,
                                    int64_t capacity) {
  if (!hasRepeats(graph, steps))
    return false;
  Editor editor(graph, steps);
  std::vector<int32_t> order;
  for (int32_t step = 0; step < editor.numSteps(); ++step)
    if (editor.isRepeat(step))
      order.push_back(step);
  llvm::stable_sort(order, [&](int32_t a, int32_t b) {
    return graph.op(editor.opAt(a)).cost > graph.op(editor.opAt(b)).cost;
  });
  bool changed = false;
  for (int32_t step : order)
    changed |= editor.tryRemove(step, capacity);
  if (changed) {
    steps = editor.result();
    dropUselessRepeats(graph, steps);
  }
  return changed;
}
