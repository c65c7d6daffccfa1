//===- LastRunCut.cpp - What is held when large ops run for the last time ------------===//

#include "LastRunCut.h"
#include "llmmem/Planning/Bounds/Bounds.h"
#include <algorithm>

using namespace llmmem::planning;

static constexpr int32_t source = 0, sink = 1;

LastRunCut::LastRunCut(const Graph &graph, llvm::ArrayRef<OpIndex> set)
    : graph(graph), inSet(graph.numOps(), false), nodeOfValue(graph.numValues(), -1),
      nodeOfOp(graph.numOps(), -1), heldArc(graph.numValues(), -1), flow(0) {
  for (OpIndex op : set)
    inSet[op] = true;
  addNodes();
  addArcs();
}

void LastRunCut::requireValue(ValueIndex value) {
  if (nodeOfValue[value] >= 0 || graph.bytes(value) == 0)
    return;
  nodeOfValue[value] = nextNode();
  values.push_back(value);
}

/// Adds the nodes of what is kept, and of what it may be recomputed from.
void LastRunCut::addNodes() {
  for (ValueIndex value = 0; value < graph.numValues(); ++value)
    if (graph.isKept(value))
      requireValue(value);
  for (size_t index = 0; index < values.size(); ++index) {
    const OpIndex writer = graph.writer(values[index]);
    if (writer < 0 || inSet[writer] || nodeOfOp[writer] >= 0)
      continue;
    nodeOfOp[writer] = nextNode();
    ops.push_back(writer);
    for (ValueIndex value : graph.reads(writer))
      requireValue(value);
  }
}

void LastRunCut::addArcs() {
  flow = MaxFlow(nextNode());
  auto add = [&](Arc::Kind kind, int32_t from, int32_t to, int64_t capacity, OpIndex op,
                 ValueIndex value) {
    const int32_t number = flow.addArc(from, to, capacity);
    arcs.push_back({kind, number, op, value});
    return number;
  };
  for (ValueIndex value : values) {
    const int32_t node = nodeOfValue[value];
    const OpIndex writer = graph.writer(value);
    const bool mayBeMade = writer >= 0 && nodeOfOp[writer] >= 0;
    if (graph.isKept(value))
      add(Arc::Kept, source, node, MaxFlow::infinite, -1, value);
    heldArc[value] =
        add(Arc::Held, node, mayBeMade ? nodeOfOp[writer] : sink, graph.bytes(value), -1, value);
  }
  for (OpIndex op : ops) {
    llvm::SmallVector<int32_t, 4> toRead;
    for (ValueIndex value : graph.reads(op))
      if (nodeOfValue[value] >= 0)
        toRead.push_back(
            add(Arc::Read, nodeOfOp[op], nodeOfValue[value], MaxFlow::infinite, op, value));
    if (!graph.op(op).recompute)
      once.push_back({op, flow.addArc(nodeOfOp[op], sink, 0), std::move(toRead)});
  }
}

llvm::SmallVector<ValueIndex, 8> LastRunCut::touchedBy(OpIndex op) const {
  llvm::SmallVector<ValueIndex, 8> touched(graph.reads(op));
  for (ValueIndex value : graph.writes(op))
    if (!llvm::is_contained(touched, value))
      touched.push_back(value);
  return touched;
}

bool LastRunCut::mayBeLast(OpIndex last) const {
  if (graph.op(last).recompute)
    return true;
  std::vector<bool> after(graph.numOps(), false);
  markDescendants(graph, last, after);
  for (OpIndex op = 0; op < graph.numOps(); ++op)
    if (inSet[op] && after[op] && op != last)
      return false;
  return true;
}

/// Sets the program point. The bytes of its own operands and results are in its footprint.
void LastRunCut::setProgramPoint(OpIndex last) {
  auto setBytes = [&](OpIndex op, bool count) {
    for (ValueIndex value : touchedBy(op))
      if (heldArc[value] >= 0)
        flow.setCapacity(heldArc[value], count ? graph.bytes(value) : 0);
  };
  if (programPoint >= 0)
    setBytes(programPoint, true);
  programPoint = last;
  if (programPoint >= 0)
    setBytes(programPoint, false);
  if (once.empty())
    return;
  std::vector<bool> before(graph.numOps(), false);
  if (programPoint >= 0)
    markAncestors(graph, programPoint, before);
  for (const Once &each : once) {
    flow.setCapacity(each.toSink, before[each.op] ? MaxFlow::infinite : 0);
    for (int32_t arc : each.toRead)
      flow.setCapacity(arc, before[each.op] ? 0 : MaxFlow::infinite);
  }
}

int64_t LastRunCut::footprintAt(OpIndex last, int64_t enough) {
  graph.poll();
  setProgramPoint(last);
  const int64_t fixed = fixedBytesAt(graph, last); // it may be negative by a padding
  total = flow.solve(source, sink,
                     std::min(std::min(enough, INT64_MAX / 2) - fixed, MaxFlow::infinite));
  return fixed + total;
}

void LastRunCut::solveAtNoOp() {
  setProgramPoint(-1);
  total = flow.solve(source, sink);
}

