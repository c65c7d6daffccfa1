//===- StepChain.cpp - The chain of a training step without labels -----------------===//

#include "StepChain.h"
#include "Colours.h"
#include "StageOrder.h"
#include "StepOrder.h"
#include "llmmem/Planning/Schedulers/Recompute.h"

using namespace llmmem::planning;

/// Returns, per position of the spine, the segment in which its op runs.
static std::vector<int32_t> partsOf(const Chain &chain, const Spine &spine) {
  std::vector<int32_t> segmentOfOp(chain.stageOf.size(), 0), part;
  for (size_t index = 0; index < chain.order.size(); ++index)
    segmentOfOp[chain.order[index]] = chain.segmentOf[index];
  for (OpIndex op : spine.ops)
    part.push_back(segmentOfOp[op]);
  return part;
}

std::optional<Chain> llmmem::planning::findStepChain(const Graph &graph) {
  constexpr int rounds = 4; // tell q from k from v, and see less than a block
  const std::vector<uint64_t> colours = findColours(graph, rounds);
  const Spine spine = findSpine(graph, colours);
  if (spine.turn < 0)
    return std::nullopt;
  StepOrder order = findStepOrder(graph, spine, colours);
  Chain chain = findChain(graph, std::move(order.ops), order.cut);
  // Now that blocks are known, what the spine needs tells the weight gradients of the last few.
  order = findStepOrder(graph, spine, colours, partsOf(chain, spine));
  chain = findChain(graph, std::move(order.ops), order.cut);
  improveStages(graph, spine.ops[spine.turn], chain);
  return chain;
}

/// Finds the same from canonical numbers, so that ties do not depend on those given.
static std::optional<Chain> findCanonicalChain(const Graph &graph) {
  CanonicalProblem canonical = makeCanonical(graph);
  std::optional<Chain> chain = findStepChain(Graph(canonical.problem, graph.cancellation()));
  if (!chain)
    return std::nullopt;
  Chain inCanonical = *chain;
  std::vector<int32_t> stageOf(graph.numOps());
  for (OpIndex op = 0; op < graph.numOps(); ++op)
    stageOf[canonical.opOf[op]] = chain->stageOf[op];
  chain->stageOf = std::move(stageOf);
  for (OpIndex &op : chain->order)
    op = canonical.opOf[op];
  chain->isOfGraph = true;
  chain->foundInCanonical = std::make_shared<const FoundInCanonical>(
      FoundInCanonical{std::move(canonical), std::move(inCanonical)});
  return chain;
}

/// Returns the footprint with only the inputs of the stages held, and that with nothing recomputed.
static std::pair<int64_t, int64_t> footprintOf(const Graph &graph, const Chain &chain) {
  Retention retention(graph);
  for (OpIndex op = 0; op < graph.numOps(); ++op) {
    if (chain.stageOf[op] < 0 || !graph.op(op).recompute)
      continue;
    for (ValueIndex value : graph.op(op).writes)
      if (llvm::none_of(graph.readers(value),
                        [&](OpIndex reader) { return chain.stageOf[reader] > chain.stageOf[op]; }))
        retention.discard(value);
  }
  return {profile(graph, realize(graph, chain, retention).steps).peak,
          profile(graph, chain.order).peak};
}

Chain llmmem::planning::chooseChain(const Graph &graph) {
  Chain given = findChain(graph, givenOrder(graph));
  if (llvm::any_of(graph.problem().ops, [](const Op &op) { return op.block.has_value(); }))
    return given;
  std::optional<Chain> found = findCanonicalChain(graph);
  if (!found)
    return given;
  given.foundInCanonical = found->foundInCanonical;
  // A chain of unequal stages is found as well from an order that runs it, and no better.
  if (!found->hasRepeats)
    return given;
  const auto [flatOfGiven, freeOfGiven] = footprintOf(graph, given);
  const auto [flatOfFound, freeOfFound] = footprintOf(graph, *found);
  // Options and tables of equal stages are worth more than a percent of the bytes.
  const int64_t worthOfRepeats = given.hasRepeats ? 0 : flatOfFound / 64;
  const bool isNoWorse = flatOfGiven <= flatOfFound - worthOfRepeats && freeOfGiven <= freeOfFound;
  // Where both are as good, the one that was found is searched once, in the canonical numbers
  // alone.
  const bool isAsGood = flatOfGiven == flatOfFound && freeOfGiven == freeOfFound &&
                        given.numStages == found->numStages;
  const bool isKept = isNoWorse && !isAsGood;
  return isKept ? given : std::move(*found);
}
