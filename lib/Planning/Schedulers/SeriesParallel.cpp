//===- SeriesParallel.cpp - Least-peak orders of series-parallel programs ----------===//

#include "SeriesParallel.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include <algorithm>

using namespace llmmem::planning;

namespace {
using Ops = std::vector<OpIndex>;

/// A run of ops. `hill` is the most bytes that it holds, and `valley` the bytes that it leaves,
/// both relative to the bytes held before it (the names of Liu 1987).
struct Segment {
  int64_t hill = 0, valley = 0;
  Ops ops = {};
};

class SeriesParallel {
public:
  explicit SeriesParallel(const Graph &graph) : graph(graph) {}
  std::optional<Ops> run();

private:
  void findAncestors();
  bool findLastReaders();
  void weighOps();
  bool order(Ops &component) const;
  std::vector<Ops> seriesComponents(const Ops &component) const;
  std::vector<Ops> parallelComponents(const Ops &component) const;
  void cut(llvm::ArrayRef<OpIndex> component, std::vector<Segment> &falling,
           std::vector<Segment> &rising) const;
  Ops merge(llvm::ArrayRef<Ops> branches) const;

  const Graph &graph;
  std::vector<llvm::BitVector> ancestors; // per op
  std::vector<OpIndex> lastReader;        // per value; -1: it has none, or is kept
  std::vector<Segment> weight;            // per op
};
} // namespace

void SeriesParallel::findAncestors() {
  ancestors.assign(graph.numOps(), llvm::BitVector(graph.numOps()));
  for (OpIndex op = 0; op < graph.numOps(); ++op)
    for (ValueIndex value : graph.op(op).reads)
      if (OpIndex writer = graph.writer(value); writer >= 0 && !ancestors[op].test(writer)) {
        ancestors[op] |= ancestors[writer];
        ancestors[op].set(writer);
      }
}

/// Finds for each value the reader that comes after all others in every order. Returns false where
/// a value with bytes has none.
bool SeriesParallel::findLastReaders() {
  lastReader.assign(graph.numValues(), -1);
  for (ValueIndex value = 0; value < graph.numValues(); ++value) {
    llvm::ArrayRef<OpIndex> readers = graph.readers(value);
    if (readers.empty() || graph.isKept(value) || graph.bytes(value) == 0)
      continue;
    OpIndex last = readers.back(); // the readers are in program order
    for (OpIndex reader : readers.drop_back())
      if (!ancestors[last].test(reader))
        return false;
    lastReader[value] = last;
  }
  return true;
}

void SeriesParallel::weighOps() {
  weight.resize(graph.numOps());
  for (OpIndex index = 0; index < graph.numOps(); ++index) {
    const Op &op = graph.op(index);
    Segment &here = weight[index];
    here.hill = graph.workspace(index);
    for (ValueIndex value : op.writes) {
      here.hill += graph.bytes(value);
      if (!graph.readers(value).empty() || graph.isKept(value))
        here.valley += graph.bytes(value);
    }
    for (ValueIndex value : op.reads)
      if (lastReader[value] == index)
        here.valley -= graph.bytes(value);
    if (!op.inPlace.empty())
      here.hill -=
          sharedBytes(graph, op, [&](ValueIndex value) { return lastReader[value] == index; });
  }
}

/// Returns the series components of `component`, which is in program order: each op of a later one
/// depends on every op of the one before.
std::vector<Ops> SeriesParallel::seriesComponents(const Ops &component) const {
  // The number of the first ops that are all ancestors of `component[index]`; then the minimum over
  // it and all later ops.
  std::vector<size_t> numBefore(component.size());
  size_t least = component.size();
  for (size_t index = component.size(); index-- > 0;) {
    size_t count = 0;
    while (count < index && ancestors[component[index]].test(component[count]))
      ++count;
    numBefore[index] = least = std::min(least, count);
  }
  std::vector<Ops> components(1);
  for (size_t index = 0; index < component.size(); ++index) {
    if (index > 0 && numBefore[index] == index)
      components.emplace_back();
    components.back().push_back(component[index]);
  }
  return components;
}

