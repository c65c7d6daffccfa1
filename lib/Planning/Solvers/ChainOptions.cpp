//===- ChainOptions.cpp - What each part of a chain may do --------------------===//

#include "ChainOptions.h"
#include <algorithm>

using namespace llmmem::planning;

static std::vector<bool> ancestorsOf(const Graph &graph, OpIndex op) {
  std::vector<bool> seen(graph.numOps(), false);
  std::vector<OpIndex> worklist{op};
  seen[op] = true;
  while (!worklist.empty()) {
    OpIndex at = worklist.back();
    worklist.pop_back();
    for (ValueIndex value : graph.op(at).reads) {
      OpIndex writer = graph.writer(value);
      if (writer < 0 || seen[writer])
        continue;
      seen[writer] = true;
      worklist.push_back(writer);
    }
  }
  return seen;
}

OpIndex llmmem::planning::findCutOp(const Graph &graph, const Chain &chain) {
  std::vector<ValueIndex> saved = savedValues(graph, chain);
  int32_t count = static_cast<int32_t>(chain.order.size());
  OpIndex best = chain.order[std::clamp(chain.cut - 1, 0, count - 1)];
  int64_t bestBytes = -1;
  constexpr int32_t reach = 6; // the ops around the loss
  for (int32_t at = std::max(0, chain.cut - reach); at < std::min(count, chain.cut + reach); ++at) {
    std::vector<bool> ancestors = ancestorsOf(graph, chain.order[at]);
    int64_t bytes = 0;
    for (ValueIndex value : saved)
      if (ancestors[graph.writer(value)])
        bytes += graph.bytes(value);
    // The footprint of the op itself counts beside what is live there: a smaller one leaves the clearer cut.
    bytes -= graph.footprint(chain.order[at]) / 4;
    if (bytes > bestBytes) {
      bestBytes = bytes;
      best = chain.order[at];
    }
  }
  return best;
}

static Retention retentionFor(const Graph &graph, const Chain &chain, const ChainOptions &options,
                              llvm::ArrayRef<int32_t> choiceOfPart) {
  Retention retention(graph);
  for (ValueIndex value = 0; value < graph.numValues(); ++value) {
    if (!options.subject[value])
      continue;
    int32_t part = chain.partOf[graph.writer(value)];
    retention.discard(value);
    if (options.held[choiceOfPart[part]][value])
      retention.hold(value, 0, chain.numStretches());
  }
  return retention;
}

Realization llmmem::planning::realizeChoices(const Graph &graph, const Chain &chain,
                                             const ChainOptions &options,
                                             llvm::ArrayRef<int32_t> choiceOfPart) {
  return realize(graph, chain, retentionFor(graph, chain, options, choiceOfPart));
}

/// Reads one uniform realization part by part.
static std::vector<PartOption> measure(const Graph &graph, const Chain &chain,
                                       const Realization &made) {
  std::vector<PartOption> parts(chain.numParts);
  int32_t cutStep = static_cast<int32_t>(
      llvm::find_if(made.stretches, [](int32_t stretch) { return stretch > 0; }) -
      made.stretches.begin());
  for (const Instance &instance : instances(graph, made.steps)) {
    OpIndex writer = graph.writer(instance.value);
    if (writer >= 0 && chain.partOf[writer] >= 0 && instance.from < cutStep && instance.to >= cutStep)
      parts[chain.partOf[writer]].held += graph.bytes(instance.value);
  }
  std::vector<int64_t> heldBefore(chain.numParts + 1, 0);
  for (int32_t part = 0; part < chain.numParts; ++part)
    heldBefore[part + 1] = heldBefore[part] + parts[part].held;

  Profile usage = profile(graph, made.steps);
  for (size_t step = 0; step < made.steps.size(); ++step) {
    OpIndex op = made.steps[step];
    int32_t stretch = made.stretches[step];
    if (made.repeats[step])
      parts[chain.partOf[op]].cost += graph.op(op).cost;
    if (stretch > chain.numParts)
      continue;
    int32_t part = stretch == 0 ? chain.partOf[op] : chain.numParts - stretch;
    int64_t bytes = usage.bytes[step] - heldBefore[part];
    int64_t &peak = stretch == 0 ? parts[part].forwardPeak : parts[part].backwardPeak;
    peak = std::max(peak, bytes);
  }
  return parts;
}

/// The values that a part takes from earlier ones: its input, and nothing of its inside.
static std::vector<bool> boundaries(const Graph &graph, const Chain &chain) {
  std::vector<bool> crosses(graph.numValues(), false);
  for (ValueIndex value = 0; value < graph.numValues(); ++value) {
    OpIndex writer = graph.writer(value);
    if (writer < 0 || chain.partOf[writer] < 0)
      continue;
    crosses[value] = llvm::any_of(graph.readers(value), [&](OpIndex reader) {
      return chain.partOf[reader] > chain.partOf[writer];
    });
  }
  return crosses;
}

ChainOptions llmmem::planning::findOptions(const Graph &graph, const Chain &chain, size_t limit) {
  ChainOptions result;
  OpIndex cut = findCutOp(graph, chain);
  std::vector<bool> ancestors = ancestorsOf(graph, cut);
  ancestors[cut] = false;
  result.subject.assign(graph.numValues(), false);
  for (ValueIndex value = 0; value < graph.numValues(); ++value) {
    OpIndex writer = graph.writer(value);
    result.subject[value] = writer >= 0 && chain.partOf[writer] >= 0 && ancestors[writer] &&
                            graph.op(writer).recompute &&
                            !llvm::is_contained(graph.op(cut).reads, value);
  }
  result.held.push_back(std::vector<bool>(graph.numValues(), true));
  for (const CutChoice &choice : CutRelaxation(graph, cut).allChoices(limit)) {
    std::vector<bool> held(graph.numValues(), false);
    for (ValueIndex value : choice.kept)
      held[value] = true;
    result.held.push_back(std::move(held));
  }
  result.held.push_back(boundaries(graph, chain));

  for (const std::vector<bool> &held : result.held) {
    (void)held;
    std::vector<int32_t> uniform(chain.numParts, static_cast<int32_t>(result.options.size()));
    result.options.push_back(measure(graph, chain, realizeChoices(graph, chain, result, uniform)));
  }
  return result;
}
