//===- RotorChain.h - Chains of unequal stages, and the recurrence for them ------===//
//
// Stage i takes boundary i to boundary i + 1 and saves what its backward reads: a body, and pieces
// that can be recomputed from the body alone (as core attention can from q, k, v). Backward i reads
// boundary i, the body, the pieces and the gradient of boundary i + 1. The pieces are live one at
// a time in both directions, since the recurrence charges nothing for what a backward recomputes.
//
// `rotorCost` is the recurrence of Beaumont, Herrmann et al. (arXiv 1911.13214) with options per
// stage as in Rockmate (ICML 2023), written down plainly; nothing of it is shared with the planner.
//
// Example: {.boundary = {2, 2}, .stages = {{.body = 32, .piece = 40, .pieces = 2, .bodyCost = 9,
// .pieceCost = 1, .backwardCost = 20}}}: keep 2 + 32 + 80 bytes for 31, or 2 + 32 for 33.
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
  int64_t piece = 0; // bytes of each piece
  int64_t pieces = 0;
  int64_t bodyCost = 0;
  int64_t pieceCost = 0; // of each piece
  int64_t backwardCost = 0;

  int64_t forwardCost() const { return bodyCost + pieces * pieceCost; }
};

struct RotorChain {
  std::vector<int64_t> boundary; // one more than stages; a gradient has its boundary's size
  std::vector<RotorStage> stages;
};

/// Twelve layers of GPT-3 in units of one boundary's half: 114 bytes to keep all, 34 to keep all
/// but core attention, which costs 27 of 1,000 to recompute. Bytes are times 27, to cut core
/// attention into 27 equal pieces of cost 1.
inline constexpr int64_t rotorUnit = 27;
inline RotorChain gpt3Chain(bool canDropAttention) {
  constexpr int64_t layers = 12, pieces = 27;
  RotorStage layer{.body = 32 * rotorUnit,
                   .piece = 80 * rotorUnit / pieces,
                   .pieces = pieces,
                   .bodyCost = 1000 - pieces,
                   .pieceCost = 1,
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
  std::vector<std::vector<ValueIndex>> pieces(count);
  for (size_t i = 0; i < count; ++i) {
    const RotorStage &stage = chain.stages[i];
    body[i] = build.value(stage.body);
    ValueIndex sum = build.value(chain.boundary[i + 1]);
    build.op({boundary[i]}, {body[i], sum}, stage.bodyCost);
    for (int64_t k = 0; k < stage.pieces; ++k) {
      pieces[i].push_back(build.value(stage.piece));
      build.op({body[i]}, {pieces[i].back()}, stage.pieceCost);
      ValueIndex next = build.value(chain.boundary[i + 1]);
      build.op({sum, pieces[i].back()}, {next}, 0); // the output depends on every piece
      build.problem.ops.back().inPlace.push_back({next, sum});
      sum = next;
    }
    boundary.push_back(sum);
  }
  ValueIndex gradient = build.value(chain.boundary[count]);
  build.op({boundary[count]}, {gradient}, 0);
  build.problem.ops.back().inPlace.push_back({gradient, boundary[count]});
  for (size_t i = count; i-- > 0;) {
    for (ValueIndex piece : pieces[i]) {
      ValueIndex next = build.value(chain.boundary[i + 1]);
      build.op({gradient, piece}, {next}, 0);
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
/// b): the input of a and the gradient of b's output are there, the input is not piece of m.
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
  for (bool keepsPieces : {true, false}) {
    if (!keepsPieces && stage.pieces == 0)
      continue;
    int64_t saved = size[a + 1] + stage.body + (keepsPieces ? stage.pieces * stage.piece : 0);
    // A piece is live while it is recomputed, in every plan for this problem.
    int64_t passing = keepsPieces ? 0 : stage.piece;
    if (m < size[b + 1] + saved + passing || m < size[a] + saved + passing)
      continue;
    int64_t cost = stage.forwardCost() + stage.backwardCost +
                   (keepsPieces ? 0 : stage.pieces * stage.pieceCost);
    best = std::min(best, cost + (a == b ? 0 : least(m - saved, a + 1, b)));
  }
  int64_t forward = 0;
  for (int64_t j = a + 1; j <= b; ++j) {
    // Forward without saving passes through stage j - 1: its input, unless that is a's, its output,
    // its temporaries, and the gradient that is live meanwhile.
    const RotorStage &passed = chain.stages[j - 1];
    int64_t needs =
        size[b + 1] + (j - 1 > a ? size[j - 1] : 0) + size[j] + passed.body + passed.piece;
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

/// 6 to 24 stages of unequal sizes and costs, every other one with pieces that can be dropped.
inline RotorChain randomChain(uint32_t seed) {
  std::mt19937 random(seed);
  auto uniform = [&](int64_t low, int64_t high) { // equal on every standard library
    return low + int64_t(random() % uint32_t(high - low + 1));
  };
  RotorChain chain{{uniform(1, 12)}, {}};
  for (int64_t left = uniform(6, 24); left > 0; --left) {
    chain.boundary.push_back(uniform(1, 12));
    RotorStage stage{.body = uniform(2, 40), .bodyCost = uniform(10, 60)};
    if (seed % 2) {
      stage.pieces = uniform(2, 4);
      stage.piece = uniform(1, 12);
      stage.pieceCost = uniform(1, 6);
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
    most += chain.boundary[i + 1] + chain.stages[i].body +
            chain.stages[i].pieces * chain.stages[i].piece;
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
