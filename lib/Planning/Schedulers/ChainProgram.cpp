//===- ChainProgram.cpp - The best option for every part ----------------------===//

#include "ChainProgram.h"
#include <algorithm>

using namespace llmmem::planning;

/// Keeps the states that no other beats in both; beyond `limit`, the cheapest of each of `limit`
/// equal slices.
void ChainProgram::keepBest(std::vector<State> &states, size_t limit) {
  llvm::sort(states, [](const State &a, const State &b) {
    return std::tie(a.room, a.cost, a.choice, a.next) < std::tie(b.room, b.cost, b.choice, b.next);
  });
  std::vector<State> best;
  for (const State &state : states)
    if (best.empty() || state.cost < best.back().cost)
      best.push_back(state);
  if (best.size() > limit) {
    std::vector<State> sliced{best.front()}; // the leanest, so that what fits is found
    int64_t low = best.front().room;
    int64_t width =
        std::max<int64_t>(1, (best.back().room - low) / static_cast<int64_t>(limit) + 1);
    // Cost falls as room grows: the last state of a slice is its cheapest.
    for (size_t index = 1; index < best.size(); ++index)
      if (index + 1 == best.size() ||
          (best[index].room - low) / width != (best[index + 1].room - low) / width)
        sliced.push_back(best[index]);
    best = std::move(sliced);
  }
  states = std::move(best);
}

ChainProgram::ChainProgram(const ChainOptions &options, int64_t most) {
  size_t numParts = options.options[0].size();
  // All layers are kept to read the choices back.
  constexpr size_t statesInAll = 4000000;
  size_t mostStates = std::clamp<size_t>(statesInAll / std::max<size_t>(numParts, 1), 1000, 3000);
  layers.resize(numParts + 1);
  layers[numParts] = {{0, 0, -1, -1}};
  for (size_t part = numParts; part-- > 0;) {
    std::vector<State> states;
    const std::vector<State> &after = layers[part + 1];
    for (int32_t choice : options.useful[part]) {
      const PartOption &option = options.options[choice][part];
      int64_t peak = std::max({option.forwardPeak, option.backwardPeak, option.held});
      if (peak > most)
        continue;
      for (size_t index = 0; index < after.size(); ++index) {
        // Of the later states that want no more than the peak leaves, the cheapest is enough.
        if (index + 1 < after.size() && option.held + after[index + 1].room <= peak)
          continue;
        int64_t room = std::max(peak, option.held + after[index].room);
        if (room > most)
          break; // states are sorted by the room they want
        states.push_back(
            {room, option.cost + after[index].cost, static_cast<int32_t>(index), choice});
      }
    }
    keepBest(states, mostStates);
    layers[part] = std::move(states);
  }
}

std::optional<std::vector<int32_t>> ChainProgram::choose(int64_t capacity) const {
  auto it =
      llvm::partition_point(layers[0], [&](const State &state) { return state.room <= capacity; });
  if (it == layers[0].begin())
    return std::nullopt;
  const State *state = &*std::prev(it);
  std::vector<int32_t> chosen;
  for (size_t part = 0; part + 1 < layers.size(); ++part) {
    chosen.push_back(state->choice);
    state = &layers[part + 1][state->next];
  }
  return chosen;
}
