//===- Bounds.cpp - Lower bounds on peak and cost -------------------------------===//

#include "llmmem/Planning/Bounds/Bounds.h"
#include "CutNetwork.h"
#include <algorithm>

using namespace llmmem::planning;

struct CutRelaxation::Impl {
  Impl(const Graph &graph, llvm::ArrayRef<OpIndex> programPoints)
      : graph(graph), cut(programPoints.front()), network(graph, programPoints, /*numPriced=*/1),
        scale(priceScale(graph)) {}

  CutChoice choose(int64_t price, int64_t costFactor, int64_t &value);
  int64_t proved(int64_t value, int64_t price, int64_t capacity) const;
  /// Says whether everything may be held, so that no price proves anything.
  bool fitsUnchanged(int64_t capacity) const { return network.neededBytes() <= capacity; }

  const Graph &graph;
  OpIndex cut;
  CutNetwork network;
  int64_t scale;
  int64_t lastPrice = 0, bestPrice = 0, mostProved = INT64_MAX;
};

int64_t llmmem::planning::priceScale(const Graph &graph) {
  int64_t scale = 1;
  while (scale < (int64_t(1) << 50) && graph.baseCost() < ((int64_t(1) << 56) / scale))
    scale *= 2;
  return scale;
}

int64_t llmmem::planning::paddingOf(const Problem &problem) {
  int64_t alignment = std::max<int64_t>(problem.alignment, 1), sum = 0;
  auto gap = [&](int64_t bytes) { return (alignment - bytes % alignment) % alignment; };
  for (const Value &value : problem.values)
    if (!value.resident) // they lie outside the arena and count as they are
      sum += gap(value.bytes);
  int64_t workspace = 0; // the largest workspace of one op
  for (const Op &op : problem.ops)
    workspace = std::max(workspace, gap(op.workspace));
  return sum + workspace;
}

int64_t llmmem::planning::fixedBytesAt(const Graph &graph, OpIndex op) {
  return graph.residentBytes() + graph.footprint(op) - graph.topPadding();
}

CutChoice CutRelaxation::Impl::choose(int64_t price, int64_t costFactor, int64_t &value) {
  value = network.solve(price, costFactor);
  CutChoice choice;
  choice.recomputed = network.repeated();
  for (OpIndex op = 0; op < graph.numOps(); ++op)
    if (choice.recomputed[op])
      choice.recomputeCost += graph.op(op).cost;
  choice.kept = network.held(0);
  for (ValueIndex kept : choice.kept)
    choice.bytes += graph.bytes(kept);
  return choice;
}

/// Returns the dual bound: no choice within `capacity` costs less than the minimum cut minus price
/// x capacity.
int64_t CutRelaxation::Impl::proved(int64_t value, int64_t price, int64_t capacity) const {
  __int128 excess = static_cast<__int128>(value) - static_cast<__int128>(price) * capacity;
  return excess > 0 ? static_cast<int64_t>((excess + scale - 1) / scale) : 0;
}

int64_t CutRelaxation::lastPrice() const { return impl->lastPrice; }
int64_t CutRelaxation::bestPrice() const { return impl->bestPrice; }
int64_t CutRelaxation::mostProved() const { return impl->mostProved; }

int64_t CutRelaxation::boundAtPrice(int64_t budget, int64_t price) {
  int64_t capacity = budget - fixedBytesAt();
  if (price < 0 || capacity < 0 || impl->fitsUnchanged(capacity))
    return 0;
  return impl->proved(impl->network.solve(price, impl->scale), price, capacity);
}

/// Returns what the lines of two choices leave of the dual, rounded up: the least where one keeps
/// more than `capacity` and the other does not.
static int64_t highestBetween(const CutChoice &more, const CutChoice &less, int64_t capacity) {
  const __int128 width = static_cast<__int128>(more.bytes) - less.bytes;
  const __int128 rise = static_cast<__int128>(less.recomputeCost - more.recomputeCost) *
                        (static_cast<__int128>(more.bytes) - capacity);
  if (width <= 0 || rise <= 0)
    return std::max(more.recomputeCost, less.recomputeCost);
  return more.recomputeCost + static_cast<int64_t>((rise + width - 1) / width);
}

