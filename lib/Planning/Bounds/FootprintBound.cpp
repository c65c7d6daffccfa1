//===- FootprintBound.cpp - The bytes that every plan needs ----------------------------===//

#include "FootprintBound.h"
#include "CostCertificate.h"
#include "LastRunCut.h"
#include "llmmem/Planning/Bounds/Bounds.h"
#include "llmmem/Planning/Model/Schedule.h"
#include <algorithm>

using namespace llmmem::planning;

FootprintBound llmmem::planning::footprintOfOneOp(const Graph &graph) {
  const PeakBound bound = peakLowerBound(graph);
  FootprintBound least;
  least.bytes = bound.bytes;
  least.op = bound.op;
  if (bound.op >= 0)
    least.basis.ops = {bound.op};
  return least;
}

namespace {
/// The first run of an op in some schedule.
struct FirstRun {
  int64_t held; // bytes held there
  OpIndex op;
  int64_t most; // the most that it may prove
};
} // namespace

/// Returns the first runs. What `steps` holds at a first run is one of the choices there. Another
/// is to hold what was written before and cannot be recomputed, and to recompute all else.
static std::vector<FirstRun> firstRuns(const Graph &graph, llvm::ArrayRef<OpIndex> steps,
                                       const Profile &usage) {
  std::vector<FirstRun> runs;
  int64_t onlyOnce = 0; // bytes that cannot be recomputed
  auto add = [&](ValueIndex value) {
    onlyOnce += graph.problem().values[value].resident ? 0 : graph.bytes(value);
  };
  for (ValueIndex value = 0; value < graph.numValues(); ++value)
    if (graph.writer(value) < 0)
      add(value);
  std::vector<bool> hasRun(graph.numOps(), false);
  for (size_t step = 0; step < steps.size(); ++step) {
    const OpIndex op = steps[step];
    if (hasRun[op])
      continue;
    hasRun[op] = true;
    const int64_t held = usage.bytes[step];
    runs.push_back(
        {held, op, std::min(held - graph.topPadding(), fixedBytesAt(graph, op) + onlyOnce)});
    if (!graph.op(op).recompute)
      for (ValueIndex value : graph.writes(op))
        add(value);
  }
  return runs;
}

/// Raises the bound by the bytes that every schedule holds at the first runs of ops. Those where
/// `steps` holds most come first.
static void raiseByFirstRuns(const Graph &graph, llvm::ArrayRef<OpIndex> steps,
                             const Profile &usage, FootprintBound &least) {
  std::vector<FirstRun> runs = firstRuns(graph, steps, usage);
  llvm::sort(runs, [](const FirstRun &a, const FirstRun &b) {
    return std::pair(-a.held, a.op) < std::pair(-b.held, b.op);
  });
  for (const FirstRun &run : llvm::ArrayRef(runs).take_front(numCuts(graph))) {
    if (run.most <= least.bytes)
      continue;
    CutRelaxation relaxation(graph, run.op);
    CutChoice fewest = relaxation.chooseFewestBytes();
    const int64_t proved = relaxation.fixedBytesAt() + fewest.bytes;
    if (proved > least.bytes)
      least = {proved, run.op, std::move(fewest.kept), {BoundBasis::Kind::OneCut, {run.op}, {}}};
  }
}

static void raiseByLastRuns(const Graph &graph, llvm::ArrayRef<OpIndex> steps, const Profile &usage,
                            FootprintBound &least) {
  LastRunBound bound = lastRunBound(graph, steps, usage, least.bytes);
  if (bound.ops.empty())
    return;
  LastRunCut cut(graph, bound.ops);
  least.bytes = cut.footprintAt(bound.last);
  least.op = bound.last;
  least.heldValues = cut.held();
  least.basis = {BoundBasis::Kind::LastRuns, std::move(bound.ops), {}};
}

FootprintBound llmmem::planning::footprintOfEverySchedule(const Graph &graph,
                                                          llvm::ArrayRef<OpIndex> steps) {
  FootprintBound least = footprintOfOneOp(graph);
  const Profile usage = profile(graph, steps);
  raiseByLastRuns(graph, steps, usage, least); // this takes fewer flows than the other
  raiseByFirstRuns(graph, steps, usage, least);
  return least;
}
