//===- EveryK.cpp - Keep the inputs of every K-th block -------------------------===//
//
// Chen et al., "Training deep nets with sublinear memory cost" (arXiv 1604.06174): with segments of
// K of the L blocks, the backward holds L/K block inputs and K blocks' internals, least at K =
// sqrt(L).
//
//===----------------------------------------------------------------------===//

#include "FixedPolicies.h"
#include "llmmem/Planning/Schedulers/Recompute.h"
#include <algorithm>
#include <cmath>

using namespace llmmem::planning;

/// For each part the first and last part of its segment; parts that are no blocks have none (-1).
static std::vector<std::pair<int32_t, int32_t>> segments(const Chain &chain, int64_t every) {
  std::vector<std::pair<int32_t, int32_t>> result(chain.numParts, {-1, -1});
  int32_t block = 0;
  for (int32_t part = 0; part < chain.numParts; ++part) {
    if (!chain.isBlock[part])
      continue;
    bool continues = block % every != 0 && part > 0 && result[part - 1].first >= 0;
    result[part].first = continues ? result[part - 1].first : part;
    for (int32_t other = result[part].first; other <= part; ++other)
      result[other].second = part;
    ++block;
  }
  return result;
}

static std::vector<OpIndex> everyKth(const Graph &graph, const Chain &chain, int64_t every) {
  Retention retention(graph);
  auto segment = segments(chain, std::max<int64_t>(every, 1));
  for (ValueIndex value = 0; value < graph.numValues(); ++value) {
    OpIndex writer = graph.writer(value);
    if (writer < 0 || chain.partOf[writer] < 0)
      continue;
    auto [first, last] = segment[chain.partOf[writer]];
    if (first < 0)
      continue;
    // A value that the forward reads beyond its segment is an input of a later one: kept.
    bool leaves = llvm::any_of(graph.readers(value),
                               [&](OpIndex reader) { return chain.partOf[reader] > last; });
    if (leaves)
      continue;
    // The segment is recomputed at once, when the backward of its last part begins.
    retention.discard(value);
    retention.hold(value, chain.backwardStretch(last), chain.numStretches());
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
