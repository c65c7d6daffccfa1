//===- RotorChain.h - Chains of unequal stages, and the recurrence for them ------===//
//
// Stage i takes boundary i to boundary i + 1 and leaves what its backward reads: a body, and parts
// that can be made again from the body alone (as core attention can from q, k, v). Backward i reads
// boundary i, the body, the parts and the gradient of boundary i + 1. The parts pass one at a time
// in both directions, for the recurrence charges nothing for what a backward rebuilds.
//
// `rotorCost` is the recurrence of Beaumont, Herrmann et al. (arXiv 1911.13214) with options per
// stage as in Rockmate (ICML 2023), written down plainly; nothing of it is shared with the planner.
//
// Example: {.boundary = {2, 2}, .stages = {{.body = 32, .part = 40, .parts = 2, .bodyCost = 9,
// .partCost = 1, .backwardCost = 20}}}: keep 2 + 32 + 80 bytes for 31, or 2 + 32 for 33.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_UNITTESTS_PLANNING_ROTORCHAIN_H
#define LLMMEM_UNITTESTS_PLANNING_ROTORCHAIN_H

#include "ProblemBuilder.h"
#include <algorithm>
#include <map>
#include <random>
#include <tuple>

namespace llmmem::planning::test {

struct RotorStage {
  int64_t body = 0;
  int64_t part = 0; // bytes of each part
  int64_t parts = 0;
  int64_t bodyCost = 0;
  int64_t partCost = 0; // of each part
  int64_t backwardCost = 0;

  int64_t forwardCost() const { return bodyCost + parts * partCost; }
};

struct RotorChain {
  std::vector<int64_t> boundary; // one more than stages; a gradient has its boundary's size
  std::vector<RotorStage> stages;
};

/// Twelve layers of GPT-3 in units of one boundary's half: 114 bytes to keep all, 34 to keep all
/// but core attention, which costs 27 of 1,000 to make again. Bytes are times 27, to cut core
/// attention into 27 equal parts of cost 1.
inline constexpr int64_t rotorUnit = 27;
inline RotorChain gpt3Chain(bool canDropAttention) {
  constexpr int64_t layers = 12, parts = 27;
  RotorStage layer{.body = 32 * rotorUnit,
                   .part = 80 * rotorUnit / parts,
                   .parts = parts,
                   .bodyCost = 1000 - parts,
                   .partCost = 1,
                   .backwardCost = 2000};
  if (!canDropAttention)
    layer = {.body = 112 * rotorUnit, .bodyCost = 1000, .backwardCost = 2000};
  return {std::vector<int64_t>(layers + 1, 2 * rotorUnit), std::vector<RotorStage>(layers, layer)};
}

/// Boundary 0 is resident: the recurrence leaves it out of the capacity as well.
inline Problem makeRotorProblem(const RotorChain &chain) {
  ProblemBuilder build;
  size_t count = chain.stages.size();
  std::vector<ValueIndex> boundary{build.value(chain.boundary[0], true)}, body(count);
  std::vector<std::vector<ValueIndex>> parts(count);
  for (size_t i = 0; i < count; ++i) {
    const RotorStage &stage = chain.stages[i];
    body[i] = build.value(stage.body);
    ValueIndex sum = build.value(chain.boundary[i + 1]);
    build.op({boundary[i]}, {body[i], sum}, stage.bodyCost);
    for (int64_t k = 0; k < stage.parts; ++k) {
      parts[i].push_back(build.value(stage.part));
      build.op({body[i]}, {parts[i].back()}, stage.partCost);
      ValueIndex next = build.value(chain.boundary[i + 1]);
      build.op({sum, parts[i].back()}, {next}, 0); // the output waits for every part
      build.problem.ops.back().inPlace.push_back({next, sum});
      sum = next;
    }
    boundary.push_back(sum);
  }
  ValueIndex gradient = build.value(chain.boundary[count]);
  build.op({boundary[count]}, {gradient}, 0);
  build.problem.ops.back().inPlace.push_back({gradient, boundary[count]});
  for (size_t i = count; i-- > 0;) {
    for (ValueIndex part : parts[i]) {
      ValueIndex next = build.value(chain.boundary[i + 1]);
      build.op({gradient, part}, {next}, 0);
      build.problem.ops.back().inPlace.push_back({next, gradient});
      gradient = next;
    }
    ValueIndex next = build.value(chain.boundary[i]);
    build.op({gradient, body[i], boundary[i]}, {next}, chain.stages[i].backwardCost);
    gradient = next;
  }
  build.problem.keep.push_back(gradient);
  return build.problem;
}

/// The least forward and backward cost by the recurrence, nothing where it fits nothing. opt(m, a,
/// b): the input of a and the gradient of b's output are there, the input is not part of m.
class RotorRecurrence {
public:
  explicit RotorRecurrence(const RotorChain &chain) : chain(chain) {}
  std::optional<int64_t> cost(int64_t capacity) {
    int64_t best = least(capacity, 0, int64_t(chain.stages.size()) - 1);
    return best >= none ? std::nullopt : std::optional(best);
  }

private:
  static constexpr int64_t none = INT64_MAX / 4;
  int64_t least(int64_t m, int64_t a, int64_t b);

