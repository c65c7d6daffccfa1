//===- ReversalChain.cpp - Chains that a backward visits in reverse -----------------===//

#include "ReversalChain.h"
#include "Colours.h"
#include "StepOrder.h"
#include <algorithm>

using namespace llmmem::planning;

namespace {

class StageCutter {
public:
  StageCutter(const Graph &graph, std::vector<OpIndex> order, int32_t cut)
      : graph(graph), order(std::move(order)), position(graph.numOps()), cut(cut) {
    for (size_t index = 0; index < this->order.size(); ++index)
      position[this->order[index]] = static_cast<int32_t>(index);
  }

  std::optional<Chain> run() {
    while (cut > 1 && cut < graph.numOps() && isOfBackward(order[cut - 1]))
      --cut;
    Chain chain;
    chain.stageOf.assign(graph.numOps(), -1);
    chain.cut = cut;
    assignStages(chain);
    if (chain.numStages < 2)
      return std::nullopt;
    chain.isBlock.assign(chain.numStages, true);
    assignSegments(chain);
    chain.isOfGraph = chain.isInTurn = true;
    chain.order = std::move(order);
    return chain;
  }

private:
  /// Says whether the op before the cut belongs to the backward: the next op alone reads what it
  /// writes, and with it what other ops of the forward saved.
  bool isOfBackward(OpIndex op) const {
    const OpIndex next = order[cut];
    const bool leadsToNext = llvm::all_of(graph.writes(op), [&](ValueIndex value) {
      return !graph.isKept(value) &&
             llvm::all_of(graph.readers(value), [&](OpIndex reader) { return reader == next; });
    });
    return leadsToNext && llvm::any_of(graph.reads(next), [&](ValueIndex value) {
             const OpIndex writer = graph.writer(value);
             return writer >= 0 && writer != op && position[writer] < cut;
           });
  }

  /// Returns, per position up to the cut, how many values the rest of the forward reads from before
  /// it.
  std::vector<int32_t> countCrossing() const {
    std::vector<int32_t> change(cut + 1, 0);
    for (ValueIndex value = 0; value < graph.numValues(); ++value) {
      const OpIndex writer = graph.writer(value);
      int32_t last = -1;
      for (OpIndex reader : graph.readers(value))
        if (position[reader] < cut)
          last = std::max(last, position[reader]);
      if (writer < 0 || position[writer] >= cut || last < 0)
        continue;
      ++change[position[writer] + 1];
      --change[last + 1];
    }
    for (int32_t place = 1; place <= cut; ++place)
      change[place] += change[place - 1];
    return change;
  }

  void assignStages(Chain &chain) const {
    const std::vector<int32_t> crossing = countCrossing();
    int32_t stage = 0;
    for (int32_t place = 0; place < cut; ++place) {
      stage += place > 0 && crossing[place] == 1;
      chain.stageOf[order[place]] = stage;
    }
    chain.numStages = stage + 1;
  }

  /// An op of the backward belongs to the segment of the last stage that it, or an op after it,
  /// reads from.
  void assignSegments(Chain &chain) const {
    chain.segmentOf.assign(order.size(), 0);
    int32_t latest = -1;
    for (size_t place = order.size(); place-- > size_t(cut);) {
      for (ValueIndex value : graph.reads(order[place]))
        if (const OpIndex writer = graph.writer(value); writer >= 0)
          latest = std::max(latest, chain.stageOf[writer]);
      chain.segmentOf[place] = latest < 0 ? chain.numStages + 1 : chain.backwardSegment(latest);
    }
  }

  const Graph &graph;
  std::vector<OpIndex> order;
  std::vector<int32_t> position;
  int32_t cut;
};

} // namespace

std::optional<Chain> llmmem::planning::cutIntoShortestStages(const Graph &graph,
                                                             std::vector<OpIndex> order,
                                                             int32_t cut) {
  return StageCutter(graph, std::move(order), cut).run();
}

std::optional<Chain> llmmem::planning::findReversalChain(const Graph &graph) {
  constexpr int rounds = 4; // as for StepChain.h
  const std::vector<uint64_t> colours = findColours(graph, rounds);
  const Spine spine = findSpine(graph, colours);
  if (spine.turn < 0)
    return std::nullopt;
  StepOrder order = findStepOrder(graph, spine, colours);
  return cutIntoShortestStages(graph, std::move(order.ops), order.cut);
}
