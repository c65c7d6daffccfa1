//===- ChainProgram.cpp - The best option for every stage --------------------===//

#include "ChainProgram.h"
#include <algorithm>

using namespace llmmem::planning;

/// Keeps the states that no other dominates in bytes and cost. If those are more than `limit`, it
/// keeps the cheapest of each of `limit` equal slices.
void ChainProgram::keepBest(std::vector<State> &states, size_t limit) {
  llvm::sort(states, [](const State &a, const State &b) {
    return std::tie(a.bytes, a.cost, a.choice, a.next) <
           std::tie(b.bytes, b.cost, b.choice, b.next);
  });
  std::vector<State> best;
  for (const State &state : states)
    if (best.empty() || state.cost < best.back().cost)
      best.push_back(state);
  if (best.size() > limit) {
    std::vector<State> sliced{best.front()}; // has the fewest bytes, so that any fit is found
    int64_t low = best.front().bytes;
    int64_t width =
        std::max<int64_t>(1, (best.back().bytes - low) / static_cast<int64_t>(limit) + 1);
    // The cost falls as the bytes grow, so the last state of a slice is its cheapest.
    for (size_t index = 1; index < best.size(); ++index)
      if (index + 1 == best.size() ||
          (best[index].bytes - low) / width != (best[index + 1].bytes - low) / width)
        sliced.push_back(best[index]);
    best = std::move(sliced);
  }
  states = std::move(best);
}

ChainProgram::ChainProgram(const ChainOptions &options, int64_t most) {
  size_t numStages = options.options[0].size();
  // All layers are kept to read the choices back.
  constexpr size_t statesInAll = 4000000;
  size_t mostStates = std::clamp<size_t>(statesInAll / std::max<size_t>(numStages, 1), 1000, 3000);
  layers.resize(numStages + 1);
  layers[numStages] = {{0, 0, -1, -1}};
  for (size_t stage = numStages; stage-- > 0;) {
    std::vector<State> states;
    const std::vector<State> &after = layers[stage + 1];
    for (int32_t choice : options.useful[stage]) {
      const StageOption &option = options.options[choice][stage];
      int64_t peak = std::max({option.forwardPeak, option.backwardPeak, option.held});
      if (peak > most)
        continue;
      for (size_t index = 0; index < after.size(); ++index) {
        // The cheapest of the later states that fit with this option's held bytes within its peak
        // dominates the others.
        if (index + 1 < after.size() && option.held + after[index + 1].bytes <= peak)
          continue;
        int64_t bytes = std::max(peak, option.held + after[index].bytes);
        if (bytes > most)
          break; // states are sorted by bytes
        states.push_back(
            {bytes, option.cost + after[index].cost, static_cast<int32_t>(index), choice});
      }
    }
    keepBest(states, mostStates);
    layers[stage] = std::move(states);
  }
}

std::optional<std::vector<int32_t>> ChainProgram::choose(int64_t capacity) const {
  auto it =
      llvm::partition_point(layers[0], [&](const State &state) { return state.bytes <= capacity; });
  if (it == layers[0].begin())
    return std::nullopt;
  const State *state = &*std::prev(it);
  std::vector<int32_t> chosen;
  for (size_t stage = 0; stage + 1 < layers.size(); ++stage) {
    chosen.push_back(state->choice);
    state = &layers[stage + 1][state->next];
  }
  return chosen;
}
