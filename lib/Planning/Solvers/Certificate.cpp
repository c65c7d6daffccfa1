//===- Certificate.cpp - How good a plan is, or why there is none ----------------===//

#include "Certificate.h"
#include <algorithm>

using namespace llmmem::planning;

namespace {
/// Looks for the moment of a schedule that proves most.
class CostCertifier {
public:
  CostCertifier(const Graph &graph, const Chain &chain, llvm::ArrayRef<OpIndex> steps);
  /// Raises `plan.costLowerBound` for `budget`.
  void run(int64_t budget, Plan &plan);

private:
  void raise(int64_t extra, std::string name, Plan &plan) const;
  int64_t pairBound(OpIndex cut, OpIndex other, int64_t budget,
                    llvm::ArrayRef<int64_t> prices) const;
  int64_t pairBound(OpIndex cut, OpIndex other, int64_t budget) const;

  const Graph &graph;
  OpIndex mainCut;
  std::vector<int32_t> firstStep; // per op
  std::vector<OpIndex> fullest;   // by what the schedule holds at their first run, most first
  std::vector<OpIndex> firstRuns; // in schedule order
};
} // namespace

/// Minimum cuts that one certificate may take, for its graph's size: a second for the largest.
static size_t numCuts(const Graph &graph) {
  constexpr int64_t work = 250000;
  return static_cast<size_t>(std::clamp<int64_t>(work / std::max(graph.numOps(), 1), 10, 160));
}

CostCertifier::CostCertifier(const Graph &graph, const Chain &chain, llvm::ArrayRef<OpIndex> steps)
    : graph(graph), mainCut(findCutOp(graph, chain)), firstStep(graph.numOps(), -1) {
  Profile usage = profile(graph, steps);
  for (int32_t step = 0; step < static_cast<int32_t>(steps.size()); ++step)
    if (firstStep[steps[step]] < 0) {
      firstStep[steps[step]] = step;
      firstRuns.push_back(steps[step]);
    }
  fullest = firstRuns;
  llvm::sort(fullest, [&](OpIndex a, OpIndex b) {
    return std::pair(-usage.bytes[firstStep[a]], a) < std::pair(-usage.bytes[firstStep[b]], b);
  });
  // What the plan avoided by another order may still prove something about every order.
  OpIndex given = graph.numOps() ? profile(graph, givenOrder(graph)).peakStep : -1;
  if (given >= 0)
    std::rotate(fullest.begin(), llvm::find(fullest, given), llvm::find(fullest, given) + 1);
}

void CostCertifier::raise(int64_t extra, std::string name, Plan &plan) const {
  if (graph.baseCost() + extra <= plan.costLowerBound)
    return;
  plan.costLowerBound = graph.baseCost() + extra;
  plan.bound = std::move(name);
}

