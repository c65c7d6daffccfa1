//===- RoundProgram.cpp - The least that runs again in rounds --------------------===//

#include "RoundProgram.h"
#include <algorithm>

namespace llmmem::planning::proofs {

RoundProgram::RoundProgram(const std::vector<int64_t> &costs, const std::vector<Round> &rounds)
    : rounds(rounds), numSteps(static_cast<int32_t>(costs.size())), costBefore(costs.size() + 1, 0),
      firstRound(costs.size() + 1, 0) {
  for (int32_t step = 0; step < numSteps; ++step)
    costBefore[step + 1] = costBefore[step] + costs[step];
  for (int32_t step = 0; step <= numSteps; ++step)
    firstRound[step] = std::find_if(rounds.begin(), rounds.end(),
                                    [&](const Round &it) { return it.target <= step; }) -
                       rounds.begin();
  int64_t most = 0;
  for (const Round &round : rounds)
    if (round.fitsAlone < Round::unlimited)
      most = std::max(most, round.fitsAlone);
  // More units than steps and one target change nothing.
  int64_t useful = numSteps;
  for (const Round &round : rounds)
    useful = std::max(useful, numSteps + round.weight);
  numUnits = std::min(most, useful) + 2;
}

double RoundProgram::work() const {
  double sums = 0;
  for (const Round &round : rounds) // from each step below the target
    sums += double(round.target) * (round.target + 1) / 2;
  return 2 * double(numUnits) * sums;
}

/// Returns what a round costs in addition to its target where `units` are held when it begins, the
/// highest of them step `from`.
int64_t RoundProgram::penalty(size_t round, int64_t units, int32_t from) const {
  const Round &it = rounds[round];
  if (units <= it.fits)
    return 0;
  if (units < it.fitsAlone)
    return costOf(numSteps - 1, numSteps);
  if (units == it.fitsAlone)
    return costOf(std::max({from, it.target, it.given}), numSteps);
  return impossible;
}

/// Returns the least with a target as the lowest that is held.
int64_t RoundProgram::leastByTarget(int32_t from, bool isStep, int64_t units, size_t round,
                                    size_t later) {
  const int32_t target = rounds[later].target;
  auto costWith = [&](int64_t held) {
    held = std::min(held, numUnits - 1);
    return best(false, held, round, target) + penalty(later, held, target);
  };
  int64_t least = costWith(units + rounds[later].weight) + rest[target - 1];
  if (isStep && target == from + 1) // the step that it was made from is needed no more
    least = std::min(least, costWith(units - 1 + rounds[later].weight));
  return least;
}

/// Returns the least cost of the rounds from `round` on whose targets are above `from`, which is
/// the highest of what is held, `units` in all. Steps above it may be held at no cost.
int64_t RoundProgram::leastAt(int32_t from, bool isStep, int64_t units, size_t round) {
  const int32_t target = rounds[round].target;
  const int64_t next = round + 1 < firstRound[from] ? best(isStep, units, round + 1, from) : 0;
  const int64_t nothing =
      std::min(impossible, costOf(from, target) + penalty(round, units, from) + next);
  // What lower levels hold is rest[j] for what begins where step j has served.
  const int32_t above = round > 0 ? rounds[round - 1].target : numSteps + 1;
  int64_t least = nothing;
  const int64_t *with = &best(true, std::min(units + 1, numUnits - 1), round, 0);
  for (int32_t step = from + 1; step < target; ++step)
    least = std::min(least, with[step] + rest[step]);
  for (size_t later = round; later < firstRound[from]; ++later)
    least = std::min(least, leastByTarget(from, isStep, units, round, later));
  for (int32_t step = target; step < above && step <= numSteps; ++step)
    rest[step] = nothing;
  return least;
}

void RoundProgram::fillFrom(int32_t from, bool isStep, int64_t units) {
  std::fill(rest.begin(), rest.end(), 0);
  for (size_t round = firstRound[from]; round-- > 0;)
    best(isStep, units, round, from) = leastAt(from, isStep, units, round);
}

int64_t RoundProgram::leastCost() {
  if (rounds.empty())
    return 0;
  table.assign(2 * numUnits * rounds.size() * (numSteps + 1), 0);
  rest.assign(numSteps + 1, 0);
  for (int32_t from = numSteps; from > 0; --from)
    for (bool isStep : {false, true})
      for (int64_t units = numUnits; units-- > 0;)
        fillFrom(from, isStep, units);
  fillFrom(0, false, 0);
  return best(false, 0, 0, 0);
}

} // namespace llmmem::planning::proofs
