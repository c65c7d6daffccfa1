//===- Recompute.cpp - From retained values to a schedule ---------------------===//

#include "llmmem/Planning/Schedulers/Recompute.h"
#include "llmmem/Planning/Model/SavedValues.h"
#include <algorithm>

using namespace llmmem::planning;

namespace {
/// Replays the order and tracks, for each value, the segment that wrote its latest instance.
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
      segment = chain.segmentOf[index];
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
    if (since[value] == segment || !retention.subject[value])
      return true;
    // A value of 0 bytes is free to hold: an order token that an update reads must not cause the
    // forward op that wrote it to run again, with all its ancestors.
    if (graph.bytes(value) == 0)
      return true;
    return llvm::any_of(retention.windows[value], [&](Window window) {
      return window.from <= since[value] && segment <= window.to;
    });
  }

  bool mustRepeat(ValueIndex value) const {
    OpIndex writer = graph.writer(value);
    return writer >= 0 && graph.op(writer).recompute && !isThere(value);
  }

  /// Repeats, in program order, the ops whose results `op` needs and that are not live.
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
      since[value] = segment;
    result.steps.push_back(op);
    result.segments.push_back(segment);
    result.repeats.push_back(repeat);
  }

  const Graph &graph;
  const Chain &chain;
  const Retention &retention;
  std::vector<int32_t> since;
  std::vector<int32_t> position;
  std::vector<int32_t> wantedAt;
  int32_t segment = 0;
  Realization result;
};
} // namespace

Realization llmmem::planning::realize(const Graph &graph, const Chain &chain,
                                      const Retention &retention, size_t mostSteps) {
  return JustInTime(graph, chain, retention).run(mostSteps);
}

std::vector<ValueIndex> llmmem::planning::savedValues(const Graph &graph, const Chain &chain) {
  auto phaseOf = [&](OpIndex op) {
    return chain.stageOf[op] >= 0 ? Phase::Forward : Phase::Backward;
  };
  std::vector<ValueIndex> saved;
  for (ValueIndex value = 0; value < graph.numValues(); ++value)
    if (isSaved(graph, value, phaseOf))
      saved.push_back(value);
  return saved;
}
