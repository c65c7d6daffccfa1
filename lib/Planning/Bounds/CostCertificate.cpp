//===- CostCertificate.cpp - Lower bound on the cost of a plan --------------------===//

#include "CostCertificate.h"
#include "ChoiceBound.h"
#include "JointBound.h"
#include "OpenCut.h"
#include "llmmem/Planning/Bounds/Bounds.h"
#include "llmmem/Planning/Model/Schedule.h"
#include "llvm/ADT/Twine.h"
#include <algorithm>

using namespace llmmem::planning;

namespace {
/// A number by which a program point is ranked, and its op.
using Ranked = std::pair<int64_t, OpIndex>;

/// What the plan does itself from each program point on, the first run of an op. It is one of the
/// choices of a cut there, so no cut proves more.
class Ceilings {
public:
  /// `usage` is the profile of the plan.
  Ceilings(const Graph &graph, const Plan &plan, const Profile &usage);
  /// Returns the step at which `op` first runs in the plan.
  int32_t firstStep(OpIndex op) const { return firstSteps[op]; }
  /// Returns a bound on what a cut at the first run of `op` proves, at this price or at any.
  int64_t at(OpIndex op, int64_t price) const;
  int64_t of(OpIndex op) const { return excess[op] > 0 ? INT64_MAX : costAfter[op]; }

private:
  const Graph &graph;
  std::vector<int32_t> firstSteps; // per op
  std::vector<int64_t> costAfter;  // per op: cost of what runs again after its first run
  std::vector<int64_t> excess;     // per op: bytes held there above what the budget allows
};

/// The program points by what a few prices prove there.
class PointRanking {
public:
  PointRanking(const Graph &graph, const Ceilings &ceilings)
      : graph(graph), ceilings(ceilings), budget(*graph.problem().budget) {}

  int64_t provedAt(OpIndex op) const;
  /// Adds the points, after `prices` was filled.
  void add(llvm::ArrayRef<OpIndex> points);
  /// Returns the points at which the prices prove most, as if all had been ranked: minus what they
  /// prove, the least first. Those whose ceiling is lower than what is found are left alone.
  llvm::ArrayRef<Ranked> best(size_t count);
  /// Returns what the prices prove at a point that was ranked.
  std::optional<int64_t> find(OpIndex op) const;

  /// The best prices of the first program points that prove anything.
  llvm::SmallVector<int64_t, 3> prices;

private:
  const Graph &graph;
  const Ceilings &ceilings;
  const int64_t budget;
  std::vector<Ranked> unranked; // ceilings of program points, the lowest first
  std::vector<Ranked> ranked;   // minus what `prices` prove, the least first
};

/// Looks for the program points of a schedule that prove the highest bound.
class CostCertifier {
public:
  CostCertifier(const Graph &graph, OpIndex mainCut, Plan &plan);
  void run();

private:
  CostCertifier(const Graph &graph, OpIndex mainCut, Plan &plan, const Profile &usage);
  struct Proof {
    int64_t extra = 0; // cost of recomputation
    OpIndex op = -1;
    int64_t price = 0; // the best price
  };
  /// The program points in the order of their first runs.
  struct ProgramPoints {
    llvm::SmallVector<OpIndex, 4> ops;
    llvm::SmallVector<int64_t, 4> prices;
    int64_t extra = 0;
  };
  void findPrices();
  void rankAlone();
  void raiseByOpenCut(OpIndex op);
  void raiseInPairs();
  void raiseTogether();
  Proof proveAlone(OpIndex op, int64_t known = -1);
  int64_t provedExtra() const { return plan.costLowerBound - graph.baseCost(); }
  /// Says whether so little is left to prove that more program points are not worth their time.
  bool isProved() const {
    constexpr int64_t closeEnough = 1000; // a tenth of a percent of the step
    return plan.cost - plan.costLowerBound <= graph.baseCost() / closeEnough;
  }
  int64_t pairBound(OpIndex cut, OpIndex other, int64_t price, int64_t enough) const;
  int64_t pairBound(OpIndex cut, OpIndex other, llvm::ArrayRef<int64_t> prices) const;
  std::vector<std::pair<OpIndex, ProgramPoints>>
  extensions(const ProgramPoints &programPoints) const;
  ChoiceBound boundByChoices() const {
    return {graph, alone.op, choicesAlone, budget,
            std::max<int64_t>(plan.cost - graph.baseCost(), 1)};
  }
  void raise(int64_t extra, BoundBasis basis, llvm::Twine name);
  std::string name(OpIndex op) const { return std::to_string(graph.op(op).id); }

