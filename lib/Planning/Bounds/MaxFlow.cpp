//===- MaxFlow.cpp - Minimum cut on a sparse graph ----------------------------===//

#include "MaxFlow.h"
#include <algorithm>

using namespace llmmem::planning;

bool MaxFlow::findLevels(int32_t source, int32_t sink) {
  for (int32_t node : queue)
    level[node] = -1;
  queue.clear();
  auto reach = [&](int32_t node, int32_t at) {
    level[node] = at;
    currentArc[node] = firstArc[node];
    queue.push_back(node);
  };
  reach(source, 0);
  for (size_t head = 0; head < queue.size(); ++head) {
    const int32_t next = level[queue[head]] + 1;
    for (int32_t number = firstArc[queue[head]]; number >= 0;) {
      const Arc &arc = arcs[number];
      if (arc.residual > 0 && level[arc.to] < 0) {
        reach(arc.to, next);
        // A node as far as the sink is on no shortest path, and all that is nearer has a level.
        if (arc.to == sink)
          return true;
      }
      number = arc.next;
    }
  }
  return false;
}

/// Adds one blocking flow, by depth-first search without recursion: paths may be as long as the
/// graph is deep. The search goes from the sink back, as every node with a level is reached from
/// the source, but few lead to the sink. `path` has the arcs out of the nodes on the way, the
/// reverses of those that carry more.
int64_t MaxFlow::augment(int32_t source, int32_t sink) {
  int64_t total = 0;
  path.clear();
  int32_t node = sink;
  while (true) {
    if (node == source) {
      int64_t amount = infinite;
      for (int32_t arc : path)
        amount = std::min(amount, arcs[arc ^ 1].residual);
      size_t keep = path.size();
      for (size_t index = path.size(); index-- > 0;) {
        arcs[path[index]].residual += amount;
        arcs[path[index] ^ 1].residual -= amount;
        if (arcs[path[index] ^ 1].residual == 0)
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
    const int32_t before = level[node] - 1;
    while (arc >= 0 && (level[arcs[arc].to] != before || arcs[arc ^ 1].residual == 0))
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

void MaxFlow::restart() {
  for (size_t arc = 0; arc < arcs.size(); ++arc)
    arcs[arc].residual = capacities[arc];
  flow = 0;
  hasFlow = true;
}

/// Takes `amount` of what flows into `from` back up to `end`, the source, or of what flows out of
/// it down to `end`, the sink. Of an arc's number and its reverse's, the arc's is even.
void MaxFlow::takeBack(int32_t from, int32_t end, int64_t amount, bool isUpstream) {
  toTakeBack.assign(1, {from, amount});
  while (!toTakeBack.empty()) {
    auto [node, left] = toTakeBack.back();
    toTakeBack.pop_back();
    if (node == end)
      continue;
    for (int32_t number = firstArc[node]; number >= 0 && left > 0; number = arcs[number].next) {
      if ((number % 2 != 0) != isUpstream)
        continue;
      const int32_t arc = number & ~1;
      const int64_t taken = std::min(left, arcs[arc ^ 1].residual);
      if (taken <= 0)
        continue;
      arcs[arc ^ 1].residual -= taken;
      arcs[arc].residual += taken;
      left -= taken;
      toTakeBack.push_back({arcs[number].to, taken});
    }
  }
}

/// Takes back what `arc` carries above its capacity.
void MaxFlow::takeBack(int32_t arc, int32_t source, int32_t sink) {
  const int64_t amount = -arcs[arc].residual;
  if (amount <= 0) // taken back with that of another arc, or the capacity has grown again
    return;
  arcs[arc].residual = 0;
  arcs[arc ^ 1].residual -= amount;
  takeBack(arcs[arc ^ 1].to, source, amount, /*isUpstream=*/true);
  takeBack(arcs[arc].to, sink, amount, /*isUpstream=*/false);
  flow -= amount;
}

int64_t MaxFlow::solve(int32_t source, int32_t sink, int64_t enough) {
  if (!hasFlow)
    restart();
  else
    for (int32_t arc : exceeded)
      takeBack(arc, source, sink);
  exceeded.clear();
  while (flow < enough && findLevels(source, sink)) {
    flow += augment(source, sink);
    hasFlow = flow < infinite;
    if (!hasFlow)
      return infinite;
  }
  return flow;
}
