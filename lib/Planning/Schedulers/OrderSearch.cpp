//===- OrderSearch.cpp - Least-peak orders without repeats ----------------------===//

#include "OrderSearch.h"
#include "llvm/ADT/DenseSet.h"
#include <algorithm>

using namespace llmmem::planning;

namespace {
/// A prefix of an order, with the operands still missing and the bytes held.
struct Partial {
  std::vector<int32_t> unread;  // per value: readers that have not run
  std::vector<int32_t> missing; // per op: operands not yet written
  std::vector<OpIndex> ready;
  std::vector<OpIndex> order;
  int64_t live = 0;
  int64_t peak = 0;
  uint64_t key = 0; // key of the set of ops that ran
};

struct Step {
  int64_t peak, live;
  int32_t position; // position in the start order, which breaks ties
  int32_t parent;
  OpIndex op;
  uint64_t key;
};

class Beam {
public:
  Beam(const Graph &graph, llvm::ArrayRef<OpIndex> start) : graph(graph), position(graph.numOps()) {
    for (size_t index = 0; index < start.size(); ++index)
      position[start[index]] = static_cast<int32_t>(index);
  }
  std::vector<OpIndex> run(size_t width, int64_t limit);

private:
  Partial empty() const;
  Step look(const Partial &partial, int32_t parent, OpIndex op) const;
  void apply(Partial &partial, const Step &step) const;
  static uint64_t keyOf(OpIndex op) { // splitmix64
    uint64_t x = (uint64_t(op) + 1) * 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
  }

  const Graph &graph;
  std::vector<int32_t> position;
};
} // namespace

Partial Beam::empty() const {
  Partial partial;
  partial.unread.resize(graph.numValues());
  partial.missing.assign(graph.numOps(), 0);
  partial.live = partial.peak = graph.residentBytes();
  for (ValueIndex value = 0; value < graph.numValues(); ++value) {
    partial.unread[value] =
        static_cast<int32_t>(graph.readers(value).size()) + (graph.isKept(value) ? 1 : 0);
    if (graph.writer(value) < 0 && partial.unread[value] > 0)
      partial.live += graph.bytes(value);
    if (graph.writer(value) >= 0)
      for (OpIndex reader : graph.readers(value))
        ++partial.missing[reader];
  }
  for (OpIndex op = 0; op < graph.numOps(); ++op)
    if (partial.missing[op] == 0)
      partial.ready.push_back(op);
  return partial;
}

Step Beam::look(const Partial &partial, int32_t parent, OpIndex op) const {
  const Op &data = graph.op(op);
  int64_t held = partial.live + graph.workspace(op), live = partial.live;
  for (ValueIndex value : data.writes) {
    held += graph.bytes(value);
    if (partial.unread[value] > 0)
      live += graph.bytes(value);
  }
  for (ValueIndex value : data.reads)
    if (partial.unread[value] == 1)
      live -= graph.bytes(value);
  if (!data.inPlace.empty())
    held -= sharedBytes(graph, data, [&](ValueIndex value) { return partial.unread[value] == 1; });
  return {std::max(partial.peak, held), live, position[op], parent, op, partial.key ^ keyOf(op)};
}

void Beam::apply(Partial &partial, const Step &step) const {
  const Op &data = graph.op(step.op);
  llvm::erase(partial.ready, step.op);
  for (ValueIndex value : data.reads)
    --partial.unread[value];
  for (ValueIndex value : data.writes)
    for (OpIndex reader : graph.readers(value))
      if (--partial.missing[reader] == 0)
        partial.ready.push_back(reader);
  partial.order.push_back(step.op);
  partial.live = step.live;
  partial.peak = step.peak;
  partial.key = step.key;
}

/// Returns the best order that a beam of `width` states finds, or an empty one where each reaches
/// `limit`.
std::vector<OpIndex> Beam::run(size_t width, int64_t limit) {
  std::vector<Partial> beam{empty()};
  for (int32_t length = 0; length < graph.numOps(); ++length) {
    graph.poll();
    std::vector<Step> steps;
    for (size_t parent = 0; parent < beam.size(); ++parent)
      for (OpIndex op : beam[parent].ready)
        if (Step step = look(beam[parent], static_cast<int32_t>(parent), op); step.peak < limit)
          steps.push_back(step);
    llvm::sort(steps, [](const Step &a, const Step &b) {
      return std::tie(a.peak, a.live, a.position, a.parent) <
             std::tie(b.peak, b.live, b.position, b.parent);
    });
    llvm::DenseSet<uint64_t> seen;
    std::vector<Step> chosen;
    for (const Step &step : steps) {
      if (chosen.size() == width)
        break;
      if (seen.insert(step.key >> 1).second)
        chosen.push_back(step);
    }
    if (chosen.empty())
      return {};
    std::vector<int32_t> uses(beam.size(), 0);
    for (const Step &step : chosen)
      ++uses[step.parent];
    std::vector<Partial> next;
    next.reserve(chosen.size());
    for (const Step &step : chosen) {
      bool isLast = --uses[step.parent] == 0;
      next.push_back(isLast ? std::move(beam[step.parent]) : beam[step.parent]);
      apply(next.back(), step);
    }
    beam = std::move(next);
  }
  return beam.empty() ? std::vector<OpIndex>() : beam[0].order;
}