  const Graph &graph;
  OpIndex mainCut;
  Plan &plan;
  int64_t budget;
  size_t cuts;                  // number of program points tried
  std::vector<OpIndex> fullest; // sorted by bytes held at their first run, most first
  Ceilings ceilings;
  PointRanking ranking;
  llvm::SmallVector<OpIndex, 8> provedAtBest; // program points solved at prices of their own
  Proof alone;                                // the best proof of one program point
  std::vector<CutChoice> choicesAlone;        // the choices that it has found
};
} // namespace

size_t llmmem::planning::numCuts(const Graph &graph) {
  constexpr int64_t work = 250000;
  return static_cast<size_t>(std::clamp<int64_t>(work / std::max(graph.numOps(), 1), 10, 160));
}

Ceilings::Ceilings(const Graph &graph, const Plan &plan, const Profile &usage)
    : graph(graph), firstSteps(graph.numOps(), -1), costAfter(graph.numOps(), 0),
      excess(graph.numOps(), 0) {
  const auto numSteps = static_cast<int32_t>(plan.steps.size());
  for (int32_t step = numSteps; step-- > 0;)
    firstSteps[plan.steps[step]] = step;
  std::vector<bool> runsAgain(graph.numOps(), false);
  int64_t cost = 0;
  for (int32_t step = numSteps; step-- > 0;) {
    const OpIndex op = plan.steps[step];
    if (firstSteps[op] == step) {
      costAfter[op] = cost;
      excess[op] = usage.bytes[step] - graph.topPadding() - *graph.problem().budget;
    } else if (!runsAgain[op]) {
      runsAgain[op] = true;
      cost += graph.op(op).cost;
    }
  }
}

int64_t Ceilings::at(OpIndex op, int64_t price) const {
  const __int128 more = static_cast<__int128>(price) * excess[op] / priceScale(graph);
  const __int128 most = costAfter[op] + more + (excess[op] > 0); // rounded up
  return static_cast<int64_t>(std::clamp<__int128>(most, 0, INT64_MAX));
}

int64_t PointRanking::provedAt(OpIndex op) const {
  CutRelaxation relaxation(graph, op);
  int64_t best = 0;
  for (int64_t price : prices)
    best = std::max(best, relaxation.boundAtPrice(budget, price));
  if (prices.size() == 1) // a fuller program point has a higher best price
    best = std::max(best, relaxation.boundAtPrice(budget, prices[0] + prices[0] / 2));
  return best;
}

void PointRanking::add(llvm::ArrayRef<OpIndex> points) {
  for (OpIndex op : points) {
    int64_t most = 0;
    for (int64_t price : prices)
      most = std::max(most, ceilings.at(op, price));
    if (prices.size() == 1)
      most = std::max(most, ceilings.at(op, prices[0] + prices[0] / 2));
    unranked.push_back({most, op});
  }
  llvm::sort(unranked);
}

llvm::ArrayRef<Ranked> PointRanking::best(size_t count) {
  while (!unranked.empty() &&
         (ranked.size() < count || unranked.back().first >= -ranked[count - 1].first)) {
    const auto [most, op] = unranked.back();
    unranked.pop_back();
    const Ranked entry(most > 0 ? -provedAt(op) : 0, op);
    ranked.insert(llvm::upper_bound(ranked, entry), entry);
  }
  return llvm::ArrayRef(ranked).take_front(count);
}

std::optional<int64_t> PointRanking::find(OpIndex op) const {
  const auto at = llvm::find_if(ranked, [&](const Ranked &entry) { return entry.second == op; });
  return at == ranked.end() ? std::nullopt : std::optional(-at->first);
}

CostCertifier::CostCertifier(const Graph &graph, OpIndex mainCut, Plan &plan)
    : CostCertifier(graph, mainCut, plan, profile(graph, plan.steps)) {}

