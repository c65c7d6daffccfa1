//===- CutNetwork.cpp - Cuts in time as a minimum cut ------------------------------===//

#include "CutNetwork.h"
#include <algorithm>

using namespace llmmem::planning;

static constexpr int32_t source = 0, sink = 1;
/// These take the place of a node's number: `none` is not in the network, `unnumbered` is in it but
/// not numbered yet.
static constexpr int32_t none = -1, unnumbered = -2;

CutNetwork::CutNetwork(const Graph &graph, llvm::ArrayRef<OpIndex> programPoints, size_t numPriced)
    : graph(graph), levels(numPriced), flow(0) {
  for (size_t index = 0; index < numPriced; ++index) {
    Level &level = levels[index];
    level.programPoint = programPoints[index];
    if (index == 0) {
      level.before.assign(graph.numOps(), false);
    } else {
      level.before = levels[index - 1].before;
      level.before[programPoints[index - 1]] = true;
    }
    markAncestors(graph, level.programPoint, level.before);
  }
  // An op that runs again after a program point runs again after the earlier ones too, so the last
  // level is built first.
  for (size_t index = numPriced; index-- > 0;)
    addLevel(index, programPoints.drop_front(index));
}

int64_t CutNetwork::neededBytes() const {
  int64_t bytes = 0;
  for (ValueIndex value : llvm::ArrayRef(levels[0].values).take_front(levels[0].numNeeded))
    bytes += graph.bytes(value);
  return bytes;
}

/// Says whether keeping the value adds bytes: it has some, is written before the program point and
/// is neither resident nor an operand or result of its op.
bool CutNetwork::counts(const Level &level, ValueIndex value) const {
  OpIndex writer = graph.writer(value);
  const Op &op = graph.op(level.programPoint);
  return graph.bytes(value) > 0 && (writer < 0 || level.before[writer]) &&
         !graph.problem().values[value].resident && !llvm::is_contained(op.reads, value) &&
         !llvm::is_contained(op.writes, value);
}

void CutNetwork::addValue(Level &level, ValueIndex value) {
  level.nodeOfValue[value] = unnumbered;
  level.values.push_back(value);
}

void CutNetwork::requireValue(Level &level, ValueIndex value) {
  if (level.nodeOfValue[value] == none && counts(level, value))
    addValue(level, value);
}

void CutNetwork::requireOp(Level &level, OpIndex op) {
  if (level.nodeOfOp[op] != none)
    return;
  level.nodeOfOp[op] = unnumbered;
  level.ops.push_back(op);
  for (ValueIndex value : graph.reads(op))
    requireValue(level, value);
}

/// Adds a level. `later` holds the level's op and those after it.
void CutNetwork::addLevel(size_t index, llvm::ArrayRef<OpIndex> later) {
  Level &level = levels[index];
  level.nodeOfValue.assign(graph.numValues(), none);
  level.nodeOfOp.assign(graph.numOps(), none);
  std::vector<bool> after(graph.numOps(), false);
  for (OpIndex programPoint : later) {
    after[programPoint] = programPoint != level.programPoint;
    markDescendants(graph, programPoint, after);
  }
  addNodes(level, after, index + 1 < levels.size() ? &levels[index + 1] : nullptr);
}

void CutNetwork::addNodes(Level &level, const std::vector<bool> &after, const Level *next) {
  for (ValueIndex value = 0; value < graph.numValues(); ++value)
    if (counts(level, value) &&
        (graph.isKept(value) ||
         llvm::any_of(graph.readers(value), [&](OpIndex op) { return after[op]; })))
      addValue(level, value);
  level.numNeeded = level.values.size();
  if (next) {
    for (ValueIndex value : next->values)
      requireValue(level, value);
    for (OpIndex op : next->ops)
      if (level.before[op])
        requireOp(level, op);
  }
  for (size_t index = 0; index < level.values.size(); ++index)
    if (OpIndex writer = graph.writer(level.values[index]);
        writer >= 0 && graph.op(writer).recompute)
      requireOp(level, writer);
  numberNodes(level, next);
}

/// Every op of the level is known by now, and the later level is numbered.
void CutNetwork::numberNodes(Level &level, const Level *next) {
  level.onlyReader.assign(graph.numValues(), -1);
  std::vector<bool> isReadAgain(graph.numValues(), false);
  for (OpIndex op : level.ops) {
    level.nodeOfOp[op] = numNodes++;
    for (ValueIndex value : graph.reads(op)) {
      if (level.onlyReader[value] >= 0)
        isReadAgain[value] = true;
      level.onlyReader[value] = op;
    }
  }
  for (size_t position = 0; position < level.values.size(); ++position) {
    const ValueIndex value = level.values[position];
    OpIndex &reader = level.onlyReader[value];
    const bool isLive = position < level.numNeeded;
    if (isLive || isReadAgain[value] || (next && next->nodeOfValue[value] != none))
      reader = -1;
    level.nodeOfValue[value] = isLive ? source : reader >= 0 ? level.nodeOfOp[reader] : numNodes++;
  }
}

/// Returns the node to which it flows from a value that is held.
int32_t CutNetwork::targetOf(const Level &level, ValueIndex value) const {
  const OpIndex writer = graph.writer(value);
  return writer >= 0 && level.nodeOfOp[writer] != none ? level.nodeOfOp[writer] : sink;
}