  const RotorChain &chain;
  std::map<std::tuple<int64_t, int64_t, int64_t>, int64_t> known;
};

inline int64_t RotorRecurrence::least(int64_t m, int64_t a, int64_t b) {
  if (m < 0)
    return none;
  auto [it, isNew] = known.try_emplace({m, a, b}, none);
  if (!isNew)
    return it->second;
  const RotorStage &stage = chain.stages[a];
  const std::vector<int64_t> &size = chain.boundary;
  int64_t best = none;
  for (bool keepsParts : {true, false}) {
    if (!keepsParts && stage.parts == 0)
      continue;
    int64_t saved = size[a + 1] + stage.body + (keepsParts ? stage.parts * stage.part : 0);
    // What a part needs as it passes is a part of every plan for this problem.
    int64_t passing = keepsParts ? 0 : stage.part;
    if (m < size[b + 1] + saved + passing || m < size[a] + saved + passing)
      continue;
    int64_t cost =
        stage.forwardCost() + stage.backwardCost + (keepsParts ? 0 : stage.parts * stage.partCost);
    best = std::min(best, cost + (a == b ? 0 : least(m - saved, a + 1, b)));
  }
  int64_t forward = 0;
  for (int64_t j = a + 1; j <= b; ++j) {
    // Forward without saving passes through stage j - 1: its input, unless that is a's, its output,
    // what it makes on the way, and the gradient that waits.
    const RotorStage &passed = chain.stages[j - 1];
    int64_t needs =
        size[b + 1] + (j - 1 > a ? size[j - 1] : 0) + size[j] + passed.body + passed.part;
    if (m < needs)
      break;
    forward += passed.forwardCost();
    int64_t tail = least(m - size[j], j, b);
    if (tail < none)
      best = std::min(best, forward + tail + least(m, a, j - 1));
  }
  return known[{m, a, b}] = std::min(best, none);
}

inline std::optional<int64_t> rotorCost(const RotorChain &chain, int64_t capacity) {
  return RotorRecurrence(chain).cost(capacity);
}

/// 6 to 24 stages of unequal sizes and costs, every other one with parts that can be dropped.
inline RotorChain randomChain(uint32_t seed) {
  std::mt19937 random(seed);
  auto draw = [&](int64_t low, int64_t high) { // equal on every standard library
    return low + int64_t(random() % uint32_t(high - low + 1));
  };
  RotorChain chain{{draw(1, 12)}, {}};
  for (int64_t left = draw(6, 24); left > 0; --left) {
    chain.boundary.push_back(draw(1, 12));
    RotorStage stage{.body = draw(2, 40), .bodyCost = draw(10, 60)};
    if (seed % 2) {
      stage.parts = draw(2, 4);
      stage.part = draw(1, 12);
      stage.partCost = draw(1, 6);
    }
    stage.backwardCost = 2 * stage.forwardCost();
    chain.stages.push_back(stage);
  }
  return chain;
}

/// `count` capacities between the least at which the recurrence finds anything and where everything
/// is kept, the former included.
inline std::vector<int64_t> rotorCapacities(const RotorChain &chain, int64_t count) {
  int64_t most = 0, least = 0;
  for (size_t i = 0; i < chain.stages.size(); ++i)
    most +=
        chain.boundary[i + 1] + chain.stages[i].body + chain.stages[i].parts * chain.stages[i].part;
  RotorRecurrence recurrence(chain);
  while (least < most && !recurrence.cost(least))
    ++least;
  std::vector<int64_t> result;
  for (int64_t index = 0; index < count; ++index)
    result.push_back(least + (most - least) * index / count);
  return result;
}

} // namespace llmmem::planning::test

#endif // LLMMEM_UNITTESTS_PLANNING_ROTORCHAIN_H
