//===- Decisions.cpp - What the forward leaves for the backward ------------===//

#include "llmmem/Planning/Model/Decisions.h"
#include "llvm/ADT/STLExtras.h"

using namespace llmmem::planning;

bool llmmem::planning::isSaved(const Graph &graph, ValueIndex value,
                               llvm::function_ref<Phase(OpIndex)> phaseOf) {
  OpIndex writer = graph.writer(value);
  return writer >= 0 && llvm::any_of(graph.readers(value), [&](OpIndex reader) {
           return isSavedFor(phaseOf(writer), phaseOf(reader));
         });
}

namespace {
/// The contents of a value's bytes in one memory while the steps run.
struct HeldContents {
  int32_t run = 0;     // run of its writer: 1 is the first
  bool isBack = false; // whether it has been brought back from the host since
};
} // namespace

static Decision decisionOf(const HeldContents &read) {
  return read.run > 1 ? Decision::Recompute : read.isBack ? Decision::Offload : Decision::Keep;
}

std::vector<Decision> llmmem::planning::findDecisions(const Graph &graph,
                                                      llvm::ArrayRef<OpIndex> steps) {
  std::vector<Decision> decisions(graph.numValues(), Decision::Unsaved);
  std::vector<HeldContents> latest(graph.numValues());
  std::vector<int32_t> runs(graph.numOps(), 0);
  for (OpIndex step : steps) {
    const Op &op = graph.op(step);
    ++runs[step];
    if (op.optional) { // a copy
      for (ValueIndex value : op.writes)
        latest[value] = {latest[op.reads.front()].run, op.resource == Resource::HostToDevice};
      continue;
    }
    for (ValueIndex value : op.reads)
      if (OpIndex writer = graph.writer(value);
          writer >= 0 && isSavedFor(graph.op(writer).phase, op.phase))
        decisions[value] = std::max(decisions[value], decisionOf(latest[value]));
    for (ValueIndex value : op.writes)
      latest[value] = {runs[step], false};
  }
  return decisions;
}
