//===- Spine.cpp - The critical path of a training step, and where it turns --------===//

#include "Spine.h"
#include <algorithm>

using namespace llmmem::planning;

/// Returns the most expensive path; of equally expensive ones it takes the longest. Ops that run
/// once count nothing: updates may be chained one after the other, and cost more than the backward
/// next to them.
static std::vector<OpIndex> findPath(const Graph &graph, llvm::ArrayRef<uint64_t> colours) {
  struct Length {
    int64_t cost = 0;
    int32_t ops = 0;
    uint64_t colour = 0; // colour of the last op
    bool operator<(const Length &other) const {
      return std::tie(cost, ops, colour) < std::tie(other.cost, other.ops, other.colour);
    }
  };
  std::vector<Length> longest(graph.numOps());
  std::vector<OpIndex> before(graph.numOps(), -1);
  OpIndex last = -1;
  for (OpIndex op = 0; op < graph.numOps(); ++op) {
    Length best;
    for (ValueIndex value : graph.op(op).reads)
      if (OpIndex writer = graph.writer(value); writer >= 0 && best < longest[writer]) {
        best = longest[writer];
        before[op] = writer;
      }
    const int64_t cost = graph.op(op).recompute ? graph.op(op).cost : 0;
    longest[op] = {best.cost + cost, best.ops + 1, colours[op]};
    if (last < 0 || longest[last] < longest[op])
      last = op;
  }
  std::vector<OpIndex> path;
  for (OpIndex op = last; op >= 0; op = before[op])
    path.push_back(op);
  std::reverse(path.begin(), path.end());
  return path;
}

static void findWindows(const Graph &graph, Spine &spine) {
  spine.earliest.assign(graph.numOps(), -1);
  spine.latest.assign(graph.numOps(), Spine::never);
  for (size_t index = 0; index < spine.ops.size(); ++index)
    spine.earliest[spine.ops[index]] = spine.latest[spine.ops[index]] = static_cast<int32_t>(index);
  for (OpIndex op = 0; op < graph.numOps(); ++op)
    for (ValueIndex value : graph.op(op).reads)
      if (OpIndex writer = graph.writer(value); writer >= 0)
        spine.earliest[op] = std::max(spine.earliest[op], spine.earliest[writer]);
  for (OpIndex op = graph.numOps() - 1; op >= 0; --op)
    for (ValueIndex value : graph.op(op).writes)
      for (OpIndex reader : graph.readers(value))
        spine.latest[op] = std::min(spine.latest[op], spine.latest[reader]);
}

/// Returns the position over which values from the most positions are saved, the last one on a tie.
static int32_t findTurn(const Graph &graph, const Spine &spine) {
  const int32_t length = static_cast<int32_t>(spine.ops.size());
  // Holds, per position, the last position that needs a value which its op, or an ancestor of the
  // op, wrote.
  std::vector<int32_t> lastRead(length, -1), change(length + 1, 0);
  for (ValueIndex value = 0; value < graph.numValues(); ++value) {
    const OpIndex writer = graph.writer(value);
    if (writer < 0 || graph.bytes(value) == 0 || spine.latest[writer] == Spine::never)
      continue;
    int32_t &last = lastRead[spine.latest[writer]];
    for (OpIndex reader : graph.readers(value))
      last = std::max(last, spine.earliest[reader]);
  }
  for (int32_t index = 0; index < length; ++index)
    if (lastRead[index] > index) {
      ++change[index];
      --change[lastRead[index]];
    }
  int32_t saved = 0, most = 1, turn = -1; // one value always leads on
  for (int32_t index = 0; index < length; ++index) {
    saved += change[index];
    if (saved > most || (saved == most && turn >= 0)) {
      most = saved;
      turn = index;
    }
  }
  return turn;
}

Spine llmmem::planning::findSpine(const Graph &graph, llvm::ArrayRef<uint64_t> colours) {
  Spine spine;
  spine.ops = findPath(graph, colours);
  findWindows(graph, spine);
  spine.turn = findTurn(graph, spine);
  return spine;
}