CutRelaxation::Range CutRelaxation::rangeAtPrice(int64_t budget, int64_t price,
                                                 int64_t recomputeCost) {
  const int64_t capacity = budget - fixedBytesAt();
  if (price < 0 || capacity < 0 || impl->fitsUnchanged(capacity))
    return {0, capacity < 0 ? INT64_MAX : 0};
  int64_t value = 0;
  const CutChoice choice = choose(price, value);
  CutChoice all, fitting;
  all.bytes = impl->network.neededBytes();
  fitting.bytes = capacity;
  fitting.recomputeCost = recomputeCost;
  return {impl->proved(value, price, capacity), choice.bytes > capacity
                                                    ? highestBetween(choice, fitting, capacity)
                                                    : highestBetween(all, choice, capacity)};
}

/// Returns the program points. A later op that is the cut itself adds nothing.
static llvm::SmallVector<OpIndex, 2> programPointsOf(OpIndex cut, OpIndex later) {
  if (later < 0 || later == cut)
    return {cut};
  return {cut, later};
}

CutRelaxation::CutRelaxation(const Graph &graph, OpIndex cut, OpIndex later)
    : impl(std::make_unique<Impl>(graph, programPointsOf(cut, later))) {}
CutRelaxation::~CutRelaxation() = default;

int64_t CutRelaxation::scale() const { return impl->scale; }

int64_t CutRelaxation::fixedBytesAt() const {
  return planning::fixedBytesAt(impl->graph, impl->cut);
}

CutChoice CutRelaxation::choose(int64_t price, int64_t &value) {
  return impl->choose(price, impl->scale, value);
}

CutChoice CutRelaxation::chooseFewestBytes() {
  int64_t value = 0;
  return impl->choose(/*price=*/1, /*costFactor=*/0, value);
}

/// Returns the price at which two choices cost the same.
static int64_t crossingPrice(const CutChoice &more, const CutChoice &less, int64_t scale) {
  __int128 difference = static_cast<__int128>(less.recomputeCost - more.recomputeCost) * scale;
  return static_cast<int64_t>(
      std::min<__int128>(difference / (more.bytes - less.bytes), INT64_MAX / 4));
}

std::optional<int64_t>
CutRelaxation::costLowerBound(int64_t budget, std::vector<CutChoice> *choices, int64_t known) {
  int64_t capacity = budget - fixedBytesAt();
  impl->mostProved = INT64_MAX;
  if (impl->fitsUnchanged(capacity))
    return 0;
  CutChoice less = chooseFewestBytes();
  if (less.bytes > capacity)
    return std::nullopt;
  int64_t value = 0;
  CutChoice more = choose(1, value);
  impl->bestPrice = 1;
  if (choices)
    choices->assign({more, less});
  if (more.bytes <= capacity)
    return impl->proved(value, 1, capacity);
  int64_t best = 0;
  // This is Newton's method on the concave dual: each step adds the line of one choice, and the
  // steps end at the maximum.
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
    if (const int64_t proved = impl->proved(value, price, capacity); proved > best) {
      best = proved;
      impl->bestPrice = price;
    }
    bool isOnMore = choice.bytes == more.bytes && choice.recomputeCost == more.recomputeCost;
    bool isOnLess = choice.bytes == less.bytes && choice.recomputeCost == less.recomputeCost;
    if (isOnMore || isOnLess)
      break;
    (choice.bytes > capacity ? more : less) = choice;
    impl->mostProved = highestBetween(more, less, capacity);
    if (impl->mostProved <= known)
      break;
  }
  return best;
}

std::vector<CutChoice> CutRelaxation::allChoices(size_t limit) {
  int64_t value = 0;
  std::vector<CutChoice> found;
  found.push_back(choose(1, value));
  found.push_back(chooseFewestBytes());
  // After Eisner and Severance (1976): between two choices, solve at the price where they tie; a
  // new choice splits the interval.
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
  for (OpIndex op = 0; op < graph.numOps(); ++op) {
    int64_t bytes = graph.residentBytes() + graph.footprint(op) - graph.topPadding(op);
    if (bytes > bound.bytes)
      bound = {bytes, op};
  }
  return bound;
}
