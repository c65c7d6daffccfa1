//===- CostCertificate.cpp - Lower bound on the cost of a plan --------------------===//

#include "CostCertificate.h"
#include "JointBound.h"
#include "llmmem/Planning/Bounds/Bounds.h"
#include "llmmem/Planning/Model/Schedule.h"
#include "llvm/ADT/Twine.h"
#include <algorithm>

using namespace llmmem::planning;

namespace {
/// Looks for the moments of a schedule that prove the highest bound.
class CostCertifier {
public:
  CostCertifier(const Graph &graph, OpIndex mainCut, Plan &plan);
  void run();

private:
  struct Proof {
    int64_t extra = 0; // cost of recomputation
    OpIndex op = -1;
    int64_t price = 0; // the best
  };
  /// Moments in the order of their first runs.
  struct Moments {
    llvm::SmallVector<OpIndex, 4> ops;
    llvm::SmallVector<int64_t, 4> prices;
    int64_t extra = 0;
  };
  void findPrices();
  void rankAlone();
  void raiseInPairs();
  void raiseTogether();
  Proof proveAlone(OpIndex op);
  /// Whether so little is left to prove that more moments are not worth their time.
  bool isProved() const {
    constexpr int64_t closeEnough = 1000; // a tenth of a percent of the step
    return plan.cost - plan.costLowerBound <= graph.baseCost() / closeEnough;
  }
  int64_t pairBound(OpIndex cut, OpIndex other, llvm::ArrayRef<int64_t> prices) const;
  int64_t pairBound(OpIndex cut, OpIndex other) const;
  std::vector<Moments> extensions(const Moments &moments) const;
  void raise(int64_t extra, BoundBasis basis, llvm::Twine name);
  std::string name(OpIndex op) const { return std::to_string(graph.op(op).id); }

  const Graph &graph;
  OpIndex mainCut;
  Plan &plan;
  int64_t budget;
  size_t cuts;                          // moments tried
  std::vector<OpIndex> fullest;         // by bytes held at their first run, most first
  llvm::SmallVector<int64_t, 3> prices; // the best prices of the first moments that prove anything
  std::vector<std::pair<int64_t, OpIndex>> ranked; // minus what `prices` prove, least first
  Proof alone;                                     // the best of one moment
};
} // namespace

size_t llmmem::planning::numCuts(const Graph &graph) {
  constexpr int64_t work = 250000;
  return static_cast<size_t>(std::clamp<int64_t>(work / std::max(graph.numOps(), 1), 10, 160));
}

CostCertifier::CostCertifier(const Graph &graph, OpIndex mainCut, Plan &plan)
    : graph(graph), mainCut(mainCut), plan(plan), budget(*graph.problem().budget) {
  Profile usage = profile(graph, plan.steps);
  std::vector<int32_t> firstStep(graph.numOps(), -1);
  for (int32_t step = 0; step < static_cast<int32_t>(plan.steps.size()); ++step)
    if (OpIndex op = plan.steps[step]; firstStep[op] < 0) {
      firstStep[op] = step;
      fullest.push_back(op);
    }
  llvm::sort(fullest, [&](OpIndex a, OpIndex b) {
    return std::pair(-usage.bytes[firstStep[a]], a) < std::pair(-usage.bytes[firstStep[b]], b);
  });
  // The peak step of the given order may prove a bound even where the plan's order avoids it.
  OpIndex given = graph.numOps() ? profile(graph, givenOrder(graph)).peakStep : -1;
  if (given >= 0)
    std::rotate(fullest.begin(), llvm::find(fullest, given), llvm::find(fullest, given) + 1);
  cuts = std::min(numCuts(graph), fullest.size());
}

void CostCertifier::raise(int64_t extra, BoundBasis basis, llvm::Twine name) {
  if (graph.baseCost() + extra <= plan.costLowerBound)
    return;
  plan.costLowerBound = graph.baseCost() + extra;
  plan.costBasis = std::move(basis);
  plan.bound = name.str();
}

