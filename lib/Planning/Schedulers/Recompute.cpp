//===- Recompute.cpp - From retained values to a schedule ---------------------===//

#include "llmmem/Planning/Schedulers/Recompute.h"
#include "llmmem/Planning/Model/SavedValues.h"
#include <algorithm>

using namespace llmmem::planning;

namespace {
/// Replays the order and tracks, for each value, the segment that wrote its latest instance.
class JustInTime {
public:
  /// `mayMiss`: per value, whether it is not always there.
  JustInTime(const Graph &graph, const Chain &chain, std::vector<bool> mayMiss,
             const Retention *retention = nullptr)
      : graph(graph), chain(chain), mayMiss(std::move(mayMiss)), retention(retention),
        since(graph.numValues(), 0), position(graph.numOps(), 0), wantedFor(graph.numOps(), -1) {
    for (size_t index = 0; index < chain.order.size(); ++index)
      position[chain.order[index]] = static_cast<int32_t>(index);
  }

  Realization run(size_t mostSteps) {
    result.steps.reserve(chain.order.size() * 3 / 2);
    result.ownStep.reserve(chain.order.size());
    for (size_t index = 0; index < chain.order.size(); ++index) {
      segment = chain.segmentOf[index];
      const OpIndex op = chain.order[index];
      if (segment > 0) // all that the forward reads was written in it
        recomputeFor(op);
      result.ownStep.push_back(static_cast<int32_t>(result.steps.size()));
      emit(op);
      if (result.steps.size() > mostSteps)
        return {};
    }
    return std::move(result);
  }

private:
  bool mustRepeat(ValueIndex value) const {
    if (!mayMiss[value] || since[value] == segment)
      return false;
    return !retention || llvm::none_of(retention->windows[value], [&](Window window) {
      return window.from <= since[value] && segment <= window.to;
    });
  }

  /// Adds to `wanted` the writers of what `reader` needs for `op` and that is not there.
  void wantFor(OpIndex op, OpIndex reader) {
    for (ValueIndex value : graph.reads(reader)) {
      if (!mustRepeat(value))
        continue;
      const OpIndex writer = graph.writer(value);
      if (wantedFor[writer] == op)
        continue;
      wantedFor[writer] = op;
      wanted.push_back(writer);
    }
  }

  /// Repeats, in program order, the ops whose results `op` needs and that are not live.
  void recomputeFor(OpIndex op) {
    wanted.clear();
    wantFor(op, op);
    for (size_t next = 0; next < wanted.size(); ++next)
      wantFor(op, wanted[next]);
    llvm::sort(wanted, [&](OpIndex a, OpIndex b) { return position[a] < position[b]; });
    for (OpIndex writer : wanted)
      emit(writer);
  }

  void emit(OpIndex op) {
    for (ValueIndex value : graph.writes(op))
      since[value] = segment;
    result.steps.push_back(op);
  }

  const Graph &graph;
  const Chain &chain;
  const std::vector<bool> mayMiss;
  const Retention *const retention; // null where nothing that may miss is held
  std::vector<int32_t> since;
  std::vector<int32_t> position;
  std::vector<OpIndex> wantedFor, wanted;
  int32_t segment = 0;
  Realization result;
};
} // namespace

/// A value of 0 bytes is free to hold: an order token that an update reads must not cause the
/// forward op that wrote it to run again, with all its ancestors.
static bool canMiss(const Graph &graph, ValueIndex value) {
  const OpIndex writer = graph.writer(value);
  return writer >= 0 && graph.op(writer).recompute && graph.bytes(value) != 0;
}

Realization llmmem::planning::realize(const Graph &graph, const Chain &chain,
                                      const Retention &retention) {
  std::vector<bool> mayMiss(graph.numValues());
  for (ValueIndex value = 0; value < graph.numValues(); ++value)
    mayMiss[value] = retention.subject[value] && canMiss(graph, value);
  return JustInTime(graph, chain, std::move(mayMiss), &retention).run(SIZE_MAX);
}

Realization llmmem::planning::realize(const Graph &graph, const Chain &chain,
                                      std::vector<bool> isDiscarded, size_t mostSteps) {
  for (ValueIndex value = 0; value < graph.numValues(); ++value)
    if (isDiscarded[value] && !canMiss(graph, value))
      isDiscarded[value] = false;
  return JustInTime(graph, chain, std::move(isDiscarded)).run(mostSteps);
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
