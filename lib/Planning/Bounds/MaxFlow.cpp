//===- MaxFlow.cpp - Minimum cut on a sparse graph ----------------------------===//

#include "MaxFlow.h"
#include <algorithm>

using namespace llmmem::planning;

bool MaxFlow::findLevels(int32_t source, int32_t sink) {
  std::fill(level.begin(), level.end(), -1);
  queue.assign(1, source);
  level[source] = 0;
  // What lies as far as the sink is on no shortest path, so the search ends there.
  for (size_t head = 0; head < queue.size() && level[sink] < 0; ++head) {
    const int32_t next = level[queue[head]] + 1;
    for (int32_t number = firstArc[queue[head]]; number >= 0;) {
      const Arc &arc = arcs[number];
      if (arc.residual > 0 && level[arc.to] < 0) {
        level[arc.to] = next;
        queue.push_back(arc.to);
      }
      number = arc.next;
    }
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
        amount = std::min(amount, arcs[arc].residual);
      size_t keep = path.size();
      for (size_t index = path.size(); index-- > 0;) {
        arcs[path[index]].residual -= amount;
        arcs[path[index] ^ 1].residual += amount;
        if (arcs[path[index]].residual == 0)
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
    const int32_t next = level[node] + 1;
    while (arc >= 0 && (arcs[arc].residual == 0 || level[arcs[arc].to] != next))
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
    for (size_t arc = 0; arc < arcs.size(); ++arc)
      arcs[arc].residual = capacities[arc];
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