CostCertifier::CostCertifier(const Graph &graph, OpIndex mainCut, Plan &plan, const Profile &usage)
    : graph(graph), mainCut(mainCut), plan(plan), budget(*graph.problem().budget),
      ceilings(graph, plan, usage), ranking(graph, ceilings) {
  for (OpIndex op = 0; op < graph.numOps(); ++op)
    if (ceilings.firstStep(op) >= 0)
      fullest.push_back(op);
  llvm::sort(fullest, [&](OpIndex a, OpIndex b) {
    return std::pair(-usage.bytes[ceilings.firstStep(a)], a) <
           std::pair(-usage.bytes[ceilings.firstStep(b)], b);
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

/// Proves a bound at one op. `known` is what it does not have to prove again.
CostCertifier::Proof CostCertifier::proveAlone(OpIndex op, int64_t known) {
  provedAtBest.push_back(op);
  CutRelaxation relaxation(graph, op);
  std::vector<CutChoice> choices;
  Proof proof{relaxation.costLowerBound(budget, &choices, known).value_or(0), op,
              relaxation.lastPrice()};
  raise(proof.extra, {BoundBasis::Kind::OneCut, {op}, {}}, "one cut in time at op " + name(op));
  if (proof.extra > alone.extra) {
    alone = proof;
    choicesAlone = std::move(choices);
  }
  return proof;
}

/// Finds prices at the end of the forward and at the fullest program points.
void CostCertifier::findPrices() {
  std::vector<OpIndex> first{mainCut};
  first.insert(first.end(), fullest.begin(), fullest.begin() + cuts / 8);
  constexpr size_t mostPrices = 3;
  for (OpIndex op : first) {
    Proof proof = proveAlone(op);
    if (proof.extra > 0 && proof.price > 0 && !llvm::is_contained(ranking.prices, proof.price))
      ranking.prices.push_back(proof.price);
    if (ranking.prices.size() == mostPrices)
      break;
  }
  llvm::sort(ranking.prices); // a flow at one price is the start of that at a higher one
}

/// Ranks all program points by the bounds at the known prices and solves the best ones exactly: a
/// price that is good for one cut is good for most.
void CostCertifier::rankAlone() {
  ranking.add(llvm::ArrayRef(fullest).take_front(cuts));
  constexpr size_t refined = 3;
  for (auto [extra, op] : ranking.best(refined))
    if (!llvm::is_contained(provedAtBest, op))
      proveAlone(op, alone.extra);
}

/// Raises the bound by an open cut. Ops of the backward that need no gradient, as the derivative of
/// a square, may first run on either side of a program point, so what they read or write is held
/// there or recomputed. A cut that leaves them out proved half a percent less of a Llama of 32
/// layers as PyTorch writes it.
void CostCertifier::raiseByOpenCut(OpIndex op) {
  raise(OpenCut(graph, op).costLowerBound(budget).value_or(0),
        {BoundBasis::Kind::OpenCut, {op}, {}}, "one open cut in time at op " + name(op));
}

/// Returns the smaller of the bounds at `price` for the two orders in which `cut` first runs before
/// `other` or after it. Where that is below `enough`, it returns some number below `enough`. It
/// returns less than 0 where no prices can raise what is proved.
int64_t CostCertifier::pairBound(OpIndex cut, OpIndex other, int64_t price, int64_t enough) const {
  const bool isFirst = ceilings.firstStep(cut) < ceilings.firstStep(other);
  const OpIndex first = isFirst ? cut : other, second = isFirst ? other : cut;
  const int64_t most = ceilings.of(first);
  if (most <= provedExtra())
    return -1;
  const CutRelaxation::Range range =
      CutRelaxation(graph, first, second).rangeAtPrice(budget, price, most);
  if (range.most <= provedExtra())
    return -1;
  if (range.proved == 0 || range.proved < enough)
    return range.proved;
  return std::min(range.proved, CutRelaxation(graph, second, first).boundAtPrice(budget, price));
}

/// Returns the same with each order at the best of `prices` or at its own. It is not the exact
/// bound where it is no more than what is proved.
int64_t CostCertifier::pairBound(OpIndex cut, OpIndex other, llvm::ArrayRef<int64_t> prices) const {
  auto provedBy = [&](OpIndex first, OpIndex later) {
    CutRelaxation relaxation(graph, first, later);
    const std::optional<int64_t> own = relaxation.costLowerBound(budget, nullptr, provedExtra());
    int64_t best = own.value_or(INT64_MAX); // where nothing fits, that order never happens
    if (relaxation.mostProved() <= provedExtra())
      return best;
    for (int64_t price : prices)
      best = std::max(best, relaxation.boundAtPrice(budget, price));
    return best;
  };
  const int64_t before = provedBy(cut, other);
  if (before <= provedExtra())
    return 0;
  const int64_t both = std::min(before, provedBy(other, cut));
  return both == INT64_MAX ? 0 : both; // neither order fits: the bounds on the peak prove that
}

/// Pairs full program points that prove nothing alone because they have few descendants (weight
/// gradients), in either order, with an op that has many.
void CostCertifier::raiseInPairs() {
  constexpr size_t mostLeaves = 3;
  constexpr int32_t smallSize = 2000; // below it more pairs are tried, at their best prices
  const bool isSmall = graph.numOps() <= smallSize;
  const size_t mostPartners = isSmall ? 32 : 4, mostRefined = isSmall ? 4 : 1;
  size_t leaves = 0;
  const int64_t half = -ranking.best(1)[0].first / 2;
  const ChoiceBound most = boundByChoices();
  for (size_t index = 0; index < cuts && leaves < mostLeaves; ++index) {
    OpIndex leaf = fullest[index];
    const std::optional<int64_t> proved = ranking.find(leaf);
    if (proved ? *proved > half : ceilings.of(leaf) > half && ranking.provedAt(leaf) > half)
      continue;
    ++leaves;
    if (most.mostAt(leaf) <= provedExtra()) // then the order in which it comes first does not
      continue;
    const int64_t middle =
        ranking.prices[ranking.prices.size() / 2];     // ranks partners as well as all prices do
    std::vector<std::pair<int64_t, OpIndex>> partners; // minus their bounds
    for (auto [extra, other] : ranking.best(mostPartners)) {
      if (other == leaf || most.mostAt(other, leaf) <= provedExtra())
        continue;
      const int64_t enough = partners.size() == mostRefined ? -partners.back().first : 0;
      const int64_t bound = pairBound(leaf, other, middle, enough);
      if (bound < 0)
        continue;
      const std::pair entry(-bound, other);
      partners.insert(llvm::upper_bound(partners, entry), entry);
      partners.resize(std::min(partners.size(), mostRefined));
    }
    for (auto [rank, other] : partners)
      raise(pairBound(leaf, other, ranking.prices),
            {BoundBasis::Kind::TwoOrders,
             {leaf, other},
             {ranking.prices.begin(), ranking.prices.end()}},
            "two cuts in time at ops " + name(leaf) + " and " + name(other));
  }
}

/// Adds one more program point: the end of the forward, or a full one. Only points whose position
/// among the others is the same in every schedule qualify.
std::vector<std::pair<OpIndex, CostCertifier::ProgramPoints>>
CostCertifier::extensions(const ProgramPoints &programPoints) const {
  struct Side {
    std::vector<bool> before, after;
  };
  std::vector<Side> sides;
  for (OpIndex op : programPoints.ops) {
    Side side{std::vector<bool>(graph.numOps()), std::vector<bool>(graph.numOps())};
    markAncestors(graph, op, side.before);
    markDescendants(graph, op, side.after);
    sides.push_back(std::move(side));
  }
  std::vector<OpIndex> candidates{mainCut};
  constexpr size_t fraction = 8;
  llvm::append_range(candidates, llvm::ArrayRef(fullest).take_front(cuts / fraction));
  std::vector<std::pair<OpIndex, ProgramPoints>> result;
  for (OpIndex op : candidates) {
    if (!llvm::all_of(sides, [&](Side &side) { return side.before[op] || side.after[op]; }))
      continue;
    size_t place = llvm::count_if(sides, [&](Side &side) { return side.after[op]; });
    ProgramPoints more = programPoints;
    more.ops.insert(more.ops.begin() + place, op);
    more.prices.insert(more.prices.begin() + place, 0);
    result.push_back({op, std::move(more)});
  }
  return result;
}

/// Starts from the best single program point and adds, up to twice, the point that raises the bound
/// most.
void CostCertifier::raiseTogether() {
  const int64_t known = plan.cost - graph.baseCost();
  constexpr int64_t closeEnough = 400; // a quarter of a percent of the step
  constexpr size_t mostProgramPoints = 3, refined = 2;
  constexpr int coarse = 8;
  const int fine = static_cast<int>(std::min<size_t>(64, cuts / 2));
  ProgramPoints best{{alone.op}, {std::max<int64_t>(alone.price, 0)}, alone.extra};
  const ChoiceBound most = boundByChoices();
  while (best.ops.size() < mostProgramPoints &&
         plan.cost - plan.costLowerBound > graph.baseCost() / closeEnough) {
    struct Trial {
      ProgramPoints programPoints;
      std::unique_ptr<JointBound> bound; // goes on with the choices that it has found
    };
    std::vector<Trial> tried;
    for (auto &[op, programPoints] : extensions(best)) {
      if (best.ops.size() == 1 && most.mostTogether(op) <= best.extra)
        continue;
      auto bound = std::make_unique<JointBound>(graph, programPoints.ops, budget);
      programPoints.extra = bound->raise(programPoints.prices, known, coarse, best.extra);
      tried.push_back({std::move(programPoints), std::move(bound)});
    }
    llvm::stable_sort(
        tried, [](auto &a, auto &b) { return a.programPoints.extra > b.programPoints.extra; });
    int64_t last = best.extra;
    for (auto &[programPoints, bound] : llvm::MutableArrayRef(tried).take_front(refined)) {
      if (bound->mostProved() > best.extra)
        programPoints.extra = bound->raise(programPoints.prices, known, fine, best.extra);
      if (programPoints.extra > best.extra)
        best = std::move(programPoints);
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
  if (isProved())
    return;
  const OpIndex first = alone.op;
  if (first < 0) { // no price proves anything
    raiseByOpenCut(mainCut);
    raiseByOpenCut(fullest.front());
    return;
  }
  raiseByOpenCut(first);
  if (ranking.prices.empty() || isProved())
    return;
  rankAlone();
  if (alone.op != first)
    raiseByOpenCut(alone.op);
  if (!isProved())
    raiseInPairs();
  raiseTogether();
}

void llmmem::planning::raiseCostBound(const Graph &graph, OpIndex mainCut, Plan &plan) {
  CostCertifier(graph, mainCut, plan).run();
}
