//===- NeedBound.cpp - The bytes that every plan needs ---------------------------------===//

#include "NeedBound.h"
#include "CostCertificate.h"
#include "LastRunCut.h"
#include "llmmem/Planning/Bounds/Bounds.h"
#include "llmmem/Planning/Model/Schedule.h"
#include <algorithm>

using namespace llmmem::planning;

NeedBound llmmem::planning::needOfOneOp(const Graph &graph) {
  const PeakBound bound = peakLowerBound(graph);
  NeedBound need;
  need.bytes = bound.bytes;
  need.op = bound.op;
  if (bound.op >= 0)
    need.basis.ops = {bound.op};
  return need;
}

/// By the bytes that every schedule holds beside the first runs of ops, those first where `steps`
/// holds most.
static void raiseByFirstRuns(const Graph &graph, llvm::ArrayRef<OpIndex> steps,
                             const Profile &usage, NeedBound &need) {
  std::vector<std::pair<int64_t, OpIndex>> most; // minus the bytes
  std::vector<bool> hasRun(graph.numOps(), false);
  for (size_t step = 0; step < steps.size(); ++step)
    if (!hasRun[steps[step]]) {
      hasRun[steps[step]] = true;
      most.push_back({-usage.bytes[step], steps[step]});
    }
  llvm::sort(most);
  most.resize(std::min(most.size(), numCuts(graph)));
  for (auto [bytes, op] : most) {
    if (-bytes - graph.topPadding() <= need.bytes)
      return;
    CutRelaxation relaxation(graph, op);
    CutChoice fewest = relaxation.chooseFewestBytes();
    const int64_t proved = relaxation.bytesBeside() + fewest.bytes;
    if (proved > need.bytes)
      need = {proved, op, std::move(fewest.kept), {BoundBasis::Kind::OneCut, {op}, {}}};
  }
}

static void raiseByLastRuns(const Graph &graph, llvm::ArrayRef<OpIndex> steps, const Profile &usage,
                            NeedBound &need) {
  LastRunBound bound = lastRunBound(graph, steps, usage, need.bytes);
  if (bound.ops.empty())
    return;
  LastRunCut cut(graph, bound.ops);
  need.bytes = cut.needAt(bound.last);
  need.op = bound.last;
  need.beside = cut.held();
  need.basis = {BoundBasis::Kind::LastRuns, std::move(bound.ops), {}};
}

NeedBound llmmem::planning::needOfEverySchedule(const Graph &graph, llvm::ArrayRef<OpIndex> steps) {
  NeedBound need = needOfOneOp(graph);
  const Profile usage = profile(graph, steps);
  raiseByLastRuns(graph, steps, usage, need); // fewer flows than the other
  raiseByFirstRuns(graph, steps, usage, need);
  return need;
}
