//===- Selective.cpp - Recompute the results of chosen ops ----------------------===//
//
// Korthikanti et al., "Reducing activation recomputation in large transformer models" (2022): core
// attention holds most bytes for the least work.
//
//===----------------------------------------------------------------------===//

#include "FixedPolicies.h"
#include "llmmem/Planning/Schedulers/Recompute.h"

using namespace llmmem::planning;

std::vector<OpIndex> llmmem::planning::recomputeSelected(const Graph &graph, const Policy &policy) {
  Chain chain = findChain(graph, givenOrder(graph));
  Retention retention(graph);
  for (OpIndex op : policy.selected)
    if (op >= 0 && op < graph.numOps() && chain.stageOf[op] >= 0)
      for (ValueIndex value : graph.op(op).writes) {
        retention.discard(value);
        // The value is recomputed once: where weight gradients run later, as in a zero-bubble
        // pipeline, they read it again.
        retention.hold(value, chain.backwardSegment(chain.stageOf[op]), chain.numSegments());
      }
  return realize(graph, chain, retention).steps;
}
