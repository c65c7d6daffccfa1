//===- ChainOptions.cpp - The options of each stage of a chain ---------------===//

#include "ChainOptions.h"
#include <algorithm>
#include <limits>
#include <unordered_map>

using namespace llmmem::planning;

namespace {
/// Holds the ops around the loss, and what runs before and after each of them in every schedule.
class CutCandidates {
public:
  static constexpr int32_t reach = 12;

  CutCandidates(const Graph &graph, const Chain &chain);
  /// Returns, per candidate, the bytes of `saved` values that are live across it.
  std::vector<int64_t> bytesAcross(llvm::ArrayRef<ValueIndex> saved) const;

  std::vector<OpIndex> ops;

private:
  using Bits = uint32_t; // one bit for each candidate
  static_assert(2 * reach <= std::numeric_limits<Bits>::digits);

  const Graph &graph;
  std::vector<Bits> isAncestorOf, isDescendantOf; // per op
};
} // namespace

CutCandidates::CutCandidates(const Graph &graph, const Chain &chain)
    : graph(graph), isAncestorOf(graph.numOps(), 0), isDescendantOf(graph.numOps(), 0) {
  const auto count = static_cast<int32_t>(chain.order.size());
  for (int32_t at = std::max(0, chain.cut - reach); at < std::min(count, chain.cut + reach); ++at)
    ops.push_back(chain.order[at]);
  std::vector<Bits> isCandidate(graph.numOps(), 0);
  for (const auto &[index, op] : llvm::enumerate(ops))
    isCandidate[op] = Bits(1) << index;
  for (OpIndex op = graph.numOps() - 1; op >= 0; --op) // a value is written before it is read
    for (ValueIndex value : graph.reads(op))
      if (const OpIndex writer = graph.writer(value); writer >= 0)
        isAncestorOf[writer] |= isAncestorOf[op] | isCandidate[op];
  for (OpIndex op = 0; op < graph.numOps(); ++op)
    for (ValueIndex value : graph.reads(op))
      if (const OpIndex writer = graph.writer(value); writer >= 0)
        isDescendantOf[op] |= isDescendantOf[writer] | isCandidate[writer];
}

std::vector<int64_t> CutCandidates::bytesAcross(llvm::ArrayRef<ValueIndex> saved) const {
  std::vector<int64_t> bytes(ops.size(), 0);
  for (ValueIndex value : saved) {
    Bits isReadAfter = 0;
    for (OpIndex reader : graph.readers(value))
      isReadAfter |= isDescendantOf[reader];
    const Bits isAcross = isAncestorOf[graph.writer(value)] & isReadAfter;
    for (size_t index = 0; index < ops.size(); ++index)
      bytes[index] += isAcross >> index & 1 ? graph.bytes(value) : 0;
  }
  return bytes;
}

OpIndex llmmem::planning::findCutOp(const Graph &graph, const Chain &chain) {
  const CutCandidates candidates(graph, chain);
  const std::vector<int64_t> across = candidates.bytesAcross(savedValues(graph, chain));
  const auto count = static_cast<int32_t>(chain.order.size());
  OpIndex best = chain.order[std::clamp(chain.cut - 1, 0, count - 1)];
  int64_t bestBytes = INT64_MIN;
  for (const auto &[op, bytes] : llvm::zip_equal(candidates.ops, across)) {
    // The footprint of the op itself adds to what is live there: an op with a smaller one is a
    // clearer cut.
    const int64_t clear = bytes - graph.footprint(op) / 4;
    if (clear >= bestBytes) { // a tie goes to the later op: less of the forward is still to run
      bestBytes = clear;
      best = op;
    }
  }
  return best;
}

static std::vector<bool> discardedBy(const Graph &graph, const Chain &chain,
                                     const ChainOptions &options,
                                     llvm::ArrayRef<int32_t> choiceOfStage) {
  std::vector<bool> isDiscarded(graph.numValues(), false);
  for (ValueIndex value = 0; value < graph.numValues(); ++value)
    if (options.subject[value]) {
      const int32_t stage = chain.stageOf[graph.writer(value)];
      isDiscarded[value] = !options.held[choiceOfStage[stage]][value];
    }
  return isDiscarded;
}

Realization llmmem::planning::realizeChoices(const Graph &graph, const Chain &chain,
                                             const ChainOptions &options,
                                             llvm::ArrayRef<int32_t> choiceOfStage) {
  return realize(graph, chain, discardedBy(graph, chain, options, choiceOfStage));
}

