//===- MaxFlow.cpp - Minimum cut on a sparse graph ----------------------------===//

#include "MaxFlow.h"
#include <algorithm>

using namespace llmmem::planning;

bool MaxFlow::findLevels(int32_t source, int32_t sink) {
  std::fill(level.begin(), level.end(), -1);
  queue.assign(1, source);
  level[source] = 0;
  // What lies as far as the sink is on no shortest path, so the search ends there.
  for (size_t head = 0; head < queue.size() && level[sink] < 0; ++head)
    for (int32_t arc = firstArc[queue[head]]; arc >= 0; arc = arcs[arc].next)
      if (residual[arc] > 0 && level[arcs[arc].to] < 0) {
        level[arcs[arc].to] = level[queue[head]] + 1;
        queue.push_back(arcs[arc].to);
      }
  return level[sink] >= 0;
}

/// One blocking flow, by depth-first search without recursion: paths may be as long as the graph is
/// deep.
int64_t MaxFlow::augment(int32_t source, int32_t sink) {
  int64_t total = 0;
  path.clear();
  int32_t node = source;
  while (true) {
    if (node == sink) {
      int64_t amount = infinite;
      for (int32_t arc : path)
        amount = std::min(amount, residual[arc]);
      size_t keep = path.size();
      for (size_t index = path.size(); index-- > 0;) {
        residual[path[index]] -= amount;
        residual[path[index] ^ 1] += amount;
        if (residual[path[index]] == 0)
          keep = index;
      }
      total += amount;
      if (total >= infinite)
        return infinite;
      node = arcs[path[keep] ^ 1].to;
      path.resize(keep);
      continue;
    }
    int32_t &arc = currentArc[node];
    while (arc >= 0 && (residual[arc] == 0 || level[arcs[arc].to] != level[node] + 1))
      arc = arcs[arc].next;
    if (arc >= 0) {
      path.push_back(arc);
      node = arcs[arc].to;
      continue;
    }
    if (path.empty())
      return total;
    node = arcs[path.back() ^ 1].to;
    path.pop_back();
    currentArc[node] = arcs[currentArc[node]].next;
  }
}

int64_t MaxFlow::solve(int32_t source, int32_t sink) {
  if (!fits) {
    residual = capacities;
    flow = 0;
  }
  level.assign(firstArc.size(), -1);
  while (findLevels(source, sink)) {
    currentArc = firstArc;
    flow += augment(source, sink);
    fits = flow < infinite;
    if (!fits)
      return infinite;
  }
  fits = true;
  return flow;
}
