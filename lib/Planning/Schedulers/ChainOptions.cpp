//===- ChainOptions.cpp - What each part of a chain may do --------------------===//

#include "ChainOptions.h"
#include <algorithm>

using namespace llmmem::planning;

OpIndex llmmem::planning::findCutOp(const Graph &graph, const Chain &chain) {
  std::vector<ValueIndex> saved = savedValues(graph, chain);
  int32_t count = static_cast<int32_t>(chain.order.size());
  OpIndex best = chain.order[std::clamp(chain.cut - 1, 0, count - 1)];
  int64_t bestBytes = INT64_MIN;
  constexpr int32_t reach = 12; // the ops around the loss
  for (int32_t at = std::max(0, chain.cut - reach); at < std::min(count, chain.cut + reach); ++at) {
    OpIndex op = chain.order[at];
    std::vector<bool> ancestors(graph.numOps(), false), descendants(graph.numOps(), false);
    markAncestors(graph, op, ancestors);
    markDescendants(graph, op, descendants);
    int64_t bytes = 0;
    for (ValueIndex value : saved)
      if (ancestors[graph.writer(value)] &&
          llvm::any_of(graph.readers(value), [&](OpIndex reader) { return descendants[reader]; }))
        bytes += graph.bytes(value);
    // The footprint of the op itself counts beside what is live there: a smaller one leaves the
    // clearer cut.
    bytes -= graph.footprint(op) / 4;
    if (bytes >= bestBytes) { // the later of equals has less of the forward behind it still to come
      bestBytes = bytes;
      best = op;
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
    if (writer >= 0 && chain.partOf[writer] >= 0 && instance.from < cutStep &&
        instance.to >= cutStep)
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

/// Choices between two neighbouring ones of the relaxation, for chains of few parts, where mixing
/// whole choices is too coarse: of the values in which the two differ, keep one, or all but one, or
/// the first or last few in each part. Equal prices per byte hide them from the relaxation.
static void addBetween(const Graph &graph, const Chain &chain, const std::vector<bool> &more,
                       const std::vector<bool> &less, size_t limit,
                       std::vector<std::vector<bool>> &held) {
  std::vector<llvm::SmallVector<ValueIndex, 16>> differing(chain.numParts);
  size_t most = 0;
  for (OpIndex op : chain.order) {
    int32_t part = chain.partOf[op];
    if (part < 0)
      continue;
    for (ValueIndex value : graph.op(op).writes)
      if (more[value] && !less[value] && graph.bytes(value) > 0)
        differing[part].push_back(value);
    most = std::max(most, differing[part].size());
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
  std::vector<bool> lean = boundaries(graph, chain);
  size_t hull = held.size();
  constexpr size_t perChoice = 6;
  constexpr int32_t fewParts = 64; // longer chains mix whole choices finely enough
  for (size_t index = 1; index + 1 < hull && chain.numParts <= fewParts; ++index)
    addBetween(graph, chain, std::vector<bool>(held[index]), std::vector<bool>(held[index + 1]),
               limit * perChoice, held);
  held.push_back(std::move(lean));
  return held;
}

/// Keeps per part only what no other option beats in cost, bytes held and peaks.
static void dropBeaten(ChainOptions &result) {
  for (size_t part = 0; part < result.options[0].size(); ++part) {
    std::vector<int32_t> &useful = result.useful.emplace_back();
    for (int32_t choice = 0; choice < result.numChoices(); ++choice) {
      const PartOption &option = result.options[choice][part];
      auto beats = [&](const PartOption &a, const PartOption &b) {
        return a.cost <= b.cost && a.held <= b.held &&
               std::max(a.forwardPeak, a.backwardPeak) <= std::max(b.forwardPeak, b.backwardPeak);
      };
      if (llvm::any_of(useful,
                       [&](int32_t other) { return beats(result.options[other][part], option); }))
        continue;
      llvm::erase_if(useful,
                     [&](int32_t other) { return beats(option, result.options[other][part]); });
      useful.push_back(choice);
    }
  }
}

ChainOptions llmmem::planning::findOptions(const Graph &graph, const Chain &chain, size_t limit) {
  ChainOptions result;
  OpIndex cut = findCutOp(graph, chain);
  std::vector<bool> ancestors(graph.numOps(), false);
  markAncestors(graph, cut, ancestors);
  result.subject.assign(graph.numValues(), false);
  for (ValueIndex value = 0; value < graph.numValues(); ++value) {
    OpIndex writer = graph.writer(value);
    result.subject[value] = writer >= 0 && chain.partOf[writer] >= 0 && ancestors[writer] &&
                            graph.op(writer).recompute &&
                            !llvm::is_contained(graph.op(cut).reads, value);
  }
  result.held = heldChoices(graph, chain, cut, limit);
  size_t mostSteps = size_t(graph.numOps()) * 8 + 100;
  std::vector<std::vector<bool>> measured;
  for (int32_t choice = 0; choice < result.numChoices(); ++choice) {
    std::vector<int32_t> uniform(chain.numParts, choice);
    Realization made =
        realize(graph, chain, retentionFor(graph, chain, result, uniform), mostSteps);
    if (made.steps.empty() && graph.numOps() > 0)
      continue;
    measured.push_back(std::move(result.held[choice]));
    result.options.push_back(measure(graph, chain, made));
  }
  result.held = std::move(measured);
  dropBeaten(result);
  return result;
}
