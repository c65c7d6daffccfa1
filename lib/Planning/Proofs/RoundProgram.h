//===- RoundProgram.h - The least that runs again in rounds ----------------------===//
//
// Steps 1 to n of a chain, each of which needs the one before it. In each of several *rounds* one
// step, the target, is needed; targets descend from round to round. What is held when a round
// begins, in units, is bounded:
//
//   the result of step j for step j + 1      1 unit
//   that of step j as a target               its weight, at least 1 unit; serves step j + 1 as well
//
// A step that runs in a round may be held from the next one on. The program returns the least cost
// of what runs in all rounds. docs/Design/Proofs.md, "Rounds", has the recurrence and its proof.
//
// Example: targets 3, 2, 1 at a cost of 1 each, weights of 2, one unit throughout. With step 1 held
// in the first two rounds, 2 + 1 + 1 steps run: 2 and 3, then 2, then 1.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_PROOFS_ROUNDPROGRAM_H
#define LLMMEM_LIB_PLANNING_PROOFS_ROUNDPROGRAM_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace llmmem::planning::proofs {

struct Round {
  static constexpr int64_t unlimited = INT64_MAX / 4;
  int32_t target = 0;
  int64_t weight = 1; // units that the target takes
  /// Units that fit at its beginning. Up to `fitsAlone` do where the last step runs again as well.
  /// It does so with all steps after the highest that is held, the target, or `given`, which the
  /// round has for nothing; and alone where one unit of these is held for that.
  int64_t fits = unlimited, fitsAlone = unlimited;
  int32_t given = 0;
  bool operator==(const Round &) const = default;
};

class RoundProgram {
public:
  /// `costs` has one entry for each step. `rounds` are in order, with descending targets of 1 or
  /// more.
  RoundProgram(const std::vector<int64_t> &costs, const std::vector<Round> &rounds);

  static constexpr int64_t impossible = INT64_MAX / 4;
  /// Returns how many sums `leastCost` compares. That may be more than 64 bits can count.
  double work() const;
  /// Returns how many of them it keeps.
  double numKept() const { return 2.0 * double(numUnits) * double(rounds.size()) * (numSteps + 1); }
  /// Returns the least cost, `impossible` where some round fits nothing.
  int64_t leastCost();

private:
  int64_t penalty(size_t round, int64_t units, int32_t from) const;
  int64_t costOf(int32_t from, int32_t to) const { return costBefore[to] - costBefore[from]; }
  int64_t &best(bool isStep, int64_t units, size_t round, int32_t step) {
    return table[((size_t(isStep) * numUnits + units) * rounds.size() + round) * (numSteps + 1) +
                 step];
  }
  void fillFrom(int32_t from, bool isStep, int64_t units);
  int64_t leastAt(int32_t from, bool isStep, int64_t units, size_t round);
  int64_t leastByTarget(int32_t from, bool isStep, int64_t units, size_t round, size_t later);

  const std::vector<Round> &rounds;
  const int32_t numSteps;
  std::vector<int64_t> costBefore; // of the first steps
  std::vector<size_t> firstRound;  // per step: the first round whose target is that step or lower
  int64_t numUnits = 1;            // the last number stands for all that fit in no bounded round
  std::vector<int64_t> table;
  std::vector<int64_t> rest; // per step: the rounds below it, of the one being filled
};

} // namespace llmmem::planning::proofs

#endif // LLMMEM_LIB_PLANNING_PROOFS_ROUNDPROGRAM_H
