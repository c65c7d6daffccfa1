//===- SavedValues.cpp - What the forward leaves for the backward ----------===//

#include "llmmem/Planning/Model/SavedValues.h"
#include "llvm/ADT/STLExtras.h"

using namespace llmmem::planning;

bool llmmem::planning::isSaved(const Graph &graph, ValueIndex value,
                               llvm::function_ref<Phase(OpIndex)> phaseOf) {
  OpIndex writer = graph.writer(value);
  return writer >= 0 && llvm::any_of(graph.readers(value), [&](OpIndex reader) {
           return isSavedFor(phaseOf(writer), phaseOf(reader));
         });
}

std::vector<Decision> llmmem::planning::findDecisions(const Graph &graph,
                                                      llvm::ArrayRef<OpIndex> steps) {
  std::vector<Decision> decisions(graph.numValues(), Decision::Unsaved);
  std::vector<int32_t> runs(graph.numOps(), 0);
  for (OpIndex step : steps) {
    ++runs[step];
    for (ValueIndex value : graph.op(step).reads) {
      OpIndex writer = graph.writer(value);
      if (writer < 0 || !isSavedFor(graph.op(writer).phase, graph.op(step).phase))
        continue;
      if (runs[writer] > 1)
        decisions[value] = Decision::Recompute;
      else if (decisions[value] == Decision::Unsaved)
        decisions[value] = Decision::Keep;
    }
  }
  return decisions;
}
