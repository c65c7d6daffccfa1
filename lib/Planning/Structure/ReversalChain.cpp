//===- ReversalChain.cpp - Chains that a backward visits in reverse -----------------===//

#include "ReversalChain.h"
#include <numeric>

using namespace llmmem::planning;

namespace {

/// Says whether `reader` reads anything that `writer` writes.
bool readsFrom(const Graph &graph, OpIndex reader, OpIndex writer) {
  return llvm::any_of(graph.reads(reader),
                      [&](ValueIndex value) { return graph.writer(value) == writer; });
}

/// Says whether the given order is the only one: each op needs the one before it.
bool hasOneOrder(const Graph &graph) {
  for (OpIndex op = 0; op < graph.numOps(); ++op)
    if (graph.op(op).optional || (op > 0 && !readsFrom(graph, op, op - 1)))
      return false;
  return true;
}

/// Returns how many ops come before the one after which the backward first reads what ops before
/// that one wrote.
std::optional<OpIndex> endOfForward(const Graph &graph) {
  for (OpIndex op = 2; op < graph.numOps(); ++op)
    if (llvm::any_of(graph.reads(op), [&](ValueIndex value) {
          return graph.writer(value) >= 0 && graph.writer(value) < op - 1;
        }))
      return op - 1;
  return std::nullopt;
}

/// Says whether at most one value with bytes leads from each op of the forward to the next one.
bool hasOneState(const Graph &graph, OpIndex cut) {
  for (OpIndex op = 1; op < cut; ++op)
    if (llvm::count_if(graph.reads(op), [&](ValueIndex value) {
          return graph.writer(value) == op - 1 && graph.bytes(value) > 0;
        }) > 1)
      return false;
  return true;
}

/// An op of the backward belongs to the segment of the last stage that it, or an op after it, reads
/// from.
void assignSegments(const Graph &graph, Chain &chain) {
  chain.segmentOf.assign(chain.order.size(), 0);
  int32_t latest = -1;
  for (OpIndex op = graph.numOps(); op-- > chain.cut;) {
    for (ValueIndex value : graph.reads(op))
      if (const OpIndex writer = graph.writer(value); writer >= 0)
        latest = std::max(latest, chain.stageOf[writer]);
    chain.segmentOf[op] = latest < 0 ? chain.numStages + 1 : chain.backwardSegment(latest);
  }
}

} // namespace

std::optional<Chain> llmmem::planning::findReversalChain(const Graph &graph) {
  if (!hasOneOrder(graph))
    return std::nullopt;
  const std::optional<OpIndex> cut = endOfForward(graph);
  if (!cut || *cut < 2 || !hasOneState(graph, *cut))
    return std::nullopt;
  Chain chain;
  chain.order = givenOrder(graph);
  chain.cut = chain.numStages = *cut;
  chain.stageOf.assign(graph.numOps(), -1);
  std::iota(chain.stageOf.begin(), chain.stageOf.begin() + *cut, 0);
  chain.isBlock.assign(chain.numStages, true);
  chain.isOfGraph = chain.isInTurn = true;
  assignSegments(graph, chain);
  // The first segment has the loss and one op more. Where it has others, the forward has not ended.
  if (const OpIndex third = *cut + 2; third < graph.numOps() && chain.segmentOf[third] == 1)
    return std::nullopt;
  return chain;
}