namespace {
/// Reads the options of all stages from one realization, the last step first.
class Measurement {
public:
  Measurement(const Graph &graph, const Chain &chain)
      : graph(graph), chain(chain), scan(graph), stages(chain.numStages) {}
  std::vector<StageOption> run(const Realization &made);

private:
  void visit(OpIndex op, int32_t segment);
  void findHeld();
  void leaveHeldOut();

  const Graph &graph;
  const Chain &chain;
  BackwardScan scan;
  std::vector<StageOption> stages; // peaks include what earlier stages hold
};
} // namespace

void Measurement::visit(OpIndex op, int32_t segment) {
  const int64_t bytes = scan.visit(op);
  if (segment > chain.numStages)
    return;
  StageOption &option = stages[segment == 0 ? chain.stageOf[op] : chain.numStages - segment];
  int64_t &peak = segment == 0 ? option.forwardPeak : option.backwardPeak;
  peak = std::max(peak, bytes);
}

/// Finds what is held once all of the backward has been visited.
void Measurement::findHeld() {
  for (ValueIndex value = 0; value < graph.numValues(); ++value) {
    const OpIndex writer = graph.writer(value);
    if (writer >= 0 && chain.stageOf[writer] >= 0 && scan.isLive(value))
      stages[chain.stageOf[writer]].held += graph.bytes(value);
  }
}

void Measurement::leaveHeldOut() {
  int64_t heldBefore = 0;
  for (StageOption &option : stages) {
    option.forwardPeak = std::max<int64_t>(option.forwardPeak - heldBefore, 0);
    option.backwardPeak = std::max<int64_t>(option.backwardPeak - heldBefore, 0);
    heldBefore += option.held;
  }
}

std::vector<StageOption> Measurement::run(const Realization &made) {
  for (auto index = static_cast<int32_t>(chain.order.size()) - 1; index >= 0; --index) {
    if (index == chain.cut - 1)
      findHeld();
    const int32_t segment = chain.segmentOf[index];
    const int32_t before = index > 0 ? made.ownStep[index - 1] : -1;
    visit(chain.order[index], segment);
    for (int32_t step = made.ownStep[index] - 1; step > before; --step) {
      const OpIndex repeat = made.steps[step];
      stages[chain.stageOf[repeat]].cost += graph.cost(repeat);
      visit(repeat, segment);
    }
  }
  leaveHeldOut();
  return std::move(stages);
}

/// Returns the values that a later stage reads: the stages' inputs, and nothing internal.
static std::vector<bool> boundaries(const Graph &graph, const Chain &chain) {
  std::vector<bool> crosses(graph.numValues(), false);
  for (ValueIndex value = 0; value < graph.numValues(); ++value) {
    OpIndex writer = graph.writer(value);
    if (writer < 0 || chain.stageOf[writer] < 0)
      continue;
    crosses[value] = llvm::any_of(graph.readers(value), [&](OpIndex reader) {
      return chain.stageOf[reader] > chain.stageOf[writer];
    });
  }
  return crosses;
}

/// Adds mixtures of two neighbouring choices of the relaxation, for chains of few stages, where
/// whole choices are too coarse. Of the values in which the two differ, a mixture keeps one, or all
/// but one, or the first or last few in each stage. The relaxation does not find them, since the
/// values have equal prices per byte.
static void addBetween(const Graph &graph, const Chain &chain, const std::vector<bool> &more,
                       const std::vector<bool> &less, size_t limit,
                       std::vector<std::vector<bool>> &held) {
  std::vector<llvm::SmallVector<ValueIndex, 16>> differing(chain.numStages);
  size_t most = 0;
  for (OpIndex op : chain.order) {
    int32_t stage = chain.stageOf[op];
    if (stage < 0)
      continue;
    for (ValueIndex value : graph.op(op).writes)
      if (more[value] && !less[value] && graph.bytes(value) > 0)
        differing[stage].push_back(value);
    most = std::max(most, differing[stage].size());
  }
  auto add = [&](llvm::function_ref<bool(size_t, size_t)> keeps) {
    if (held.size() >= limit)
      return;
    std::vector<bool> mixed = less;
    for (const auto &values : differing)
      for (size_t index = 0; index < values.size(); ++index)
        if (keeps(index, values.size()))
          mixed[values[index]] = true;
    held.push_back(std::move(mixed));
  };
  for (size_t chosen = 0; chosen < most && most > 1; ++chosen) {
    add([&](size_t index, size_t) { return index == chosen; });
    add([&](size_t index, size_t) { return index != chosen; });
    if (chosen > 0 && chosen + 1 < most) {
      add([&](size_t index, size_t) { return index <= chosen; });
      add([&](size_t index, size_t) { return index > chosen; });
    }
  }
}

