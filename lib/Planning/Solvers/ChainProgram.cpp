//===- ChainProgram.cpp - The best option for every part ----------------------===//

#include "ChainProgram.h"
#include <algorithm>

using namespace llmmem::planning;

namespace {
struct State {
  int64_t held;
  int64_t cost;
  int32_t previous; // state of the part before
  int32_t choice;
};
} // namespace

/// Keeps the states that no other beats in both; beyond `limit`, the cheapest of each of `limit`
/// equal slices.
static void keepBest(std::vector<State> &states, size_t limit) {
  llvm::sort(states, [](const State &a, const State &b) {
    return std::tie(a.held, a.cost, a.choice) < std::tie(b.held, b.cost, b.choice);
  });
  std::vector<State> best;
  for (const State &state : states)
    if (best.empty() || state.cost < best.back().cost)
      best.push_back(state);
  if (best.size() > limit) {
    std::vector<State> sliced;
    int64_t low = best.front().held;
    int64_t width =
        std::max<int64_t>(1, (best.back().held - low) / static_cast<int64_t>(limit) + 1);
    // Cost falls as held grows: the last state of a slice is its cheapest.
    for (size_t index = 0; index < best.size(); ++index)
      if (index + 1 == best.size() ||
          (best[index].held - low) / width != (best[index + 1].held - low) / width)
        sliced.push_back(best[index]);
    best = std::move(sliced);
  }
  states = std::move(best);
}

std::optional<std::vector<int32_t>> llmmem::planning::chooseOptions(const ChainOptions &options,
                                                                    int64_t capacity) {
  int32_t numParts = static_cast<int32_t>(options.options[0].size());
  // All layers are kept to read the choices back.
  constexpr size_t statesInAll = 4000000;
  size_t mostStates = std::clamp<size_t>(statesInAll / std::max(numParts, 1), 1000, 3000);
  std::vector<std::vector<State>> layers{{{0, 0, -1, -1}}};
  for (int32_t part = 0; part < numParts; ++part) {
    std::vector<State> next;
    for (int32_t choice : options.useful[part]) {
      const PartOption &option = options.options[choice][part];
      int64_t peak = std::max({option.forwardPeak, option.backwardPeak, option.held});
      for (size_t index = 0; index < layers.back().size(); ++index) {
        const State &state = layers.back()[index];
        if (state.held + peak > capacity)
          break; // states are sorted by what they hold
        next.push_back({state.held + option.held, state.cost + option.cost,
                        static_cast<int32_t>(index), choice});
      }
    }
    keepBest(next, mostStates);
    if (next.empty())
      return std::nullopt;
    layers.push_back(std::move(next));
  }
  // What is held is rising and cost falling: the cheapest end is the last.
  std::vector<int32_t> chosen(numParts);
  int32_t index = static_cast<int32_t>(layers.back().size()) - 1;
  for (int32_t part = numParts - 1; part >= 0; --part) {
    const State &state = layers[part + 1][index];
    chosen[part] = state.choice;
    index = state.previous;
  }
  return chosen;
}
