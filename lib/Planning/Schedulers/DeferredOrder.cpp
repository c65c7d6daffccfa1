//===- DeferredOrder.cpp - Defer the weight gradient of the peak step -------------===//

#include "DeferredOrder.h"
#include <algorithm>

using namespace llmmem::planning;

/// Returns `op` and its descendants, or nothing where they are more than `most`.
static std::vector<OpIndex> withDescendants(const Graph &graph, OpIndex op, size_t most) {
  std::vector<OpIndex> group{op};
  for (size_t at = 0; at < group.size(); ++at)
    for (ValueIndex value : graph.op(group[at]).writes)
      for (OpIndex reader : graph.readers(value))
        if (!llvm::is_contained(group, reader)) {
          if (group.size() == most)
            return {};
          group.push_back(reader);
        }
  return group;
}

std::vector<OpIndex> llmmem::planning::deferFullest(const Graph &graph, const Chain &chain) {
  int32_t step = profile(graph, chain.order).peakStep;
  int32_t few = std::max(1, chain.numStages / 16), last = 1 + few;
  if (step < chain.cut || chain.segmentOf[step] > 2)
    return {};
  auto target =
      llvm::partition_point(chain.segmentOf, [&](int32_t segment) { return segment <= last; });
  constexpr size_t mostOps = 4; // a gradient, its cast, its update
  std::vector<OpIndex> group = withDescendants(graph, chain.order[step], mostOps);
  if (group.empty() || target == chain.segmentOf.end())
    return {};
  size_t end = target - chain.segmentOf.begin();
  auto isMoved = [&](OpIndex op) { return llvm::is_contained(group, op); };
  for (size_t index = end; index < chain.order.size(); ++index)
    if (isMoved(chain.order[index]))
      return {}; // it depends on more than the gradient
  std::vector<OpIndex> order = chain.order;
  std::stable_partition(order.begin() + step, order.begin() + end,
                        [&](OpIndex op) { return !isMoved(op); });
  return order;
}
