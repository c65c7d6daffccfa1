//===- Recompute.cpp - From retained values to a schedule ---------------------===//

#include "llmmem/Planning/Schedulers/Recompute.h"
#include "llmmem/Planning/Model/Decisions.h"
#include <algorithm>
#include <numeric>

using namespace llmmem::planning;

/// Returns the last segment in which `value` is live where it is written in `segment`.
static int32_t heldUntil(const Retention &retention, ValueIndex value, int32_t segment) {
  int32_t until = segment;
  for (Window window : retention.windows[value])
    if (window.from <= segment)
      until = std::max(until, window.to);
  return until;
}

namespace {
/// Replays the order and tracks, for each value, until which segment its latest instance is live.
class JustInTime {
public:
  static constexpr int32_t always = INT32_MAX;

  /// `thereUntil` holds the last segment per value, as written in segment 0. `retention` is null
  /// where nothing is held from a later one.
  JustInTime(const Graph &graph, const Chain &chain, std::vector<int32_t> thereUntil,
             const Retention *retention = nullptr)
      : graph(graph), chain(chain), retention(retention), thereUntil(std::move(thereUntil)),
        position(graph.numOps()), wantedFor(graph.numOps(), -1) {
    for (size_t index = 0; index < chain.order.size(); ++index)
      position[chain.order[index]] = static_cast<int32_t>(index);
  }

  /// Runs the realization. All that the forward reads is live, and what it leaves is what
  /// `thereUntil` said at first.
  Realization run(size_t mostSteps) {
    result.steps.reserve(chain.order.size() * 3 / 2);
    result.steps.assign(chain.order.begin(), chain.order.begin() + chain.cut);
    result.ownStep.resize(chain.order.size());
    std::iota(result.ownStep.begin(), result.ownStep.begin() + chain.cut, 0);
    for (size_t index = chain.cut; index < chain.order.size(); ++index) {
      const bool isFirst = chain.segmentOf[index] != segment;
      segment = chain.segmentOf[index];
      const OpIndex op = chain.order[index];
      if (isFirst)
        wantAhead(op);
      recomputeFor(op);
      result.ownStep[index] = static_cast<int32_t>(result.steps.size());
      emit(op);
      if (result.steps.size() > mostSteps)
        return {};
    }
    return std::move(result);
  }

private:
  /// Adds the writer of `value` to `wanted` for `op` where the value is not live.
  void want(ValueIndex value, OpIndex op) {
    if (segment <= thereUntil[value])
      return;
    const OpIndex writer = graph.writer(value);
    if (wantedFor[writer] == op)
      return;
    wantedFor[writer] = op;
    wanted.push_back(writer);
  }

  void wantFor(OpIndex op, OpIndex reader) {
    for (ValueIndex value : graph.reads(reader))
      want(value, op);
  }

  /// Adds what is recomputed ahead; `op` is the first of its segment.
  void wantAhead(OpIndex op) {
    if (!retention)
      return;
    for (auto [at, value] : retention->ahead)
      if (at == segment)
        want(value, op);
  }

  /// Repeats, in program order, the ops whose results `op` needs and that are not live.
  void recomputeFor(OpIndex op) {
    wantFor(op, op);
    if (wanted.empty())
      return;
    for (size_t next = 0; next < wanted.size(); ++next)
      wantFor(op, wanted[next]);
    llvm::sort(wanted, [&](OpIndex a, OpIndex b) { return position[a] < position[b]; });
    for (OpIndex writer : wanted)
      emit(writer);
    wanted.clear();
  }

  void emit(OpIndex op) {
    for (ValueIndex value : graph.writes(op)) {
      const int32_t until = retention ? heldUntil(*retention, value, segment) : segment;
      thereUntil[value] = std::max(thereUntil[value], until);
    }
    result.steps.push_back(op);
  }

  const Graph &graph;
  const Chain &chain;
  const Retention *const retention;
  std::vector<int32_t> thereUntil;
  std::vector<int32_t> position;
  std::vector<OpIndex> wantedFor, wanted;
  int32_t segment = 0;
  Realization result;
};
} // namespace

/// Says whether a value that is not held must be recomputed. A value of 0 bytes is free to hold: an
/// order token that an update reads must not cause the forward op that wrote it to run again, with
/// all its ancestors.
static bool canMiss(const Graph &graph, ValueIndex value) {
  const OpIndex writer = graph.writer(value);
  return writer >= 0 && graph.op(writer).recompute && graph.bytes(value) != 0;
}

Realization llmmem::planning::realize(const Graph &graph, const Chain &chain,
                                      const Retention &retention) {
  std::vector<int32_t> thereUntil(graph.numValues(), JustInTime::always);
  for (ValueIndex value = 0; value < graph.numValues(); ++value)
    if (retention.subject[value] && canMiss(graph, value))
      thereUntil[value] = heldUntil(retention, value, 0);
  return JustInTime(graph, chain, std::move(thereUntil), &retention).run(SIZE_MAX);
}

Realization llmmem::planning::realize(const Graph &graph, const Chain &chain,
                                      const std::vector<bool> &isDiscarded, size_t mostSteps) {
  std::vector<int32_t> thereUntil(graph.numValues(), JustInTime::always);
  for (ValueIndex value = 0; value < graph.numValues(); ++value)
    if (isDiscarded[value] && canMiss(graph, value))
      thereUntil[value] = 0;
  return JustInTime(graph, chain, std::move(thereUntil)).run(mostSteps);
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