CostCertifier::Proof CostCertifier::proveAlone(OpIndex op) {
  CutRelaxation relaxation(graph, op);
  Proof proof{relaxation.costLowerBound(budget).value_or(0), op, relaxation.lastPrice()};
  raise(proof.extra, {BoundBasis::Kind::OneCut, {op}, {}}, "one cut in time at op " + name(op));
  if (proof.extra > alone.extra)
    alone = proof;
  return proof;
}

/// Finds prices at the end of the forward and at the fullest moments.
void CostCertifier::findPrices() {
  std::vector<OpIndex> first{mainCut};
  first.insert(first.end(), fullest.begin(), fullest.begin() + cuts / 8);
  constexpr size_t mostPrices = 3;
  for (OpIndex op : first) {
    Proof proof = proveAlone(op);
    if (proof.extra > 0 && proof.price > 0 && !llvm::is_contained(prices, proof.price))
      prices.push_back(proof.price);
    if (prices.size() == mostPrices)
      break;
  }
  llvm::sort(prices); // a flow at one price is the start of that at a higher one
}

/// A price that is good for one cut is good for most. Ranks all moments by the bounds at these
/// prices and solves the best ones exactly.
void CostCertifier::rankAlone() {
  auto provedBy = [&](OpIndex op) {
    CutRelaxation other(graph, op);
    int64_t best = 0;
    for (int64_t some : prices)
      best = std::max(best, other.boundAtPrice(budget, some));
    if (prices.size() == 1) // a fuller moment has a higher best price
      best = std::max(best, other.boundAtPrice(budget, prices[0] + prices[0] / 2));
    return best;
  };
  for (OpIndex op : llvm::ArrayRef(fullest).take_front(cuts))
    ranked.push_back({-provedBy(op), op});
  llvm::sort(ranked);
  constexpr size_t refined = 3;
  for (auto [extra, op] : llvm::ArrayRef(ranked).take_front(refined))
    proveAlone(op);
}

/// `cut` first runs before `other` or after it: the smaller of the bounds for the two orders, each
/// at the best of `prices`.
int64_t CostCertifier::pairBound(OpIndex cut, OpIndex other, llvm::ArrayRef<int64_t> prices) const {
  auto provedBy = [&](OpIndex first, OpIndex later) {
    CutRelaxation relaxation(graph, first, later);
    int64_t best = 0;
    for (int64_t price : prices)
      best = std::max(best, relaxation.boundAtPrice(budget, price));
    return best;
  };
  int64_t before = provedBy(cut, other);
  return before == 0 ? 0 : std::min(before, provedBy(other, cut));
}

/// The same, each order at its own best price.
int64_t CostCertifier::pairBound(OpIndex cut, OpIndex other) const {
  std::optional<int64_t> before = CutRelaxation(graph, cut, other).costLowerBound(budget);
  std::optional<int64_t> after = CutRelaxation(graph, other, cut).costLowerBound(budget);
  if (!before && !after)
    return 0; // neither order fits: the bounds on the peak prove that
  return std::min(before.value_or(INT64_MAX), after.value_or(INT64_MAX));
}

/// Full moments that prove nothing alone because they have few descendants (weight gradients) are
/// paired, in either order, with an op that has many.
void CostCertifier::raiseInPairs() {
  constexpr size_t mostLeaves = 3;
  constexpr int32_t smallSize = 2000; // below it more pairs are tried, at their best prices
  const bool isSmall = graph.numOps() <= smallSize;
  const size_t mostPartners = isSmall ? 32 : 4, mostRefined = isSmall ? 4 : 1;
  size_t leaves = 0;
  for (size_t index = 0; index < cuts && leaves < mostLeaves; ++index) {
    OpIndex leaf = fullest[index];
    auto alone = llvm::find_if(ranked, [&](auto &entry) { return entry.second == leaf; });
    if (-alone->first > -ranked[0].first / 2)
      continue;
    ++leaves;
    const int64_t middle = prices[prices.size() / 2]; // ranks partners as well as all prices do
    std::vector<std::pair<int64_t, OpIndex>> partners;
    for (auto [extra, other] : llvm::ArrayRef(ranked).take_front(mostPartners))
      if (other != leaf)
        partners.push_back({-pairBound(leaf, other, middle), other});
    llvm::sort(partners);
    partners.resize(std::min(partners.size(), mostRefined));
    for (auto [rank, other] : partners)
      raise(std::max(pairBound(leaf, other, prices), pairBound(leaf, other)),
            {BoundBasis::Kind::TwoOrders, {leaf, other}, {prices.begin(), prices.end()}},
            "two cuts in time at ops " + name(leaf) + " and " + name(other));
  }
}

