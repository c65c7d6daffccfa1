//===- ReversalChainProblem.h - Chains of single ops, and the recurrence for them -----===//
//
// F(i) makes state i of state i - 1, and maybe a tape. B(i) reads the gradient and one or more of
// state i, the tape and state i - 1; a loss reads the last state. States may take each other's
// place.
//
// `ReversalRecurrence` is the recurrence of lib/Planning/Schedulers/ReversalProgram.h, written down
// plainly for one number of bytes at a time; nothing of it is shared with the planner.
//
// Example: {.state = {1, 1}, .steps = {{.cost = 5, .readsState = true}}}: F1, loss, B1 of state 1.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_UNITTESTS_PLANNING_REVERSALCHAINPROBLEM_H
#define LLMMEM_UNITTESTS_PLANNING_REVERSALCHAINPROBLEM_H

#include "ProblemBuilder.h"
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>

namespace llmmem::planning::test {

struct ChainStep {
  int64_t cost = 0, backwardCost = 0;
  int64_t tape = 0; // bytes; 0: it makes none
  int64_t gradient = 0;
  int64_t workspace = 0;
  bool inPlace = false;
  bool readsState = false, readsTape = false, readsInput = false;
};

struct ReversalChain {
  std::vector<int64_t> state; // one more than steps
  std::vector<ChainStep> steps;
  bool endReadsInput = false; // a last op reads state 0
};

inline Problem makeReversalProblem(const ReversalChain &chain) {
  ProblemBuilder build;
  std::vector<ValueIndex> state{build.value(chain.state[0])}, tape{-1};
  const size_t count = chain.steps.size();
  for (size_t i = 1; i <= count; ++i) {
    const ChainStep &step = chain.steps[i - 1];
    state.push_back(build.value(chain.state[i]));
    tape.push_back(step.tape ? build.value(step.tape) : -1);
    std::vector<ValueIndex> writes{state[i]};
    if (step.tape)
      writes.push_back(tape[i]);
    build.op({state[i - 1]}, writes, step.cost);
    build.problem.ops.back().workspace = step.workspace;
    if (step.inPlace)
      build.problem.ops.back().inPlace.push_back({state[i], state[i - 1]});
  }
  ValueIndex gradient = build.value(chain.steps.back().gradient);
  build.op({state[count]}, {gradient}, 1);
  for (size_t i = count; i >= 1; --i) {
    const ChainStep &step = chain.steps[i - 1];
    std::vector<ValueIndex> reads{gradient};
    if (step.readsState)
      reads.push_back(state[i]);
    if (step.readsTape)
      reads.push_back(tape[i]);
    if (step.readsInput)
      reads.push_back(state[i - 1]);
    gradient = build.value(i > 1 ? chain.steps[i - 2].gradient : 1);
    build.op(reads, {gradient}, step.backwardCost);
  }
  if (chain.endReadsInput) {
    const ValueIndex last = build.value(1);
    build.op({gradient, state[0]}, {last}, 1);
    gradient = last;
  }
  build.problem.keep.push_back(gradient);
  return build.problem;
}

/// 3 to 7 steps of unequal sizes and costs.
inline ReversalChain randomReversalChain(uint32_t seed) {
  std::mt19937 random(seed);
  auto uniform = [&](int64_t low, int64_t high) { // equal on every standard library
    return low + int64_t(random() % uint32_t(high - low + 1));
  };
  ReversalChain chain{{uniform(1, 6)}, {}, uniform(0, 1) == 1};
  const bool hasTapes = uniform(0, 1), hasInputs = uniform(0, 1);
  for (int64_t left = uniform(3, 7); left > 0; --left) {
    chain.state.push_back(uniform(1, 6));
    ChainStep step{.cost = uniform(1, 9), .backwardCost = uniform(1, 9)};
    step.gradient = uniform(0, 4);
    step.workspace = uniform(0, 2) ? 0 : uniform(1, 4);
    step.inPlace = uniform(0, 1) && chain.state.back() <= chain.state[chain.state.size() - 2];
    step.tape = hasTapes && uniform(0, 1) ? uniform(1, 6) : 0;
    step.readsTape = step.tape > 0;
    step.readsState = !step.readsTape || uniform(0, 1);
    step.readsInput = hasInputs && uniform(0, 1);
    chain.steps.push_back(step);
  }
  return chain;
}

/// The least cost of what runs again, nothing where nothing of the family fits.
class ReversalRecurrence {
public:
  explicit ReversalRecurrence(const ReversalChain &chain)
      : chain(chain), count(int(chain.steps.size())) {}

  std::optional<int64_t> cost(int64_t bytes) {
    const Choice none{};
    int64_t best = least(bytes, 0, count, true, none, chain.endReadsInput);
    if (chain.endReadsInput && bytes < chain.state[0] + 1 + 1) // the gradient and the result
      best = never;
    return best >= never ? std::nullopt : std::optional(best);
  }

private:
  static constexpr int64_t never = INT64_MAX / 4;
  /// What is held of a step.
  struct Choice {
    bool state = false, tape = false;
    auto operator<=>(const Choice &) const = default;
  };

