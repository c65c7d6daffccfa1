//===- Prove.cpp - The proof of what a plan claims ---------------------------===//

#include "llmmem/Planning/Bounds/Prove.h"
#include "CutNetwork.h"
#include "LastRunCut.h"
#include "OpenCut.h"
#include "RoundBound.h"
#include "llmmem/Planning/Bounds/Bounds.h"

namespace llmmem::planning {
namespace {

using Kind = BoundBasis::Kind;

CutFlow flowAt(const Graph &graph, llvm::ArrayRef<OpIndex> programPoints, OpIndex later,
               llvm::ArrayRef<int64_t> prices, int64_t scale) {
  llvm::SmallVector<OpIndex, 4> all(programPoints.begin(), programPoints.end());
  if (later >= 0)
    all.push_back(later);
  CutNetwork network(graph, all, programPoints.size());
  network.solve(prices, scale);
  CutFlow flow{scale, later, std::vector<ProgramPointFlow>(programPoints.size())};
  for (size_t level = 0; level < programPoints.size(); ++level) {
    flow.programPoints[level].op = programPoints[level];
    flow.programPoints[level].price = prices[level];
  }
  network.forEachFlow([&](const CutNetwork::Arc &arc, int64_t amount) {
    ProgramPointFlow &programPoint = flow.programPoints[arc.level];
    switch (arc.kind) {
    case CutNetwork::Arc::Needed:
      return programPoint.needed.push_back({arc.value, amount});
    case CutNetwork::Arc::Held:
      return programPoint.held.push_back({arc.value, amount});
    case CutNetwork::Arc::ValueBefore:
      return programPoint.valuesBefore.push_back({arc.value, amount});
    case CutNetwork::Arc::OpBefore:
      return programPoint.opsBefore.push_back({arc.op, amount});
    case CutNetwork::Arc::Repeated:
      return programPoint.repeated.push_back({arc.op, amount});
    case CutNetwork::Arc::Read:
      return programPoint.reads.push_back({arc.op, arc.value, amount});
    }
  });
  return flow;
}

/// Returns the flow of the bytes that every schedule holds at the first run of `op`, where repeats
/// are free.
CutFlow bytesAt(const Graph &graph, OpIndex op, OpIndex later = -1) {
  return flowAt(graph, {op}, later, {1}, /*scale=*/0);
}

CutFlow emptyFlowAt(OpIndex op, OpIndex later) {
  CutFlow flow;
  flow.later = later;
  flow.programPoints.emplace_back().op = op;
  return flow;
}

/// Returns the flow at the best price. It tries `prices`, too.
CutFlow bestFlowAt(const Graph &graph, OpIndex op, OpIndex later, llvm::ArrayRef<int64_t> prices) {
  std::vector<bool> before(graph.numOps(), false);
  markAncestors(graph, op, before);
  if (later >= 0 && before[later])
    return emptyFlowAt(op, later); // an order that never happens
  const int64_t budget = *graph.problem().budget;
  CutRelaxation relaxation(graph, op, later);
  const std::optional<int64_t> proved = relaxation.costLowerBound(budget);
  if (!proved)
    return bytesAt(graph, op, later);
  int64_t best = *proved, price = relaxation.bestPrice();
  for (int64_t other : prices)
    if (int64_t bound = relaxation.boundAtPrice(budget, other); bound > best) {
      best = bound;
      price = other;
    }
  return flowAt(graph, {op}, later, {price}, relaxation.scale());
}

OpenCutFlow openFlowAt(const Graph &graph, OpIndex op, bool repeats) {
  OpenCut cut(graph, op);
  OpenCutFlow flow;
  flow.op = op;
  flow.repeats = repeats;
  if (!repeats) {
    flow.price = 1;
    cut.bytesWithoutRepeats();
  } else if (cut.costLowerBound(*graph.problem().budget)) {
    flow.price = cut.bestPrice();
    flow.scale = priceScale(graph);
    cut.solveAt(flow.price, flow.scale);
  } else {
    flow.price = 1;
    cut.solveAt(1, 0);
  }
  cut.forEachFlow([&](const OpenCut::Arc &arc, int64_t amount) {
    switch (arc.kind) {
    case OpenCut::Arc::First:
      return flow.first.push_back({arc.op, amount});
    case OpenCut::Arc::Descendant:
      return flow.descendants.push_back({arc.op, amount});
    case OpenCut::Arc::Ancestor:
      return flow.ancestors.push_back({arc.op, amount});
    case OpenCut::Arc::Repeated:
      return flow.repeated.push_back({arc.op, amount});
    case OpenCut::Arc::Order:
      return flow.order.push_back({graph.writer(arc.value), arc.op, amount});
    case OpenCut::Arc::Kept:
      return flow.kept.push_back({arc.value, amount});
    case OpenCut::Arc::Read:
      return flow.reads.push_back({arc.op, arc.value, amount});
    case OpenCut::Arc::Held:
      return flow.held.push_back({arc.value, amount});
    }
  });
  return flow;
}

Argument proveCost(const Graph &graph, const BoundBasis &basis) {
  using To = Argument::Kind;
  Argument argument;
  if (basis.kind == Kind::EverySchedule || basis.kind == Kind::EveryPlacement) {
    argument.kind = basis.kind == Kind::EverySchedule ? To::EverySchedule : To::EveryPlacement;
  } else if (basis.kind == Kind::OneCut) {
    argument.kind = To::Cuts;
    argument.cuts = {bestFlowAt(graph, basis.ops[0], -1, {})};
  } else if (basis.kind == Kind::TwoOrders) {
    argument.kind = To::Cuts;
    argument.cuts = {bestFlowAt(graph, basis.ops[0], basis.ops[1], basis.prices),
                     bestFlowAt(graph, basis.ops[1], basis.ops[0], basis.prices)};
  } else if (basis.kind == Kind::Together) {
    argument.kind = To::Cuts;
    argument.cuts = {flowAt(graph, basis.ops, -1, basis.prices, priceScale(graph))};
  } else if (basis.kind == Kind::Rounds) {
    argument.kind = To::Rounds;
    argument.rounds = roundArgument(graph, basis);
  } else if (basis.kind == Kind::OpenCut || basis.kind == Kind::SomeRepeat) {
    argument.kind = To::OpenCut;
    argument.openCut = openFlowAt(graph, basis.ops[0], basis.kind == Kind::OpenCut);
  }
  return argument;
}

LastRunFlow flowOf(const LastRunCut &cut) {
  LastRunFlow flow;
  cut.forEachFlow([&](const LastRunCut::Arc &arc, int64_t amount) {
    switch (arc.kind) {
    case LastRunCut::Arc::Kept:
      return flow.kept.push_back({arc.value, amount});
    case LastRunCut::Arc::Held:
      return flow.held.push_back({arc.value, amount});
    case LastRunCut::Arc::Read:
      return flow.reads.push_back({arc.op, arc.value, amount});
    }
  });
  return flow;
}

/// A flow that proves something of several ops is written once.
LastRunArgument proveLastRuns(const Graph &graph, const std::vector<OpIndex> &set) {
  const int64_t proved = footprintAtLastRun(graph, set);
  LastRunArgument argument{set, {}};
  LastRunCut cut(graph, set);
  std::vector<OpIndex> left = set;
  llvm::erase_if(left, [&](OpIndex op) { return !cut.mayBeLast(op); });
  auto addFlow = [&] {
    LastRunFlow flow = flowOf(cut);
    llvm::erase_if(left, [&](OpIndex op) {
      const bool isProved = cut.provedAt(op) >= proved;
      if (isProved)
        flow.ops.push_back(op);
      return isProved;
    });
    if (!flow.ops.empty())
      argument.flows.push_back(std::move(flow));
  };
  cut.solveAtNoOp();
  addFlow();
  while (!left.empty()) {
    cut.footprintAt(left.front());
    addFlow();
  }
  return argument;
}

Argument proveFootprint(const Graph &graph, const BoundBasis &basis) {
  using To = Argument::Kind;
  Argument argument;
  if (basis.kind == Kind::EverySchedule || basis.kind == Kind::EveryPlacement) {
    argument.kind = basis.kind == Kind::EverySchedule ? To::EverySchedule : To::EveryPlacement;
  } else if (basis.kind == Kind::OneCut) {
    argument.kind = To::Cuts;
    argument.cuts = {bytesAt(graph, basis.ops[0])};
  } else if (basis.kind == Kind::LastRuns) {
    argument.kind = To::LastRuns;
    argument.lastRuns = proveLastRuns(graph, basis.ops);
  } else if (basis.kind == Kind::OneOp && !basis.ops.empty()) {
    argument.kind = To::OneOp;
    argument.op = basis.ops[0];
  } else {
    argument.kind = To::Resident;
  }
  return argument;
}

} // namespace

Proof prove(const Problem &problem, const Plan &plan) {
  Proof proof;
  proof.budget = problem.budget;
  const Graph graph(problem);
  proof.cost = proveCost(graph, plan.costBasis);
  if (plan.status == Status::Infeasible)
    proof.infeasible = proveFootprint(graph, plan.infeasibilityBasis);
  // What schedules hold counts in exact sizes; what arenas take is rounded up to the alignment.
  Problem measured = problem;
  if (!plan.steps.empty())
    measured.alignment = 1;
  proof.peak = proveFootprint(Graph(measured), plan.peakBasis);
  return proof;
}

} // namespace llmmem::planning
