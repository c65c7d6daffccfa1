//===- Bounds.cpp - What no plan can beat ----------------------------------------===//

#include "llmmem/Planning/Bounds.h"
#include "Solvers/MaxFlow.h"
#include <algorithm>

using namespace llmmem::planning;

namespace {
/// An arc whose capacity is a price times bytes.
struct PricedArc {
  int32_t arc;
  int64_t bytes;
};
struct CostArc {
  int32_t arc;
  OpIndex op;
};
} // namespace

/// The closure problem of one cut as a network (Picard, "Maximal closure of a graph", 1976, with a
/// choice at each value). Node of a value on the source's side: it is needed after the cut. Node of
/// an op: it runs again.
///   source -> value   infinite        needed by a descendant of the cut
///   value -> writer   price x bytes   needed, and its writer does not run again: it is kept
///   value -> sink     price x bytes   needed, and it has no writer that may run again: it is kept
///   op -> sink        cost            runs again
///   op -> operand     infinite        runs again, so its operands are needed
struct CutRelaxation::Impl {
  Impl(const Graph &graph, OpIndex cut, OpIndex later)
      : graph(graph), cut(cut), later(later), flow(0) {
    build();
  }

  void build();
  void markAncestors();
  void markDescendants();
  bool isFree(ValueIndex value) const;
  int32_t valueNode(ValueIndex value);
  int32_t opNode(OpIndex op);
  int64_t priced(int64_t price, int64_t bytes) const;
  CutChoice solve(int64_t &value);
  int64_t proved(int64_t value, int64_t price, int64_t capacity) const;
  CutChoice read() const;

  const Graph &graph;
  OpIndex cut, later;
  MaxFlow flow;
  int64_t scale = 1;
  int64_t lastPrice = 0;
  std::vector<bool> ancestor, descendant;
  std::vector<int32_t> nodeOfValue, nodeOfOp;
  std::vector<ValueIndex> values; // with a node
  std::vector<OpIndex> ops;       // with a node
  std::vector<PricedArc> pricedArcs;
  std::vector<CostArc> costArcs;
  int32_t numNodes = 2; // source 0, sink 1
};

void CutRelaxation::Impl::markAncestors() {
  ancestor.assign(graph.numOps(), false);
  std::vector<OpIndex> worklist{cut};
  while (!worklist.empty()) {
    OpIndex op = worklist.back();
    worklist.pop_back();
    for (ValueIndex value : graph.op(op).reads) {
      OpIndex writer = graph.writer(value);
      if (writer < 0 || ancestor[writer])
        continue;
      ancestor[writer] = true;
      worklist.push_back(writer);
    }
  }
}

void CutRelaxation::Impl::markDescendants() {
  descendant.assign(graph.numOps(), false);
  std::vector<OpIndex> worklist{cut};
  if (later >= 0 && later != cut) {
    descendant[later] = true;
    worklist.push_back(later);
  }
  while (!worklist.empty()) {
    OpIndex op = worklist.back();
    worklist.pop_back();
    for (ValueIndex value : graph.op(op).writes)
      for (OpIndex reader : graph.readers(value)) {
        if (descendant[reader])
          continue;
        descendant[reader] = true;
        worklist.push_back(reader);
      }
  }
}

/// In memory at the cut without a price: resident, read or written by the cut itself.
bool CutRelaxation::Impl::isFree(ValueIndex value) const {
  const Op &op = graph.op(cut);
  return graph.problem().values[value].resident || llvm::is_contained(op.reads, value) ||
         llvm::is_contained(op.writes, value);
}

int32_t CutRelaxation::Impl::valueNode(ValueIndex value) {
  if (nodeOfValue[value] < 0) {
    nodeOfValue[value] = numNodes++;
    values.push_back(value);
  }
  return nodeOfValue[value];
}

int32_t CutRelaxation::Impl::opNode(OpIndex op) {
  if (nodeOfOp[op] < 0) {
    nodeOfOp[op] = numNodes++;
    ops.push_back(op);
  }
  return nodeOfOp[op];
}

