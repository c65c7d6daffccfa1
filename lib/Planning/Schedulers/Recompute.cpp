//===- Recompute.cpp - From a decision to a schedule --------------------------===//

#include "llmmem/Planning/Schedulers/Recompute.h"
#include <algorithm>

using namespace llmmem::planning;

namespace {
/// Replays the order and keeps, for each value, since which stretch its latest instance is there.
class JustInTime {
public:
  JustInTime(const Graph &graph, const Chain &chain, const Retention &retention)
      : graph(graph), chain(chain), retention(retention), since(graph.numValues(), 0),
        position(graph.numOps(), 0), wantedAt(graph.numOps(), -1) {
    for (size_t index = 0; index < chain.order.size(); ++index)
      position[chain.order[index]] = static_cast<int32_t>(index);
  }

  Realization run(size_t mostSteps) {
    result.steps.reserve(chain.order.size() * 3 / 2);
    for (size_t index = 0; index < chain.order.size(); ++index) {
      stretch = chain.stretchOf[index];
      OpIndex op = chain.order[index];
      recomputeFor(op);
      emit(op, /*repeat=*/false);
      if (result.steps.size() > mostSteps)
        return {};
    }
    return std::move(result);
  }

private:
  bool isThere(ValueIndex value) const {
    if (since[value] == stretch || !retention.subject[value])
      return true;
    // What has no bytes costs nothing to hold: an order token that an update reads must not bring
    // back the forward op that wrote it, and all that op needs.
    if (graph.bytes(value) == 0)
      return true;
    return llvm::any_of(retention.windows[value], [&](Window window) {
      return window.from <= since[value] && stretch <= window.to;
    });
  }

  bool mustRepeat(ValueIndex value) const {
    OpIndex writer = graph.writer(value);
    return writer >= 0 && graph.op(writer).recompute && !isThere(value);
  }

  /// Runs again, in program order, what `op` needs and is not there.
  void recomputeFor(OpIndex op) {
    llvm::SmallVector<OpIndex, 16> wanted;
    llvm::SmallVector<OpIndex, 16> worklist{op};
    int32_t mark = position[op];
    while (!worklist.empty()) {
      OpIndex reader = worklist.pop_back_val();
      for (ValueIndex value : graph.op(reader).reads) {
        if (!mustRepeat(value))
          continue;
        OpIndex writer = graph.writer(value);
        if (wantedAt[writer] == mark)
          continue;
        wantedAt[writer] = mark;
        wanted.push_back(writer);
        worklist.push_back(writer);
      }
    }
    llvm::sort(wanted, [&](OpIndex a, OpIndex b) { return position[a] < position[b]; });
    for (OpIndex writer : wanted)
      emit(writer, /*repeat=*/true);
  }

  void emit(OpIndex op, bool repeat) {
    for (ValueIndex value : graph.op(op).writes)
      since[value] = stretch;
    result.steps.push_back(op);
    result.stretches.push_back(stretch);
    result.repeats.push_back(repeat);
  }

  const Graph &graph;
  const Chain &chain;
  const Retention &retention;
  std::vector<int32_t> since;
  std::vector<int32_t> position;
  std::vector<int32_t> wantedAt;
  int32_t stretch = 0;
  Realization result;
};
} // namespace

Realization llmmem::planning::realize(const Graph &graph, const Chain &chain,
                                      const Retention &retention, size_t mostSteps) {
  return JustInTime(graph, chain, retention).run(mostSteps);
}

std::vector<ValueIndex> llmmem::planning::savedValues(const Graph &graph, const Chain &chain) {
  std::vector<ValueIndex> saved;
  for (ValueIndex value = 0; value < graph.numValues(); ++value) {
    OpIndex writer = graph.writer(value);
    if (writer < 0 || chain.partOf[writer] < 0)
      continue;
    if (llvm::any_of(graph.readers(value), [&](OpIndex op) { return chain.partOf[op] < 0; }))
      saved.push_back(value);
  }
  return saved;
}