  const ChainStep &step(int i) const { return chain.steps[size_t(i - 1)]; }
  int64_t size(int i) const { return chain.state[size_t(i)]; }
  int64_t held(int i, Choice choice) const {
    return (choice.state ? size(i) : 0) + (choice.tape ? step(i).tape : 0);
  }
  int64_t gradientBefore(int i) const { return i < count ? step(i).gradient : 0; }
  /// What F(i) holds.
  int64_t forward(int i, bool keepsInput) const {
    const bool shares = step(i).inPlace && !keepsInput;
    return size(i - 1) + size(i) + step(i).tape + step(i).workspace - (shares ? size(i) : 0);
  }
  /// Runs the segment of i: whether it fits, and its cost.
  int64_t segment(int64_t bytes, int i, Choice there, bool keepsInput) const;
  bool readsInput(int i, Choice there) const {
    const bool again = (readsState(i) && !there.state) || (step(i).readsTape && !there.tape);
    return again || step(i).readsInput;
  }
  bool readsState(int i) const { return step(i).readsState || i == count; }
  std::vector<Choice> choices(int i) const {
    std::vector<Choice> all;
    for (bool state : {false, true})
      for (bool tape : {false, true})
        if ((!state || readsState(i)) && (!tape || step(i).readsTape))
          all.push_back({state, tape});
    return all;
  }
  int64_t least(int64_t m, int l, int r, bool original, Choice end, bool keeps);
  int64_t search(int64_t m, int l, int r, bool original, Choice end, bool keeps);

  const ReversalChain &chain;
  const int count;
  std::map<std::tuple<int64_t, int, int, bool, Choice, bool>, int64_t> known;
};

inline int64_t ReversalRecurrence::segment(int64_t bytes, int i, Choice there,
                                           bool keepsInput) const {
  const ChainStep &own = step(i);
  const bool again = (readsState(i) && !there.state) || (own.readsTape && !there.tape);
  const bool keepsForEnd = keepsInput || own.readsInput; // until B(i) has run
  const int64_t input = readsInput(i, there) ? size(i - 1) : 0;
  const int64_t result = i > 1 ? step(i - 1).gradient : 1;
  const int64_t state = own.readsState ? size(i) : 0, tape = own.readsTape ? own.tape : 0;
  const int64_t inputAfter = keepsForEnd ? input : 0;
  int64_t most = 0;
  if (again) // F(i) next to the gradient, if there is one
    most = std::max(most, gradientBefore(i) + forward(i, keepsForEnd));
  if (i == count) // the loss, next to what B(i) reads
    most = std::max(most, inputAfter + size(i) + tape + own.gradient);
  const int64_t inputAtEnd = own.readsInput || keepsInput ? input : 0;
  most = std::max(most, inputAtEnd + state + tape + own.gradient + result);
  return most > bytes ? never : again ? own.cost : 0;
}

inline int64_t ReversalRecurrence::least(int64_t m, int l, int r, bool original, Choice end,
                                         bool keeps) {
  if (m < 0)
    return never;
  if (l == r)
    return 0;
  auto [it, isNew] = known.try_emplace({m, l, r, original, end, keeps}, never);
  if (isNew)
    it->second = std::min(never, search(m, l, r, original, end, keeps));
  return known[{m, l, r, original, end, keeps}];
}

inline int64_t ReversalRecurrence::search(int64_t m, int l, int r, bool original, Choice end,
                                          bool keeps) {
  const Choice none{};
  const int64_t start = size(l), beside = gradientBefore(r) + held(r, end);
  int64_t best = never;
  if (l + 1 == r && !original) // alone
    best = std::min(best, segment(m - (keeps && !readsInput(r, end) ? start : 0), r, end, keeps));
  if (end != none && !readsInput(r, end)) { // consume
    const int64_t holds = l < r - 1 || keeps ? start : 0;
    best =
        std::min(best, segment(m - holds, r, end, false) + least(m, l, r - 1, false, none, keeps));
  }
  if (l + 1 < r || end == none)
    for (Choice save : choices(l + 1)) { // save
      const bool holds = keeps || readsInput(l + 1, save);
      if (forward(l + 1, holds) + beside > m)
        continue;
      const int64_t bytes = m - (keeps && !readsInput(l + 1, save) ? start : 0);
      const int64_t tape = save.tape ? step(l + 1).tape : 0;
      best = std::min(
          best, (original ? 0 : step(l + 1).cost) + segment(bytes, l + 1, save, keeps) +
                    least(m - (holds ? start : 0) - tape, l + 1, r, original, end, save.state));
    }
  int64_t cost = 0;
  for (int j = l + 1; j <= r; ++j) { // split and reach
    const int64_t needs = j == l + 1 ? forward(j, true) : start + forward(j, false);
    if (needs + beside > m)
      break;
    cost += original ? 0 : step(j).cost;
    for (Choice choice : choices(j)) {
      if (j == r && end == none && choice != none)
        best = std::min(best, cost + least(m, l, r, false, choice, keeps));
      if (j < r) {
        const int64_t tape = choice.tape ? step(j).tape : 0;
        best = std::min(best, cost + least(m - start - tape, j, r, original, end, choice.state) +
                                  least(m, l, j, false, choice, keeps));
      }
    }
  }
  return best;
}

} // namespace llmmem::planning::test

#endif // LLMMEM_UNITTESTS_PLANNING_REVERSALCHAINPROBLEM_H
