//===- RepeatedBlocks.cpp - A step of many equal blocks, from one of few -------===//

#include "llmmem/Planning/Schedulers/RepeatedBlocks.h"
#include "ChainOptions.h"
#include <algorithm>

using namespace llmmem::planning;

/// A choice for the blocks of a stretch. Those that hold more come first.
struct RepeatedBlocks::Choice {
  PartOption first, more, fewer, afterBlocks;
  int64_t withMore = 0; // blocks with the option `more`
};

/// Keeps what no other option beats in cost, bytes held and peak, in increasing cost.
static std::vector<PartOption> withoutDominated(std::vector<PartOption> options) {
  auto key = [](const PartOption &option) {
    return std::tuple(option.cost, option.held, option.peak);
  };
  llvm::sort(options, [&](const PartOption &a, const PartOption &b) { return key(a) < key(b); });
  std::vector<PartOption> best;
  for (const PartOption &option : options)
    if (llvm::none_of(best, [&](const PartOption &other) {
          return other.held <= option.held && other.peak <= option.peak;
        }))
      best.push_back(option);
  return best;
}

static std::vector<PartOption> optionsOfStage(const ChainOptions &options, size_t stage,
                                              int64_t resident) {
  std::vector<PartOption> found;
  for (const std::vector<StageOption> &choice : options.options) {
    const StageOption &option = choice[stage];
    int64_t peak = std::max(option.forwardPeak, option.backwardPeak) - resident;
    found.push_back({option.cost, option.held, std::max(peak, option.held)});
  }
  return withoutDominated(std::move(found));
}

std::optional<RepeatedBlocks> RepeatedBlocks::of(const Problem &step) {
  const Graph graph(step);
  Chain chain = findChain(graph, givenOrder(graph));
  auto firstBlock = llvm::find(chain.isBlock, true) - chain.isBlock.begin();
  constexpr int64_t fewest = 3;
  if (chain.numBlocks() < fewest)
    return std::nullopt;
  // With few stages, choices between those of the relaxation are cheap to measure.
  constexpr size_t mostChoices = 16;
  ChainOptions options = findOptions(graph, chain, mostChoices);
  if (options.options.empty())
    return std::nullopt;
  const int64_t resident = graph.residentBytes();
  RepeatedBlocks blocks;
  for (int32_t stage = 0; stage < firstBlock; ++stage)
    blocks.first = optionsOfStage(options, stage, resident);
  blocks.inner = optionsOfStage(options, firstBlock + 1, resident);
  for (int32_t stage = static_cast<int32_t>(firstBlock) + chain.numBlocks();
       stage < chain.numStages; ++stage)
    blocks.afterBlocks = optionsOfStage(options, stage, resident);
  Profile once = profile(graph, chain.order);
  for (size_t at = 0; at < chain.order.size(); ++at)
    if (chain.segmentOf[at] > chain.numStages)
      blocks.updatePeak = std::max(blocks.updatePeak, once.bytes[at] - resident);
  return blocks;
}

StretchPlan RepeatedBlocks::evaluate(const BlockStretch &stretch, const Choice &choice) const {
  int64_t withFewer = stretch.blocks - choice.withMore;
  int64_t held = 0, peak = updatePeak, cost = 0;
  auto run = [&](const PartOption &option, int64_t times) {
    if (times == 0)
      return;
    peak = std::max(peak, held + (times - 1) * option.held + option.peak);
    held += times * option.held;
    cost += times * option.cost;
  };
  run(choice.first, stretch.hasFirst);
  run(choice.more, choice.withMore);
  run(choice.fewer, withFewer);
  run(choice.afterBlocks, stretch.hasLast);
  return {cost, stretch.residentBytes + (stretch.microBatches - 1) * held + peak};
}

/// Visits every pair of options of the blocks with every option of what stands around them.
template <typename Visit>
void RepeatedBlocks::forEachChoice(const BlockStretch &stretch, Visit visit) const {
  static const std::vector<PartOption> nothing{{}};
  const auto &before = stretch.hasFirst && !first.empty() ? first : nothing;
  const auto &after = stretch.hasLast && !afterBlocks.empty() ? afterBlocks : nothing;
  for (const PartOption &start : before)
    for (const PartOption &end : after)
      for (size_t more = 0; more < inner.size(); ++more)
        for (size_t fewer = more; fewer < inner.size(); ++fewer)
          if (inner[fewer].held <= inner[more].held)
            visit(Choice{start, inner[more], inner[fewer], end, 0});
}

std::optional<StretchPlan> RepeatedBlocks::under(const BlockStretch &stretch,
                                                 int64_t budget) const {
  std::optional<StretchPlan> best;
  forEachChoice(stretch, [&](Choice choice) {
    // With more blocks that hold more, the cost is lower and the footprint larger.
    int64_t low = -1, high = stretch.blocks;
    while (low < high) {
      int64_t middle = low + (high - low + 1) / 2;
      choice.withMore = middle;
      if (evaluate(stretch, choice).bytes <= budget)
        low = middle;
      else
        high = middle - 1;
    }
    if (low < 0)
      return;
    choice.withMore = low;
    StretchPlan plan = evaluate(stretch, choice);
    if (!best || std::tie(plan.recompute, plan.bytes) < std::tie(best->recompute, best->bytes))
      best = plan;
  });
  return best;
}

StretchPlan RepeatedBlocks::least(const BlockStretch &stretch) const {
  StretchPlan best{0, INT64_MAX};
  forEachChoice(stretch, [&](const Choice &choice) {
    StretchPlan plan = evaluate(stretch, choice);
    if (std::tie(plan.bytes, plan.recompute) < std::tie(best.bytes, best.recompute))
      best = plan;
  });
  return best;
}