void CutRelaxation::Impl::build() {
  while (scale < (int64_t(1) << 50) && graph.baseCost() < ((int64_t(1) << 56) / scale))
    scale *= 2;
  markAncestors();
  markDescendants();
  nodeOfValue.assign(graph.numValues(), -1);
  nodeOfOp.assign(graph.numOps(), -1);
  for (ValueIndex value = 0; value < graph.numValues(); ++value) {
    OpIndex writer = graph.writer(value);
    if ((writer >= 0 && !ancestor[writer]) || isFree(value))
      continue;
    if (graph.isKept(value) ||
        llvm::any_of(graph.readers(value), [&](OpIndex op) { return descendant[op]; }))
      valueNode(value);
  }
  size_t numNeeded = values.size();
  for (size_t index = 0; index < values.size(); ++index) {
    OpIndex writer = graph.writer(values[index]);
    if (writer < 0 || !graph.op(writer).recompute || nodeOfOp[writer] >= 0)
      continue;
    opNode(writer);
    for (ValueIndex value : graph.op(writer).reads)
      if (!isFree(value))
        valueNode(value);
  }
  flow = MaxFlow(numNodes);
  for (size_t index = 0; index < values.size(); ++index) {
    ValueIndex value = values[index];
    if (index < numNeeded)
      flow.addArc(0, nodeOfValue[value], MaxFlow::infinite);
    OpIndex writer = graph.writer(value);
    int32_t target = writer >= 0 && nodeOfOp[writer] >= 0 ? nodeOfOp[writer] : 1;
    pricedArcs.push_back({flow.addArc(nodeOfValue[value], target, 0), graph.bytes(value)});
  }
  for (OpIndex op : ops) {
    costArcs.push_back({flow.addArc(nodeOfOp[op], 1, 0), op});
    for (ValueIndex value : graph.op(op).reads)
      if (nodeOfValue[value] >= 0)
        flow.addArc(nodeOfOp[op], nodeOfValue[value], MaxFlow::infinite);
  }
}

/// Rounded down: prices that are too low make the bound weaker, never wrong.
int64_t CutRelaxation::Impl::priced(int64_t price, int64_t bytes) const {
  __int128 product = static_cast<__int128>(price) * bytes;
  return product >= MaxFlow::infinite ? MaxFlow::infinite : static_cast<int64_t>(product);
}

CutChoice CutRelaxation::Impl::read() const {
  CutChoice choice;
  choice.recomputed.assign(graph.numOps(), false);
  for (OpIndex op : ops)
    if (flow.onSourceSide(nodeOfOp[op])) {
      choice.recomputed[op] = true;
      choice.recomputeCost += graph.op(op).cost;
    }
  for (ValueIndex value : values) {
    OpIndex writer = graph.writer(value);
    if (!flow.onSourceSide(nodeOfValue[value]) || (writer >= 0 && choice.recomputed[writer]))
      continue;
    choice.kept.push_back(value);
    choice.bytes += graph.bytes(value);
  }
  return choice;
}

CutChoice CutRelaxation::Impl::solve(int64_t &value) {
  value = flow.solve(0, 1);
  return read();
}

/// The dual: no choice within `capacity` costs less than the minimum cut, less what its bytes paid.
int64_t CutRelaxation::Impl::proved(int64_t value, int64_t price, int64_t capacity) const {
  __int128 excess = static_cast<__int128>(value) - static_cast<__int128>(price) * capacity;
  return excess > 0 ? static_cast<int64_t>((excess + scale - 1) / scale) : 0;
}

int64_t CutRelaxation::lastPrice() const { return impl->lastPrice; }

int64_t CutRelaxation::boundAtPrice(int64_t budget, int64_t price) {
  int64_t capacity = budget - bytesBeside();
  if (price < 0 || capacity < 0)
    return 0;
  int64_t value = 0;
  choose(price, value);
  return impl->proved(value, price, capacity);
}

CutRelaxation::CutRelaxation(const Graph &graph, OpIndex cut, OpIndex later)
    : impl(std::make_unique<Impl>(graph, cut, later)) {}
CutRelaxation::~CutRelaxation() = default;

int64_t CutRelaxation::scale() const { return impl->scale; }

int64_t CutRelaxation::bytesBeside() const {
  return impl->graph.residentBytes() + impl->graph.footprint(impl->cut) -
         (std::max<int64_t>(impl->graph.problem().alignment, 1) - 1);
}

