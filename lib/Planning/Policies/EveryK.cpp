//===- EveryK.cpp - Keep the inputs of every K-th block -------------------------===//
//
// Chen et al., "Training deep nets with sublinear memory cost" (arXiv 1604.06174): with groups
// (their segments) of K of the L blocks, the backward holds L/K block inputs and K blocks'
// internals, least at K = sqrt(L).
//
//===----------------------------------------------------------------------===//

#include "FixedPolicies.h"
#include <algorithm>
#include <cmath>

using namespace llmmem::planning;

/// Returns, for each stage, the first and last stage of its group, and -1 where the stage is no
/// block that is recomputed.
static std::vector<std::pair<int32_t, int32_t>>
groups(const Chain &chain, const std::vector<bool> &chosen, int64_t every) {
  std::vector<std::pair<int32_t, int32_t>> result(chain.numStages, {-1, -1});
  int32_t block = 0;
  for (int32_t stage = 0; stage < chain.numStages; ++stage) {
    if (!chosen[stage])
      continue;
    bool continues = block % every != 0 && stage > 0 && result[stage - 1].first >= 0;
    result[stage].first = continues ? result[stage - 1].first : stage;
    for (int32_t other = result[stage].first; other <= stage; ++other)
      result[other].second = stage;
    ++block;
  }
  return result;
}

static void everyKth(const Graph &graph, const Chain &chain, const Policy &policy, int64_t every,
                     Retention &retention) {
  RecomputeOnce once(graph, chain, retention);
  auto group = groups(chain, chosenBlocks(chain, policy), std::max<int64_t>(every, 1));
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
    once.discard(value, first, last);
  }
}

void llmmem::planning::keepEveryKth(const Graph &graph, const Chain &chain, const Policy &policy,
                                    Retention &retention) {
  everyKth(graph, chain, policy, policy.every, retention);
}

void llmmem::planning::keepEverySqrt(const Graph &graph, const Chain &chain, const Policy &policy,
                                     Retention &retention) {
  const double blocks = std::max(1, chain.numBlocks());
  everyKth(graph, chain, policy, std::lround(std::sqrt(blocks)), retention);
}

void llmmem::planning::keepBlockInputs(const Graph &graph, const Chain &chain, const Policy &policy,
                                       Retention &retention) {
  everyKth(graph, chain, policy, 1, retention);
}
