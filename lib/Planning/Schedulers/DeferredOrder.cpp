//===- DeferredOrder.cpp - Weight gradients out of the fullest moment --------------===//

#include "DeferredOrder.h"
#include <algorithm>

using namespace llmmem::planning;

/// `op` and all that descends from it, empty where that is more than `most`.
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
  int32_t few = std::max(1, chain.numParts / 16), last = 1 + few;
  if (step < chain.cut || chain.stretchOf[step] > 2)
    return {};
  auto target =
      llvm::partition_point(chain.stretchOf, [&](int32_t stretch) { return stretch <= last; });
  constexpr size_t mostOps = 4; // a gradient, its cast, its update
  std::vector<OpIndex> group = withDescendants(graph, chain.order[step], mostOps);
  if (group.empty() || target == chain.stretchOf.end())
    return {};
  size_t end = target - chain.stretchOf.begin();
  auto isMoved = [&](OpIndex op) { return llvm::is_contained(group, op); };
  for (size_t index = end; index < chain.order.size(); ++index)
    if (isMoved(chain.order[index]))
      return {}; // it waits for more than the gradient
  std::vector<OpIndex> order = chain.order;
  std::stable_partition(order.begin() + step, order.begin() + end,
                        [&](OpIndex op) { return !isMoved(op); });
  return order;
}