/// `cut` runs first before `other`, or after it: the smaller of what the two orders prove, each at
/// the best of `prices`.
int64_t CostCertifier::pairBound(OpIndex cut, OpIndex other, int64_t budget,
                                 llvm::ArrayRef<int64_t> prices) const {
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
int64_t CostCertifier::pairBound(OpIndex cut, OpIndex other, int64_t budget) const {
  std::optional<int64_t> before = CutRelaxation(graph, cut, other).costLowerBound(budget);
  std::optional<int64_t> after = CutRelaxation(graph, other, cut).costLowerBound(budget);
  if (!before && !after)
    return 0; // neither order fits: the peak's bounds say so
  return std::min(before.value_or(INT64_MAX), after.value_or(INT64_MAX));
}

void CostCertifier::run(int64_t budget, Plan &plan) {
  auto name = [&](OpIndex op) { return std::to_string(graph.op(op).id); };
  size_t cuts = std::min(numCuts(graph), fullest.size());
  // The prices at which the first telling moments prove most: the end of the forward, and the
  // fullest ones.
  std::vector<int64_t> prices;
  std::vector<OpIndex> first{mainCut};
  first.insert(first.end(), fullest.begin(), fullest.begin() + cuts / 8);
  constexpr size_t mostPrices = 3;
  for (OpIndex op : first) {
    CutRelaxation relaxation(graph, op);
    int64_t extra = relaxation.costLowerBound(budget).value_or(0);
    raise(extra, "one cut in time at op " + name(op), plan);
    if (extra > 0 && relaxation.lastPrice() > 0 &&
        !llvm::is_contained(prices, relaxation.lastPrice()))
      prices.push_back(relaxation.lastPrice());
    if (prices.size() == mostPrices)
      break;
  }
  if (prices.empty())
    return;
  int64_t price = prices[0];
  // A price that is good for one cut is good for most: rank the others by what these prove there.
  auto provedBy = [&](OpIndex op) {
    CutRelaxation other(graph, op);
    int64_t best = 0;
    for (int64_t some : prices)
      best = std::max(best, other.boundAtPrice(budget, some));
    if (prices.size() == 1) // a fuller moment wants a higher price
      best = std::max(best, other.boundAtPrice(budget, price + price / 2));
    return best;
  };
  std::vector<std::pair<int64_t, OpIndex>> ranked;
  for (size_t index = 0; index < cuts; ++index) {
    OpIndex op = fullest[index];
    ranked.push_back({-provedBy(op), op});
  }
  llvm::sort(ranked);
  constexpr size_t refined = 3;
  for (size_t index = 0; index < std::min(refined, ranked.size()); ++index) {
    OpIndex op = ranked[index].second;
    raise(CutRelaxation(graph, op).costLowerBound(budget).value_or(0),
          "one cut in time at op " + name(op), plan);
  }
  // Full moments that prove nothing alone, for want of descendants (weight gradients): in either
  // order with an op that the rest of the step descends from.
  constexpr size_t mostLeaves = 3;
  constexpr int32_t smallSize = 2000; // of which more pairs can be tried, and at their best prices
  const bool isSmall = graph.numOps() <= smallSize;
  const size_t mostPartners = isSmall ? 32 : 4, mostRefined = isSmall ? 4 : 1;
  size_t leaves = 0;
  for (size_t index = 0; index < cuts && leaves < mostLeaves; ++index) {
    OpIndex leaf = fullest[index];
    auto alone = llvm::find_if(ranked, [&](auto &entry) { return entry.second == leaf; });
    if (-alone->first > -ranked[0].first / 2)
      continue;
    ++leaves;
    std::vector<std::pair<int64_t, OpIndex>> partners;
    for (size_t partner = 0; partner < std::min(mostPartners, ranked.size()); ++partner) {
      OpIndex other = ranked[partner].second;
      if (other != leaf)
        partners.push_back({-pairBound(leaf, other, budget, prices), other});
    }
    llvm::sort(partners);
    partners.resize(std::min(partners.size(), mostRefined));
    for (auto [proved, other] : partners)
      raise(std::max(-proved, pairBound(leaf, other, budget)),
            "two cuts in time at ops " + name(leaf) + " and " + name(other), plan);
  }
}

static void addWitness(const Graph &graph, const PeakBound &bound, Plan &plan, bool proved,
                       int64_t bytes, OpIndex op, std::vector<ValueIndex> values) {
  const Problem &problem = graph.problem();
  llvm::sort(values, [&](ValueIndex a, ValueIndex b) {
    return std::pair(-problem.values[a].bytes, a) < std::pair(-problem.values[b].bytes, b);
  });
  constexpr size_t mostValues = 16;
  values.resize(std::min(values.size(), mostValues));
  Witness witness;
  if (op >= 0)
    witness.op = op;
  witness.values = std::move(values);
  witness.bytes = bytes;
  witness.proved = proved;
  if (proved)
    witness.why = op < 0 ? "resident bytes alone exceed the budget"
                         : "this op cannot run in less: its operands, results and workspace, what "
                           "every schedule must hold beside them, and the resident bytes";
  else
    witness.why = "the search found nothing below this peak; proved is only that " +
                  std::to_string(bound.bytes) + " bytes are needed";
  plan.witness = std::move(witness);
}

/// Where the plan with the least peak is fullest, and what is live there.
static void witnessOfSearch(const Graph &graph, const PeakBound &bound,
                            llvm::ArrayRef<OpIndex> steps, Plan &plan) {
  Profile usage = profile(graph, steps);
  std::vector<ValueIndex> live;
  for (const Instance &instance : instances(graph, steps))
    if (instance.from <= usage.peakStep && usage.peakStep <= instance.to &&
        graph.bytes(instance.value) > 0)
      live.push_back(instance.value);
  OpIndex op = usage.peakStep < 0 ? -1 : steps[usage.peakStep];
  addWitness(graph, bound, plan, /*proved=*/false, usage.peak, op, std::move(live));
}

/// Raises `bound` by what must be live beside the largest ops whatever is kept; `values` is the
/// largest such set.
static void raisePeakBound(const Graph &graph, llvm::ArrayRef<OpIndex> cuts, PeakBound &bound,
                           std::vector<ValueIndex> &values) {
  for (OpIndex cut : cuts) {
    CutRelaxation relaxation(graph, cut);
    CutChoice fewest = relaxation.chooseFewestBytes();
    if (relaxation.bytesBeside() + fewest.bytes <= bound.bytes)
      continue;
    bound = {relaxation.bytesBeside() + fewest.bytes, cut};
    values = std::move(fewest.kept);
  }
}

static std::vector<OpIndex> largestOps(const Graph &graph) {
  std::vector<OpIndex> ops = givenOrder(graph);
  llvm::sort(ops, [&](OpIndex a, OpIndex b) {
    return std::pair(-graph.footprint(a), a) < std::pair(-graph.footprint(b), b);
  });
  ops.resize(std::min(ops.size(), numCuts(graph)));
  return ops;
}

void llmmem::planning::certify(const Graph &graph, BudgetSearch &search, Frontier &frontier,
                               bool found, Plan &plan) {
  const Problem &problem = graph.problem();
  PeakBound bound = peakLowerBound(graph);
  bool isTight = problem.budget && *problem.budget < search.given().peak;
  bool isExact = plan.peakLowerBound > bound.bytes; // by a search of every schedule
  std::vector<ValueIndex> beside;
  if (isTight && !found && !isExact && graph.numOps() > 0)
    raisePeakBound(graph, largestOps(graph), bound, beside);
  if (isTight && found && plan.cost > plan.costLowerBound)
    CostCertifier(graph, search.mainChain(), plan.steps).run(*problem.budget, plan);
  plan.peakLowerBound = std::max(plan.peakLowerBound, bound.bytes);
  if (plan.status == Status::Feasible)
    return;
  if (problem.budget && plan.peakLowerBound > *problem.budget) {
    plan.status = Status::Infeasible;
    if (bound.op >= 0) {
      llvm::append_range(beside, graph.op(bound.op).reads);
      llvm::append_range(beside, graph.op(bound.op).writes);
    }
    addWitness(graph, bound, plan, /*proved=*/true, plan.peakLowerBound, bound.op,
               std::move(beside));
    if (plan.peakLowerBound > bound.bytes)
      plan.witness->why = "every schedule was searched: none holds less at its fullest step";
  } else if (plan.witness && plan.witness->proved) {
    plan.status = Status::Infeasible; // the solver brought its own proof
  } else {
    witnessOfSearch(graph, bound, frontier.least()->steps, plan);
  }
  if (!found) {
    plan.steps.clear();
    plan.offsets.clear();
    plan.workspaces.clear();
    plan.peak = plan.arena = plan.cost = 0;
  }
}