/// Visits the arcs that have one in `flow`, and those from the source to the sink.
template <typename Visit>
void CutNetwork::forEachArc(Visit visit) const {
  for (size_t index = 0; index < levels.size(); ++index) {
    const Level &level = levels[index];
    const Level *earlier = index > 0 ? &levels[index - 1] : nullptr;
    for (ValueIndex value : level.values) {
      const int32_t node = level.nodeOfValue[value];
      visit({Arc::Held, index, node, targetOf(level, value), -1, value});
      // A value that is surely needed is also needed at the program point before, if it is there.
      if (earlier && earlier->nodeOfValue[value] > source)
        visit({Arc::ValueBefore, index, node, earlier->nodeOfValue[value], -1, value});
    }
    for (OpIndex op : level.ops) {
      const int32_t node = level.nodeOfOp[op];
      if (earlier && earlier->before[op])
        visit({Arc::OpBefore, index, node, earlier->nodeOfOp[op], op, -1});
      else
        visit({Arc::Repeated, index, node, sink, op, -1});
      for (ValueIndex value : graph.reads(op))
        if (level.nodeOfValue[value] > source && level.onlyReader[value] < 0)
          visit({Arc::Read, index, node, level.nodeOfValue[value], op, value});
    }
  }
}

static bool isUnavoidable(const CutNetwork::Arc &arc) {
  return arc.from == source && arc.to == sink;
}

/// Reserves at most as many arcs as there may be of each kind.
void CutNetwork::reserveArcs() {
  size_t perValue = 0, perOp = 0, perRead = 0;
  for (const Level &level : levels) {
    perValue += level.values.size();
    perOp += level.ops.size();
    for (OpIndex op : level.ops)
      perRead += graph.reads(op).size();
  }
  const size_t before = levels.size() > 1 ? perValue : 0;
  flow.reserve(perValue + before + perOp + perRead);
  pricedArcs.reserve(perValue);
  costArcs.reserve(perOp);
}

void CutNetwork::addArcs() {
  flow = MaxFlow(numNodes);
  reserveArcs();
  forEachArc([&](const Arc &arc) {
    if (isUnavoidable(arc)) {
      unavoidable.push_back({-1, graph.bytes(arc.value), arc.level});
      return;
    }
    const bool hasCapacity = arc.kind == Arc::Held || arc.kind == Arc::Repeated;
    const int32_t number = flow.addArc(arc.from, arc.to, hasCapacity ? 0 : MaxFlow::infinite);
    if (arc.kind == Arc::Held)
      pricedArcs.push_back({number, graph.bytes(arc.value), arc.level});
    if (arc.kind == Arc::Repeated)
      costArcs.push_back({number, graph.op(arc.op).cost});
  });
}

void CutNetwork::forEachFlow(llvm::function_ref<void(const Arc &, int64_t)> visit) const {
  int32_t number = 0;
  size_t fixed = 0;
  forEachArc([&](const Arc &arc) {
    int64_t amount = 0;
    if (isUnavoidable(arc)) {
      amount = unavoidable[fixed++].amount;
    } else {
      amount = flow.flowThrough(number);
      number += 2; // each has its reverse
    }
    if (amount <= 0)
      return;
    visit(arc, amount);
    if (arc.value < 0 || arc.kind == Arc::Read)
      return;
    // The flow from a value whose node belongs to another came from there.
    const int32_t node = arc.from;
    if (node == source)
      visit({Arc::Needed, arc.level, source, node, -1, arc.value}, amount);
    else if (const OpIndex reader = levels[arc.level].onlyReader[arc.value]; reader >= 0)
      visit({Arc::Read, arc.level, node, node, reader, arc.value}, amount);
  });
}

/// Returns a price that is never above the product: a capacity that is too low weakens the bound
/// but keeps it valid.
static int64_t priceOf(int64_t price, int64_t bytes) {
  const __int128 product = static_cast<__int128>(price) * bytes;
  return product >= MaxFlow::infinite ? MaxFlow::infinite : static_cast<int64_t>(product);
}

int64_t CutNetwork::solve(llvm::ArrayRef<int64_t> prices, int64_t costFactor) {
  graph.poll();
  if (!hasArcs) {
    hasArcs = true;
    addArcs();
  }
  for (PricedArc arc : pricedArcs)
    flow.setCapacity(arc.arc, priceOf(prices[arc.level], arc.bytes));
  if (costFactor != lastCostFactor)
    for (CostArc arc : costArcs)
      flow.setCapacity(arc.arc, arc.cost * costFactor);
  lastCostFactor = costFactor;
  __int128 value = flow.solve(source, sink);
  for (PricedArc &arc : unavoidable)
    value += arc.amount = priceOf(prices[arc.level], arc.bytes);
  return static_cast<int64_t>(std::min<__int128>(value, MaxFlow::infinite));
}

bool CutNetwork::runsAgain(const Level &level, OpIndex op) const {
  return level.nodeOfOp[op] != none && flow.onSourceSide(level.nodeOfOp[op]);
}

bool CutNetwork::isHeld(const Level &level, ValueIndex value) const {
  const OpIndex writer = graph.writer(value);
  return flow.onSourceSide(level.nodeOfValue[value]) && !(writer >= 0 && runsAgain(level, writer));
}

std::vector<ValueIndex> CutNetwork::held(size_t programPoint) const {
  const Level &level = levels[programPoint];
  std::vector<ValueIndex> held;
  for (ValueIndex value : level.values)
    if (isHeld(level, value))
      held.push_back(value);
  return held;
}

int64_t CutNetwork::heldBytes(size_t programPoint) const {
  const Level &level = levels[programPoint];
  int64_t bytes = 0;
  for (ValueIndex value : level.values)
    if (isHeld(level, value))
      bytes += graph.bytes(value);
  return bytes;
}

std::vector<bool> CutNetwork::repeated() const {
  std::vector<bool> repeated(graph.numOps(), false);
  for (OpIndex op : levels[0].ops)
    repeated[op] = runsAgain(levels[0], op);
  return repeated;
}