/// Returns the connected components of `component`, each in program order. No path between two ops
/// of a component leaves it, so direct reads suffice.
std::vector<Ops> SeriesParallel::parallelComponents(const Ops &component) const {
  llvm::EquivalenceClasses<OpIndex> connected;
  for (OpIndex op : component)
    connected.insert(op);
  for (OpIndex op : component)
    for (ValueIndex value : graph.op(op).reads)
      if (OpIndex writer = graph.writer(value); writer >= 0 && connected.contains(writer))
        connected.unionSets(writer, op);
  std::vector<Ops> components;
  std::vector<OpIndex> leaders;
  for (OpIndex op : component) {
    size_t at = llvm::find(leaders, connected.getLeaderValue(op)) - leaders.begin();
    if (at == leaders.size()) {
      leaders.push_back(connected.getLeaderValue(op));
      components.emplace_back();
    }
    components[at].push_back(op);
  }
  return components;
}

/// Cuts an ordered component where it holds least. From there, backwards and forwards, each segment
/// spans the highest remaining hill up to the lowest valley after it (Liu, "An application of
/// generalized tree pebbling to sparse matrix factorization", SIAM J. Alg. Disc. Meth. 8, 1987).
void SeriesParallel::cut(llvm::ArrayRef<OpIndex> component, std::vector<Segment> &falling,
                         std::vector<Segment> &rising) const {
  size_t count = component.size();
  std::vector<int64_t> level(count + 1, 0), hill(count);
  for (size_t index = 0; index < count; ++index) {
    hill[index] = level[index] + weight[component[index]].hill;
    level[index + 1] = level[index] + weight[component[index]].valley;
  }
  auto segment = [&](size_t from, size_t to) {
    int64_t highest = *std::max_element(hill.begin() + from, hill.begin() + to);
    return Segment{highest - level[from], level[to] - level[from],
                   Ops(component.begin() + from, component.begin() + to)};
  };
  size_t lowest = std::min_element(level.begin(), level.end()) - level.begin();
  std::vector<Segment> backwards;
  for (size_t end = lowest; end > 0;) {
    size_t top = std::max_element(hill.begin(), hill.begin() + end) - hill.begin();
    size_t start = std::min_element(level.begin(), level.begin() + top + 1) - level.begin();
    backwards.push_back(segment(start, end));
    end = start;
  }
  std::move(backwards.rbegin(), backwards.rend(), std::back_inserter(falling));
  for (size_t start = lowest; start < count;) {
    size_t top = start, end = count;
    for (size_t index = start; index < count; ++index)
      top = hill[index] >= hill[top] ? index : top;
    for (size_t index = count; index > top; --index)
      end = level[index] < level[end] ? index : end;
    rising.push_back(segment(start, end));
    start = end;
  }
}

Ops SeriesParallel::merge(llvm::ArrayRef<Ops> branches) const {
  std::vector<Segment> falling, rising;
  for (const Ops &branch : branches)
    cut(branch, falling, rising);
  // Within a branch the segments are in this order already.
  llvm::stable_sort(falling, [](const Segment &a, const Segment &b) { return a.hill < b.hill; });
  llvm::stable_sort(rising, [](const Segment &a, const Segment &b) {
    return a.hill - a.valley > b.hill - b.valley;
  });
  Ops merged;
  for (const std::vector<Segment> *side : {&falling, &rising})
    for (const Segment &segment : *side)
      llvm::append_range(merged, segment.ops);
  return merged;
}

/// Brings `component` into its best order. Returns false where it is neither a series nor a
/// parallel composition.
bool SeriesParallel::order(Ops &component) const {
  if (component.size() == 1)
    return true;
  std::vector<Ops> branches = parallelComponents(component);
  if (branches.size() > 1) {
    for (Ops &branch : branches)
      if (!order(branch))
        return false;
    component = merge(branches);
    return true;
  }
  std::vector<Ops> components = seriesComponents(component);
  if (components.size() == 1)
    return false; // it holds the N that no series-parallel order does (Valdes, Tarjan, Lawler 1982)
  component.clear();
  for (Ops &next : components) {
    if (!order(next))
      return false;
    llvm::append_range(component, next);
  }
  return true;
}

std::optional<Ops> SeriesParallel::run() {
  findAncestors();
  if (!findLastReaders())
    return std::nullopt;
  weighOps();
  Ops all = givenOrder(graph);
  if (!all.empty() && !order(all))
    return std::nullopt;
  return all;
}

std::optional<std::vector<OpIndex>> llmmem::planning::leastPeakSeriesParallel(const Graph &graph) {
  constexpr int32_t mostOps = 2000; // the ancestors are a square of bits
  if (graph.numOps() > mostOps)
    return std::nullopt;
  return SeriesParallel(graph).run();
}