CutChoice CutRelaxation::choose(int64_t price, int64_t &value) {
  for (PricedArc arc : impl->pricedArcs)
    impl->flow.setCapacity(arc.arc, impl->priced(price, arc.bytes));
  for (CostArc arc : impl->costArcs)
    impl->flow.setCapacity(arc.arc, impl->graph.op(arc.op).cost * impl->scale);
  return impl->solve(value);
}

CutChoice CutRelaxation::chooseFewestBytes() {
  for (PricedArc arc : impl->pricedArcs)
    impl->flow.setCapacity(arc.arc, arc.bytes);
  for (CostArc arc : impl->costArcs)
    impl->flow.setCapacity(arc.arc, 0);
  int64_t value = 0;
  return impl->solve(value);
}

/// The price at which two choices cost the same.
static int64_t crossingPrice(const CutChoice &more, const CutChoice &less, int64_t scale) {
  __int128 difference = static_cast<__int128>(less.recomputeCost - more.recomputeCost) * scale;
  return static_cast<int64_t>(
      std::min<__int128>(difference / (more.bytes - less.bytes), INT64_MAX / 4));
}

std::optional<int64_t> CutRelaxation::costLowerBound(int64_t budget,
                                                     std::vector<CutChoice> *choices) {
  int64_t capacity = budget - bytesBeside();
  CutChoice less = chooseFewestBytes();
  if (less.bytes > capacity)
    return std::nullopt;
  int64_t value = 0;
  CutChoice more = choose(1, value);
  if (more.bytes <= capacity)
    return more.recomputeCost;
  int64_t best = 0;
  // Newton's method on the concave dual: each step adds the line of one choice, and ends at the
  // maximum.
  constexpr int maxSteps = 40;
  impl->lastPrice = -1;
  for (int step = 0; step < maxSteps && more.bytes > capacity && more.bytes > less.bytes; ++step) {
    int64_t price = crossingPrice(more, less, impl->scale);
    if (price == impl->lastPrice || price < 0)
      break;
    impl->lastPrice = price;
    CutChoice choice = choose(price, value);
    if (choices)
      choices->push_back(choice);
    best = std::max(best, impl->proved(value, price, capacity));
    bool isOnMore = choice.bytes == more.bytes && choice.recomputeCost == more.recomputeCost;
    bool isOnLess = choice.bytes == less.bytes && choice.recomputeCost == less.recomputeCost;
    if (isOnMore || isOnLess)
      break;
    (choice.bytes > capacity ? more : less) = choice;
  }
  return best;
}

std::vector<CutChoice> CutRelaxation::allChoices(size_t limit) {
  int64_t value = 0;
  std::vector<CutChoice> found;
  found.push_back(choose(1, value));
  found.push_back(chooseFewestBytes());
  // Eisner and Severance (1976): between two choices, ask at the price where they tie; what is new
  // splits.
  std::vector<std::pair<size_t, size_t>> gaps{{0, 1}};
  for (size_t next = 0; next < gaps.size() && found.size() < limit; ++next) {
    auto [left, right] = gaps[next];
    if (found[left].bytes <= found[right].bytes)
      continue;
    int64_t price = crossingPrice(found[left], found[right], impl->scale);
    if (price <= 0)
      continue;
    CutChoice choice = choose(price, value);
    auto isSame = [&](const CutChoice &other) {
      return choice.bytes == other.bytes && choice.recomputeCost == other.recomputeCost;
    };
    if (isSame(found[left]) || isSame(found[right]) || choice.bytes > found[left].bytes ||
        choice.bytes < found[right].bytes)
      continue;
    found.push_back(std::move(choice));
    gaps.push_back({left, found.size() - 1});
    gaps.push_back({found.size() - 1, right});
  }
  llvm::sort(found, [](const CutChoice &a, const CutChoice &b) { return a.bytes > b.bytes; });
  return found;
}

PeakBound llmmem::planning::peakLowerBound(const Graph &graph) {
  PeakBound bound{graph.residentBytes(), -1};
  int64_t padding = std::max<int64_t>(graph.problem().alignment, 1) - 1;
  for (OpIndex op = 0; op < graph.numOps(); ++op) {
    int64_t bytes = graph.residentBytes() + graph.footprint(op) - padding;
    if (bytes > bound.bytes)
      bound = {bytes, op};
  }
  return bound;
}