int64_t LastRunCut::provedAt(OpIndex op) const {
  // What cannot run after one op may run after another one.
  if (programPoint != op && !once.empty())
    return 0;
  int64_t own = 0;
  for (ValueIndex value : touchedBy(op))
    if (heldArc[value] >= 0)
      own += flow.flowThrough(heldArc[value]);
  return fixedBytesAt(graph, op) + total - own;
}

std::vector<ValueIndex> LastRunCut::held() const {
  const llvm::SmallVector<ValueIndex, 8> own = touchedBy(programPoint);
  std::vector<ValueIndex> held;
  for (ValueIndex value : values) {
    const OpIndex writer = graph.writer(value);
    const bool isMade = writer >= 0 && nodeOfOp[writer] >= 0 && flow.onSourceSide(nodeOfOp[writer]);
    if (flow.onSourceSide(nodeOfValue[value]) && !isMade && !llvm::is_contained(own, value))
      held.push_back(value);
  }
  return held;
}

void LastRunCut::forEachFlow(llvm::function_ref<void(const Arc &, int64_t)> visit) const {
  for (const Arc &arc : arcs)
    if (const int64_t amount = flow.flowThrough(arc.number); amount > 0)
      visit(arc, amount);
}

namespace {
/// The least over a set, as the search finds it.
struct SetBound {
  llvm::ArrayRef<OpIndex> set; // sorted by footprint, the largest first
  int64_t most = INT64_MAX;    // the most that it may prove
  size_t left = set.size();    // ops not looked at; when there are none, `least` is what it proves
  int64_t least = INT64_MAX;   // the least footprint of the others
  OpIndex last = -1;           // the op that has it
  int visits = 0;

  /// Looks at ops as long as the set may prove `enough`.
  void search(const Graph &graph, int64_t enough);
};
} // namespace

void SetBound::search(const Graph &graph, int64_t enough) {
  LastRunCut cut(graph, set);
  if (cut.isSameForAll())
    cut.solveAtNoOp();
  // The smallest footprints come first: they mostly decide.
  while (left > 0 && most >= enough) {
    const OpIndex op = set[--left];
    if (!cut.mayBeLast(op) || cut.provedAt(op) >= least)
      continue;
    if (const int64_t bytes = cut.footprintAt(op, least); bytes < least) {
      least = bytes;
      last = op;
      most = std::min(most, bytes);
    }
  }
}

int64_t llmmem::planning::footprintAtLastRun(const Graph &graph, llvm::ArrayRef<OpIndex> set) {
  SetBound bound{set};
  bound.search(graph, /*enough=*/0);
  return bound.least;
}

/// Returns sets of the ops with the largest footprints, one for each footprint that some op has. To
/// hold all that is kept is one of the choices, and so is what `steps` holds.
static std::vector<SetBound> setsOf(const Graph &graph, llvm::ArrayRef<OpIndex> largest,
                                    llvm::ArrayRef<OpIndex> steps, const Profile &usage) {
  int64_t kept = graph.residentBytes();
  for (ValueIndex value = 0; value < graph.numValues(); ++value)
    kept += graph.isKept(value) ? graph.bytes(value) : 0;
  std::vector<size_t> lastStep(graph.numOps(), 0);
  for (size_t step = 0; step < steps.size(); ++step)
    lastStep[steps[step]] = step;
  std::vector<SetBound> sets;
  size_t last = 0, size = 0;
  while (size < largest.size()) {
    const int64_t footprint = graph.footprint(largest[size]);
    for (; size < largest.size() && graph.footprint(largest[size]) == footprint; ++size)
      last = std::max(last, lastStep[largest[size]]);
    sets.push_back({largest.take_front(size), std::min(kept + footprint, usage.bytes[last])});
  }
  return sets;
}

LastRunBound llmmem::planning::lastRunBound(const Graph &graph, llvm::ArrayRef<OpIndex> steps,
                                            const Profile &usage, int64_t known) {
  constexpr size_t mostSets = 24;
  LastRunBound best{known, {}, -1};
  if (steps.empty())
    return best;
  std::vector<OpIndex> largest = givenOrder(graph);
  llvm::stable_sort(largest,
                    [&](OpIndex a, OpIndex b) { return graph.footprint(a) > graph.footprint(b); });
  std::vector<SetBound> sets = setsOf(graph, largest, steps, usage);
  auto isHigher = [](const SetBound &a, const SetBound &b) { return a.most > b.most; };
  llvm::stable_sort(sets, isHigher);
  sets.resize(std::min(sets.size(), mostSets));
  // The loop takes the set that may prove the most, until it may no more: the first op often leaves
  // little. Each visit makes the network anew, so sets do not take turns for long.
  constexpr int mostVisits = 8;
  while (!sets.empty() && sets.front().most > best.bytes) {
    SetBound set = sets.front();
    sets.erase(sets.begin());
    const bool takesTurns = !sets.empty() && ++set.visits < mostVisits;
    set.search(graph, std::max(takesTurns ? sets.front().most : 0, best.bytes + 1));
    if (set.left > 0)
      sets.insert(llvm::upper_bound(sets, set, isHigher), set);
    else if (set.least > best.bytes)
      best = {set.least, set.set.vec(), set.last};
  }
  return best;
}
