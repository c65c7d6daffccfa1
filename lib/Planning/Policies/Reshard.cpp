//===- Reshard.cpp - Gather parameters again for the backward -----------------===//
//
// Zhao et al., "PyTorch FSDP: experiences on scaling fully sharded data parallel" (2023), section
// 3.2: after the forward of a unit its parameters are freed, and its backward gathers them again.
// What no block gathers, such as the embedding and the head, stays, as that of FSDP's root does.
//
//===----------------------------------------------------------------------===//

#include "FixedPolicies.h"
#include "llvm/ADT/StringRef.h"

using namespace llmmem::planning;

/// Says whether an op gathers what the ranks of a group have. Importers and guests have names of
/// their own for it: llm.all_gather, llm.all_gather_bucket, all_gather_into_tensor.
static bool gathers(const Op &op) { return llvm::StringRef(op.name).contains("all_gather"); }

std::vector<bool> llmmem::planning::opsOfParameters(const Graph &graph) {
  std::vector<bool> found(graph.numOps(), false);
  for (OpIndex op : givenOrder(graph)) {
    int32_t reads = 0;
    bool isOfParameters = true;
    for (ValueIndex value : graph.reads(op)) {
      const OpIndex writer = graph.writer(value);
      if (writer >= 0 && graph.bytes(value) == 0)
        continue; // a token of order
      ++reads;
      isOfParameters &= writer < 0 || found[writer];
    }
    // A bucket gathers several parameters; any other op of several operands computes with them. In
    // the problem of one micro-batch parameters have no bytes.
    found[op] = isOfParameters && (reads <= 1 || gathers(graph.op(op)));
  }
  return found;
}

void llmmem::planning::gatherAgain(const Graph &graph, const Chain &chain, Retention &retention) {
  const std::vector<bool> ofParameters = opsOfParameters(graph);
  std::vector<bool> isGathered(graph.numOps(), false);
  RecomputeOnce once(graph, chain, retention);
  for (OpIndex op : givenOrder(graph)) {
    if (!ofParameters[op])
      continue;
    isGathered[op] = gathers(graph.op(op)) || llvm::any_of(graph.reads(op), [&](ValueIndex value) {
                       return graph.writer(value) >= 0 && isGathered[graph.writer(value)];
                     });
    const int32_t stage = chain.stageOf[op];
    if (!isGathered[op] || stage < 0 || !chain.isBlock[stage])
      continue;
    for (ValueIndex value : graph.writes(op))
      once.discard(value, stage, stage);
  }
}
