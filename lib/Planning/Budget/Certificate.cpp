//===- Certificate.cpp - Bounds of a plan, or the witness of none ----------------===//

#include "Certificate.h"
#include "Bounds/CostCertificate.h"
#include "Bounds/FootprintBound.h"
#include "Bounds/OpenCut.h"
#include "Bounds/RoundBound.h"
#include "MicroBatches/WindowBound.h"
#include "Tuning/Constants.h"
#include <algorithm>

using namespace llmmem::planning;

static std::string whyNone(const FootprintBound &bound, OpIndex op) {
  if (op < 0)
    return "resident bytes alone exceed the budget";
  const size_t others = bound.basis.ops.empty() ? 0 : bound.basis.ops.size() - 1;
  if (bound.basis.kind != BoundBasis::Kind::LastRuns || others == 0)
    return "this op cannot run in less: its operands, results and workspace, what else every "
           "schedule must hold then, and the resident bytes";
  return "whichever of this op and " + std::to_string(others) +
         (others == 1 ? " other" : " others") +
         " runs last cannot run in less: its operands, results and workspace, what must be held by "
         "then for the end, and the resident bytes";
}

static void addWitness(const Graph &graph, const FootprintBound &bound, Plan &plan, bool proved,
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
    witness.why = whyNone(bound, op);
  else
    witness.why = "the search found nothing below this peak; proved is only that " +
                  std::to_string(bound.bytes) + " bytes are needed";
  plan.witness = std::move(witness);
}

/// Returns the witness of a failed search: the peak step of the plan with the least peak, and the
/// values live there.
static void witnessOfSearch(const Graph &graph, const FootprintBound &bound,
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

/// Raises the bounds by what is proved for every plan under the budget.
static void raiseCostBounds(const Graph &graph, BudgetSearch &search, Plan &plan) {
  const MicroBatches *microBatches = search.microBatches();
  if (plan.cost > plan.costLowerBound && microBatches)
    raiseByWindows(graph, *microBatches, plan);
  // Cuts of the whole graph take long where it is large, and prove less there.
  if (plan.cost > plan.costLowerBound &&
      (!microBatches || graph.numOps() <= tuning::mostOpsSearchedWhole))
    raiseCostBound(graph, findCutOp(graph, search.mainChain()), plan);
  if (plan.cost > plan.costLowerBound && search.context().isAnnealed())
    raiseByOpenCuts(graph, plan);
  if (plan.cost > plan.costLowerBound && !microBatches)
    raiseByRounds(graph, search.mainChain(), plan);
}

void llmmem::planning::certify(const Graph &graph, BudgetSearch &search, Frontier &frontier,
                               const CertificateOptions &options, Plan &plan) {
  const Problem &problem = graph.problem();
  FootprintBound bound = footprintOfOneOp(graph);
  bool isTight = problem.budget && *problem.budget < search.context().given().peak;
  bool isExact = plan.peakLowerBound > bound.bytes; // by a search of every schedule
  const bool isMissing = isTight && !options.found;
  if (!isExact && (isMissing || options.provesFootprint))
    bound = frontier.footprintBound();
  if (isTight && options.found && options.provesCost)
    raiseCostBounds(graph, search, plan);
  if (bound.bytes >= plan.peakLowerBound)
    plan.peakBasis = bound.basis;
  plan.peakLowerBound = std::max(plan.peakLowerBound, bound.bytes);
  if (plan.status == Status::Feasible)
    return;
  if (problem.budget && plan.peakLowerBound > *problem.budget) {
    plan.status = Status::Infeasible;
    plan.infeasibilityBasis = plan.peakBasis;
    if (bound.op >= 0) {
      llvm::append_range(bound.heldValues, graph.op(bound.op).reads);
      llvm::append_range(bound.heldValues, graph.op(bound.op).writes);
    }
    addWitness(graph, bound, plan, /*proved=*/true, plan.peakLowerBound, bound.op,
               std::move(bound.heldValues));
    if (plan.peakLowerBound > bound.bytes)
      plan.witness->why = "every schedule was searched: none holds less at its fullest step";
  } else if (plan.witness && plan.witness->proved) {
    plan.status = Status::Infeasible; // the solver brought its own proof
  } else {
    witnessOfSearch(graph, bound, frontier.least()->steps, plan);
  }
  if (!options.found) {
    plan.steps.clear();
    plan.offsets.clear();
    plan.workspaces.clear();
    plan.peak = plan.arena = plan.cost = 0;
    // Of several variants one may have a plan, and what is proved holds for all of them.
    if (isTight && plan.status == Status::Unknown && options.provesCost && !search.microBatches())
      raiseByRounds(graph, search.mainChain(), plan);
  }
}