namespace {
/// Makes a depth-first post-order from the end of the critical path. At each op the operand with
/// the longest path comes first, so an op that could run early (a recomputation) runs just before
/// its reader. An op that is not an ancestor of the end (a weight gradient and its update) runs as
/// soon as its operands are there.
class DepthFirst {
public:
  explicit DepthFirst(const Graph &graph);
  std::vector<OpIndex> run();

private:
  void visit(OpIndex last);
  void emit(OpIndex op);

  const Graph &graph;
  std::vector<int32_t> depth, missing;
  std::vector<bool> isWanted, isDone;
  std::vector<OpIndex> order;
};
} // namespace

DepthFirst::DepthFirst(const Graph &graph)
    : graph(graph), depth(graph.numOps(), 0), missing(graph.numOps(), 0),
      isWanted(graph.numOps(), false), isDone(graph.numOps(), false) {
  for (OpIndex op = 0; op < graph.numOps(); ++op)
    for (ValueIndex value : graph.op(op).reads)
      if (OpIndex writer = graph.writer(value); writer >= 0) {
        depth[op] = std::max(depth[op], depth[writer] + 1);
        ++missing[op];
      }
}

void DepthFirst::emit(OpIndex first) {
  llvm::SmallVector<OpIndex, 8> ready{first};
  while (!ready.empty()) {
    OpIndex op = ready.pop_back_val();
    isDone[op] = true;
    order.push_back(op);
    for (ValueIndex value : graph.op(op).writes)
      for (OpIndex reader : graph.readers(value))
        if (--missing[reader] == 0 && !isWanted[reader])
          ready.push_back(reader);
  }
}

void DepthFirst::visit(OpIndex last) {
  std::vector<OpIndex> stack{last};
  while (!stack.empty()) {
    OpIndex op = stack.back(), next = -1;
    for (ValueIndex value : graph.op(op).reads)
      if (OpIndex writer = graph.writer(value); writer >= 0 && !isDone[writer])
        if (next < 0 || depth[writer] > depth[next])
          next = writer;
    if (next >= 0) {
      stack.push_back(next);
      continue;
    }
    stack.pop_back();
    if (!isDone[op])
      emit(op);
  }
}

std::vector<OpIndex> DepthFirst::run() {
  if (graph.numOps() == 0)
    return {};
  OpIndex last = static_cast<OpIndex>(llvm::max_element(depth) - depth.begin());
  std::vector<OpIndex> worklist{last};
  isWanted[last] = true;
  while (!worklist.empty()) {
    OpIndex op = worklist.back();
    worklist.pop_back();
    for (ValueIndex value : graph.op(op).reads)
      if (OpIndex writer = graph.writer(value); writer >= 0 && !isWanted[writer]) {
        isWanted[writer] = true;
        worklist.push_back(writer);
      }
  }
  visit(last);
  for (OpIndex op = 0; op < graph.numOps(); ++op)
    if (!isDone[op])
      visit(op);
  return std::move(order);
}

/// Returns what every order without repeats holds while `op` runs, resident bytes included. Next to
/// the op's own bytes, that is what its ancestors write or what was there, if a descendant reads it
/// or the end keeps it.
static int64_t heldInEveryOrder(const Graph &graph, OpIndex op) {
  std::vector<bool> before(graph.numOps(), false), after(graph.numOps(), false);
  markAncestors(graph, op, before);
  markDescendants(graph, op, after);
  int64_t held = graph.residentBytes() + graph.footprint(op);
  for (ValueIndex value = 0; value < graph.numValues(); ++value) {
    const OpIndex writer = graph.writer(value);
    const bool isLive =
        (writer < 0 || before[writer]) &&
        (graph.isKept(value) ||
         llvm::any_of(graph.readers(value), [&](OpIndex reader) { return after[reader]; }));
    if (isLive && !llvm::is_contained(graph.op(op).reads, value))
      held += graph.bytes(value);
  }
  return held;
}

std::vector<OpIndex> llmmem::planning::improveOrder(const Graph &graph, std::vector<OpIndex> start,
                                                    int64_t work) {
  int64_t peak = profile(graph, start).peak;
  std::vector<OpIndex> depthFirst = DepthFirst(graph).run();
  // The program order is kept unless the peak falls by more than two percent.
  constexpr int64_t fewPercent = 50;
  if (int64_t found = profile(graph, depthFirst).peak; found < peak - peak / fewPercent) {
    peak = found;
    start = std::move(depthFirst);
  }
  int64_t lowerBound = graph.residentBytes();
  for (OpIndex op = 0; op < graph.numOps(); ++op)
    lowerBound = std::max(lowerBound, graph.residentBytes() + graph.footprint(op));
  // This is mostly the end of the forward, where all that is held is needed.
  if (const int32_t step = profile(graph, start).peakStep; step >= 0)
    lowerBound = std::max(lowerBound, heldInEveryOrder(graph, start[step]));
  int64_t cost = int64_t(graph.numOps()) * (graph.numOps() + graph.numValues()) / 8 + 1;
  constexpr int64_t widest = 64;
  for (int64_t width = 1; width <= widest && peak > lowerBound; width *= 4) {
    if (width * cost > work)
      break;
    std::vector<OpIndex> order = Beam(graph, start).run(static_cast<size_t>(width), peak);
    if (order.empty())
      continue;
    int64_t found = profile(graph, order).peak;
    if (found < peak) {
      peak = found;
      start = std::move(order);
    }
  }
  return start;
}
