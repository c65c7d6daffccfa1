//===- CutNetwork.cpp - Cuts in time as a minimum cut ------------------------------===//

#include "CutNetwork.h"

using namespace llmmem::planning;

static constexpr int32_t source = 0, sink = 1;

CutNetwork::CutNetwork(const Graph &graph, llvm::ArrayRef<OpIndex> moments, size_t numPriced)
    : graph(graph), levels(numPriced), flow(0) {
  for (size_t index = 0; index < numPriced; ++index) {
    Level &level = levels[index];
    level.moment = moments[index];
    if (index == 0) {
      level.before.assign(graph.numOps(), false);
    } else {
      level.before = levels[index - 1].before;
      level.before[moments[index - 1]] = true;
    }
    markAncestors(graph, level.moment, level.before);
  }
  // An op that runs again after a moment runs again after the earlier ones too, so the last level
  // is built first.
  for (size_t index = numPriced; index-- > 0;)
    addLevel(index, moments.drop_front(index));
}

int64_t CutNetwork::neededBytes() const {
  int64_t bytes = 0;
  for (ValueIndex value : llvm::ArrayRef(levels[0].values).take_front(levels[0].numNeeded))
    bytes += graph.bytes(value);
  return bytes;
}

/// Whether keeping the value adds bytes: it is written before the moment and is neither resident
/// nor an operand or result of its op.
bool CutNetwork::counts(const Level &level, ValueIndex value) const {
  OpIndex writer = graph.writer(value);
  const Op &op = graph.op(level.moment);
  return (writer < 0 || level.before[writer]) && !graph.problem().values[value].resident &&
         !llvm::is_contained(op.reads, value) && !llvm::is_contained(op.writes, value);
}

void CutNetwork::needValue(Level &level, ValueIndex value) {
  if (level.nodeOfValue[value] >= 0 || !counts(level, value))
    return;
  level.nodeOfValue[value] = numNodes++;
  level.values.push_back(value);
}

void CutNetwork::needOp(Level &level, OpIndex op) {
  if (level.nodeOfOp[op] >= 0)
    return;
  level.nodeOfOp[op] = numNodes++;
  level.ops.push_back(op);
  for (ValueIndex value : graph.reads(op))
    needValue(level, value);
}

/// `later`: the level's moment and those after it.
void CutNetwork::addLevel(size_t index, llvm::ArrayRef<OpIndex> later) {
  Level &level = levels[index];
  level.nodeOfValue.assign(graph.numValues(), -1);
  level.nodeOfOp.assign(graph.numOps(), -1);
  std::vector<bool> after(graph.numOps(), false);
  for (OpIndex moment : later) {
    after[moment] = moment != level.moment;
    markDescendants(graph, moment, after);
  }
  addNodes(level, after, index + 1 < levels.size() ? &levels[index + 1] : nullptr);
}

void CutNetwork::addNodes(Level &level, const std::vector<bool> &after, const Level *next) {
  for (ValueIndex value = 0; value < graph.numValues(); ++value)
    if (graph.isKept(value) ||
        llvm::any_of(graph.readers(value), [&](OpIndex op) { return after[op]; }))
      needValue(level, value);
  level.numNeeded = level.values.size();
  if (next) {
    for (ValueIndex value : next->values)
      needValue(level, value);
    for (OpIndex op : next->ops)
      if (level.before[op])
        needOp(level, op);
  }
  for (size_t index = 0; index < level.values.size(); ++index)
    if (OpIndex writer = graph.writer(level.values[index]);
        writer >= 0 && graph.op(writer).recompute)
      needOp(level, writer);
}

template <typename Visit>
void CutNetwork::forEachArc(Visit visit) const {
  for (size_t index = 0; index < levels.size(); ++index) {
    const Level &level = levels[index];
    const Level *earlier = index > 0 ? &levels[index - 1] : nullptr;
    for (size_t position = 0; position < level.values.size(); ++position) {
      ValueIndex value = level.values[position];
      int32_t node = level.nodeOfValue[value];
      if (position < level.numNeeded)
        visit({Arc::Needed, index, source, node, -1, value});
      OpIndex writer = graph.writer(value);
      int32_t target = writer >= 0 && level.nodeOfOp[writer] >= 0 ? level.nodeOfOp[writer] : sink;
      visit({Arc::Held, index, node, target, -1, value});
      if (earlier && earlier->nodeOfValue[value] >= 0)
        visit({Arc::ValueBefore, index, node, earlier->nodeOfValue[value], -1, value});
    }
    for (OpIndex op : level.ops) {
      int32_t node = level.nodeOfOp[op];
      if (earlier && earlier->before[op])
        visit({Arc::OpBefore, index, node, earlier->nodeOfOp[op], op, -1});
      else
        visit({Arc::Repeated, index, node, sink, op, -1});
      for (ValueIndex value : graph.reads(op))
        if (level.nodeOfValue[value] >= 0)
          visit({Arc::Read, index, node, level.nodeOfValue[value], op, value});
    }
  }
}

void CutNetwork::addArcs() {
  flow = MaxFlow(numNodes);
  size_t count = 0;
  forEachArc([&](const Arc &) { ++count; });
  flow.reserve(count);
  forEachArc([&](const Arc &arc) {
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
  forEachArc([&](const Arc &arc) {
    if (int64_t amount = flow.flowThrough(number); amount > 0)
      visit(arc, amount);
    number += 2; // each has its reverse
  });
}

int64_t CutNetwork::solve(llvm::ArrayRef<int64_t> prices, int64_t costFactor) {
  graph.poll();
  if (!hasArcs) {
    hasArcs = true;
    addArcs();
  }
  for (PricedArc arc : pricedArcs) {
    // Never above the product: a capacity that is too low weakens the bound but keeps it valid.
    __int128 product = static_cast<__int128>(prices[arc.level]) * arc.bytes;
    flow.setCapacity(arc.arc, product >= MaxFlow::infinite ? MaxFlow::infinite
                                                           : static_cast<int64_t>(product));
  }
  for (CostArc arc : costArcs)
    flow.setCapacity(arc.arc, arc.cost * costFactor);
  return flow.solve(source, sink);
}

bool CutNetwork::runsAgain(const Level &level, OpIndex op) const {
  return level.nodeOfOp[op] >= 0 && flow.onSourceSide(level.nodeOfOp[op]);
}

std::vector<ValueIndex> CutNetwork::held(size_t moment) const {
  const Level &level = levels[moment];
  std::vector<ValueIndex> held;
  for (ValueIndex value : level.values) {
    OpIndex writer = graph.writer(value);
    if (flow.onSourceSide(level.nodeOfValue[value]) && !(writer >= 0 && runsAgain(level, writer)))
      held.push_back(value);
  }
  return held;
}

std::vector<bool> CutNetwork::repeated() const {
  std::vector<bool> repeated(graph.numOps(), false);
  for (OpIndex op : levels[0].ops)
    repeated[op] = runsAgain(levels[0], op);
  return repeated;
}
