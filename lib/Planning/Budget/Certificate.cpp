//===- Certificate.cpp - Bounds of a plan, or the witness of none ----------------===//

#include "Certificate.h"
#include "Bounds/CostCertificate.h"
#include "Bounds/OpenCut.h"
#include "MicroBatches/WindowBound.h"
#include <algorithm>

using namespace llmmem::planning;

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

/// The witness of a failed search: the peak step of the plan with the least peak, and the values
/// live there.
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

/// Raises `bound` by the bytes that every schedule holds beside the largest ops; `values` becomes
/// the set of the best one.
static void raisePeakBound(const Graph &graph, llvm::ArrayRef<OpIndex> cuts, PeakBound &bound,
                           std::vector<ValueIndex> &values, BoundBasis &basis) {
  for (OpIndex cut : cuts) {
    CutRelaxation relaxation(graph, cut);
    CutChoice fewest = relaxation.chooseFewestBytes();
    if (relaxation.bytesBeside() + fewest.bytes <= bound.bytes)
      continue;
    bound = {relaxation.bytesBeside() + fewest.bytes, cut};
    values = std::move(fewest.kept);
    basis = {BoundBasis::Kind::OneCut, {cut}, {}};
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

/// By what the planner knows to hold of every plan under the budget.
static void raiseCostBounds(const Graph &graph, BudgetSearch &search, Plan &plan) {
  const MicroBatches *microBatches = search.microBatches();
  if (plan.cost > plan.costLowerBound && microBatches)
    raiseByWindows(graph, *microBatches, plan);
  // Moments of the whole graph take long where it is large, and prove less there.
  constexpr int32_t smallSize = 2000;
  if (plan.cost > plan.costLowerBound && (!microBatches || graph.numOps() <= smallSize))
    raiseCostBound(graph, findCutOp(graph, search.mainChain()), plan);
  if (plan.cost > plan.costLowerBound && search.isAnnealed())
    raiseByOpenCuts(graph, plan);
}

void llmmem::planning::certify(const Graph &graph, BudgetSearch &search, Frontier &frontier,
                               bool found, bool provesCost, Plan &plan) {
  const Problem &problem = graph.problem();
  PeakBound bound = peakLowerBound(graph);
  bool isTight = problem.budget && *problem.budget < search.given().peak;
  bool isExact = plan.peakLowerBound > bound.bytes; // by a search of every schedule
  std::vector<ValueIndex> beside;
  BoundBasis basis{BoundBasis::Kind::OneOp, {}, {}};
  if (bound.op >= 0)
    basis.ops = {bound.op};
  if (isTight && !found && !isExact && graph.numOps() > 0)
    raisePeakBound(graph, largestOps(graph), bound, beside, basis);
  if (isTight && found && provesCost)
    raiseCostBounds(graph, search, plan);
  if (bound.bytes >= plan.peakLowerBound)
    plan.peakBasis = std::move(basis);
  plan.peakLowerBound = std::max(plan.peakLowerBound, bound.bytes);
  if (plan.status == Status::Feasible)
    return;
  if (problem.budget && plan.peakLowerBound > *problem.budget) {
    plan.status = Status::Infeasible;
    plan.absenceBasis = plan.peakBasis;
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