static std::vector<std::vector<bool>> heldChoices(const Graph &graph, const Chain &chain,
                                                  OpIndex cut, size_t limit) {
  std::vector<std::vector<bool>> held{std::vector<bool>(graph.numValues(), true)};
  for (const CutChoice &choice : CutRelaxation(graph, cut).allChoices(limit)) {
    std::vector<bool> values(graph.numValues(), false);
    for (ValueIndex value : choice.kept)
      values[value] = true;
    held.push_back(std::move(values));
  }
  std::vector<bool> leastHeld = boundaries(graph, chain);
  size_t hull = held.size();
  constexpr size_t perChoice = 6;
  constexpr int32_t fewStages = 64; // longer chains mix whole choices finely enough
  for (size_t index = 1; index + 1 < hull && chain.numStages <= fewStages; ++index)
    addBetween(graph, chain, std::vector<bool>(held[index]), std::vector<bool>(held[index + 1]),
               limit * perChoice, held);
  held.push_back(std::move(leastHeld));
  return held;
}

/// Keeps the Pareto set per stage: the options that no other dominates in cost, bytes held and
/// peaks.
static void dropDominated(ChainOptions &result) {
  for (size_t stage = 0; stage < result.options[0].size(); ++stage) {
    std::vector<int32_t> &useful = result.useful.emplace_back();
    for (int32_t choice = 0; choice < result.numChoices(); ++choice) {
      const StageOption &option = result.options[choice][stage];
      auto dominates = [&](const StageOption &a, const StageOption &b) {
        return a.cost <= b.cost && a.held <= b.held &&
               std::max(a.forwardPeak, a.backwardPeak) <= std::max(b.forwardPeak, b.backwardPeak);
      };
      if (llvm::any_of(useful, [&](int32_t other) {
            return dominates(result.options[other][stage], option);
          }))
        continue;
      llvm::erase_if(
          useful, [&](int32_t other) { return dominates(option, result.options[other][stage]); });
      useful.push_back(choice);
    }
  }
}

/// Measures the choices and drops those that repeat too much. Values that must not be discarded
/// tell no two choices apart, and some mixtures are made twice: each is measured once.
static void measureChoices(const Graph &graph, const Chain &chain, ChainOptions &result) {
  const size_t mostSteps = size_t(graph.numOps()) * 8 + 100;
  std::unordered_map<std::vector<bool>, std::optional<std::vector<StageOption>>> optionsOf;
  std::vector<std::vector<bool>> measured;
  for (int32_t choice = 0; choice < result.numChoices(); ++choice) {
    graph.poll();
    const std::vector<int32_t> uniform(chain.numStages, choice);
    auto [it, isNew] = optionsOf.try_emplace(discardedBy(graph, chain, result, uniform));
    if (isNew) {
      const Realization made = realize(graph, chain, it->first, mostSteps);
      if (!made.steps.empty() || graph.numOps() == 0)
        it->second = Measurement(graph, chain).run(made);
    }
    if (!it->second)
      continue;
    measured.push_back(std::move(result.held[choice]));
    result.options.push_back(*it->second);
  }
  result.held = std::move(measured);
}

ChainOptions llmmem::planning::findOptions(const Graph &graph, const Chain &chain, size_t limit) {
  ChainOptions result;
  OpIndex cut = findCutOp(graph, chain);
  std::vector<bool> ancestors(graph.numOps(), false);
  markAncestors(graph, cut, ancestors);
  result.subject.assign(graph.numValues(), false);
  for (ValueIndex value = 0; value < graph.numValues(); ++value) {
    OpIndex writer = graph.writer(value);
    result.subject[value] = writer >= 0 && chain.stageOf[writer] >= 0 && ancestors[writer] &&
                            graph.op(writer).recompute &&
                            !llvm::is_contained(graph.op(cut).reads, value);
  }
  result.held = heldChoices(graph, chain, cut, limit);
  measureChoices(graph, chain, result);
  dropDominated(result);
  return result;
}