/// Adds one more moment: the end of the forward, or a full one. Only moments whose position among
/// the others is the same in every schedule qualify.
std::vector<CostCertifier::Moments> CostCertifier::extensions(const Moments &moments) const {
  struct Side {
    std::vector<bool> before, after;
  };
  std::vector<Side> sides;
  for (OpIndex op : moments.ops) {
    Side side{std::vector<bool>(graph.numOps()), std::vector<bool>(graph.numOps())};
    markAncestors(graph, op, side.before);
    markDescendants(graph, op, side.after);
    sides.push_back(std::move(side));
  }
  std::vector<OpIndex> candidates{mainCut};
  constexpr size_t fraction = 8;
  llvm::append_range(candidates, llvm::ArrayRef(fullest).take_front(cuts / fraction));
  std::vector<Moments> result;
  for (OpIndex op : candidates) {
    if (!llvm::all_of(sides, [&](Side &side) { return side.before[op] || side.after[op]; }))
      continue;
    size_t place = llvm::count_if(sides, [&](Side &side) { return side.after[op]; });
    Moments more = moments;
    more.ops.insert(more.ops.begin() + place, op);
    more.prices.insert(more.prices.begin() + place, 0);
    result.push_back(std::move(more));
  }
  return result;
}

/// Starts from the best single moment and adds, up to twice, the moment that raises the bound most.
void CostCertifier::raiseTogether() {
  const int64_t known = plan.cost - graph.baseCost();
  constexpr int64_t closeEnough = 400; // a quarter of a percent of the step
  constexpr size_t mostMoments = 3, refined = 2;
  constexpr int coarse = 8;
  const int fine = static_cast<int>(std::min<size_t>(64, cuts / 2));
  Moments best{{alone.op}, {std::max<int64_t>(alone.price, 0)}, alone.extra};
  while (best.ops.size() < mostMoments &&
         plan.cost - plan.costLowerBound > graph.baseCost() / closeEnough) {
    std::vector<Moments> tried = extensions(best);
    for (Moments &moments : tried)
      moments.extra = JointBound(graph, moments.ops, budget).raise(moments.prices, known, coarse);
    llvm::stable_sort(tried, [](auto &a, auto &b) { return a.extra > b.extra; });
    tried.resize(std::min(tried.size(), refined));
    int64_t last = best.extra;
    for (Moments &moments : tried) {
      moments.extra = JointBound(graph, moments.ops, budget).raise(moments.prices, known, fine);
      if (moments.extra > best.extra)
        best = std::move(moments);
    }
    if (best.extra == last)
      return;
    std::string names = name(best.ops[0]);
    for (OpIndex op : llvm::ArrayRef(best.ops).drop_front())
      names += ", " + name(op);
    raise(best.extra,
          {BoundBasis::Kind::Together,
           {best.ops.begin(), best.ops.end()},
           {best.prices.begin(), best.prices.end()}},
          "cuts in time together at ops " + names);
  }
}

void CostCertifier::run() {
  findPrices();
  if (prices.empty() || isProved())
    return;
  rankAlone();
  if (!isProved())
    raiseInPairs();
  raiseTogether();
}

void llmmem::planning::raiseCostBound(const Graph &graph, OpIndex mainCut, Plan &plan) {
  CostCertifier(graph, mainCut, plan).run();
}
