//===- EveryK.cpp - Keep the inputs of every K-th block -------------------------===//
//
// Chen et al., "Training deep nets with sublinear memory cost" (arXiv 1604.06174): with groups
// (their segments) of K of the L blocks, the backward holds L/K block inputs and K blocks'
// internals, least at K = sqrt(L).
//
//===----------------------------------------------------------------------===//

#include "FixedPolicies.h"
#include "llmmem/Planning/Schedulers/Recompute.h"
#include <algorithm>
#include <cmath>

using namespace llmmem::planning;

/// Returns, for each stage, the first and last stage of its group, and -1 where the stage is not a
/// block.
static std::vector<std::pair<int32_t, int32_t>> groups(const Chain &chain, int64_t every) {
  std::vector<std::pair<int32_t, int32_t>> result(chain.numStages, {-1, -1});
  int32_t block = 0;
  for (int32_t stage = 0; stage < chain.numStages; ++stage) {
    if (!chain.isBlock[stage])
      continue;
    bool continues = block % every != 0 && stage > 0 && result[stage - 1].first >= 0;
    result[stage].first = continues ? result[stage - 1].first : stage;
    for (int32_t other = result[stage].first; other <= stage; ++other)
      result[other].second = stage;
    ++block;
  }
  return result;
}

/// Returns the first segment of the backward in which each value is read.
static std::vector<int32_t> firstReads(const Graph &graph, const Chain &chain) {
  std::vector<int32_t> first(graph.numValues(), chain.numSegments());
  for (size_t at = chain.order.size(); at-- > static_cast<size_t>(chain.cut);)
    for (ValueIndex value : graph.reads(chain.order[at]))
      first[value] = chain.segmentOf[at];
  return first;
}

static std::vector<OpIndex> everyKth(const Graph &graph, const Chain &chain, int64_t every) {
  Retention retention(graph);
  const std::vector<int32_t> firstRead = firstReads(graph, chain);
  auto group = groups(chain, std::max<int64_t>(every, 1));
  for (ValueIndex value = 0; value < graph.numValues(); ++value) {
    OpIndex writer = graph.writer(value);
    if (writer < 0 || chain.stageOf[writer] < 0)
      continue;
    auto [first, last] = group[chain.stageOf[writer]];
    if (first < 0)
      continue;
    // A value that the forward reads after its group is an input of a later group and is kept.
    bool leaves = llvm::any_of(graph.readers(value),
                               [&](OpIndex reader) { return chain.stageOf[reader] > last; });
    if (leaves)
      continue;
    // The whole group is recomputed when the backward of its last stage begins. This includes what
    // only weight gradients read that run later; otherwise what it is made of would be held for
    // them.
    retention.discard(value);
    retention.hold(value, chain.backwardSegment(last), chain.numSegments());
    if (firstRead[value] > chain.backwardSegment(first) && firstRead[value] < chain.numSegments())
      retention.makeAhead(value, chain.backwardSegment(last));
  }
  return realize(graph, chain, retention).steps;
}

std::vector<OpIndex> llmmem::planning::keepEveryKth(const Graph &graph, const Policy &policy) {
  return everyKth(graph, findChain(graph, givenOrder(graph)), policy.every);
}

std::vector<OpIndex> llmmem::planning::keepEverySqrt(const Graph &graph, const Policy &) {
  Chain chain = findChain(graph, givenOrder(graph));
  double blocks = std::max(1, chain.numBlocks());
  return everyKth(graph, chain, std::lround(std::sqrt(blocks)));
}

std::vector<OpIndex> llmmem::planning::keepBlockInputs(const Graph &graph, const Policy &) {
  return everyKth(graph, findChain(graph, givenOrder(graph)), 1);
}
