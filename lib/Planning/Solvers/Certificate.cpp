//===- Certificate.cpp - How good a plan is, or why there is none ----------------===//

#include "Certificate.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>

using namespace llmmem::planning;

/// The ops whose first run makes a telling moment: the end of the forward, and the fullest steps of a plan.
static std::vector<OpIndex> tellingCuts(const Graph &graph, const Chain &chain,
                                        const std::vector<OpIndex> &steps) {
  constexpr size_t mostCuts = 6;
  std::vector<OpIndex> cuts{findCutOp(graph, chain)};
  Profile usage = profile(graph, steps);
  std::vector<int32_t> order;
  std::vector<bool> seen(graph.numOps(), false);
  for (int32_t step = 0; step < static_cast<int32_t>(steps.size()); ++step) {
    if (!seen[steps[step]])
      order.push_back(step);
    seen[steps[step]] = true;
  }
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return std::pair(-usage.bytes[a], a) < std::pair(-usage.bytes[b], b);
  });
  for (int32_t step : order) {
    if (cuts.size() >= mostCuts)
      break;
    if (!llvm::is_contained(cuts, steps[step]))
      cuts.push_back(steps[step]);
  }
  return cuts;
}

static void addWitness(const Graph &graph, const PeakBound &bound, Plan &plan, bool proved,
                       int64_t bytes, OpIndex op, std::vector<ValueIndex> values) {
  const Problem &problem = graph.problem();
  llvm::stable_sort(values, [&](ValueIndex a, ValueIndex b) {
    return problem.values[a].bytes > problem.values[b].bytes;
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
static void witnessOfSearch(const Graph &graph, const PeakBound &bound, const Candidate &least,
                            Plan &plan) {
  Profile usage = profile(graph, least.steps);
  std::vector<ValueIndex> live;
  for (const Instance &instance : instances(graph, least.steps))
    if (instance.from <= usage.peakStep && usage.peakStep <= instance.to &&
        graph.bytes(instance.value) > 0)
      live.push_back(instance.value);
  OpIndex op = usage.peakStep < 0 ? -1 : least.steps[usage.peakStep];
  addWitness(graph, bound, plan, /*proved=*/false, usage.peak, op, std::move(live));
}

void llmmem::planning::certify(const Graph &graph, BudgetSearch &search, bool found, Plan &plan) {
  const Problem &problem = graph.problem();
  PeakBound bound = peakLowerBound(graph);
  plan.costLowerBound = graph.baseCost();
  plan.bound = "every op once";
  std::vector<ValueIndex> mustHold;
  if (bound.op >= 0)
    for (ValueIndex value : graph.op(bound.op).reads)
      mustHold.push_back(value);
  if (bound.op >= 0)
    for (ValueIndex value : graph.op(bound.op).writes)
      mustHold.push_back(value);
  bool needsCuts = problem.budget && *problem.budget < search.keepingPeak();
  if (needsCuts && graph.numOps() > 0) {
    const Candidate *shown = found ? nullptr : search.leastPeak();
    for (OpIndex cut :
         tellingCuts(graph, search.mainChain(), shown ? shown->steps : plan.steps)) {
      CutRelaxation relaxation(graph, cut);
      if (!found) {
        CutChoice fewest = relaxation.chooseFewestBytes();
        if (relaxation.bytesBeside() + fewest.bytes > bound.bytes) {
          bound = {relaxation.bytesBeside() + fewest.bytes, cut};
          mustHold = fewest.kept;
        }
        continue;
      }
      std::optional<int64_t> extra = relaxation.costLowerBound(*problem.budget);
      if (extra && graph.baseCost() + *extra > plan.costLowerBound) {
        plan.costLowerBound = graph.baseCost() + *extra;
        plan.bound = "one cut in time at op " + std::to_string(graph.op(cut).id);
      }
    }
  }
  plan.peakLowerBound = bound.bytes;
  if (plan.status == Status::Feasible)
    return;
  if (problem.budget && bound.bytes > *problem.budget) {
    plan.status = Status::Infeasible;
    addWitness(graph, bound, plan, /*proved=*/true, bound.bytes, bound.op, std::move(mustHold));
  } else if (const Candidate *least = search.leastPeak()) {
    witnessOfSearch(graph, bound, *least, plan);
  }
  if (!found) {
    plan.steps.clear();
    plan.offsets.clear();
    plan.workspaces.clear();
    plan.peak = plan.arena = plan.cost = 0;
  }
}
