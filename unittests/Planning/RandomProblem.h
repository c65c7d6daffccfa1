//===- RandomProblem.h - Small problems with every feature of the format ------===//

#ifndef LLMMEM_UNITTESTS_PLANNING_RANDOMPROBLEM_H
#define LLMMEM_UNITTESTS_PLANNING_RANDOMPROBLEM_H

#include "llmmem/Planning/Model/Problem.h"
#include <algorithm>
#include <random>

namespace llmmem::planning {

/// In-place pairs, workspaces, several results, kept values, resident inputs, ops that run once,
/// values of 0 bytes.
inline Problem randomProblem(uint64_t seed, int ops) {
  std::mt19937_64 engine(seed);
  auto below = [&](uint64_t bound) { return static_cast<int64_t>(engine() % bound); };
  Problem problem;
  problem.alignment = below(3) == 0 ? 4 : 1;
  const int64_t inputs = 1 + below(3);
  for (int64_t i = 0; i < inputs; ++i)
    problem.values.push_back({i, 1 + below(9), below(4) == 0, ""});
  for (int op = 0; op < ops; ++op) {
    Op it;
    it.id = op;
    it.cost = below(10);
    it.workspace = below(4) == 0 ? below(8) : 0;
    it.recompute = below(6) != 0;
    const auto known = static_cast<int64_t>(problem.values.size());
    for (int64_t k = below(4); k > 0; --k) {
      // Mostly recent values, as in real programs.
      const auto value = static_cast<ValueIndex>(
          below(2) ? below(known) : known - 1 - below(std::min<int64_t>(known, 4)));
      if (std::find(it.reads.begin(), it.reads.end(), value) == it.reads.end())
        it.reads.push_back(value);
    }
    for (int64_t k = below(6) == 0 ? 0 : 1 + below(2); k > 0; --k) {
      const auto value = static_cast<ValueIndex>(problem.values.size());
      problem.values.push_back({value, below(10), false, ""});
      it.writes.push_back(value);
      for (ValueIndex read : it.reads)
        if (below(3) == 0)
          it.inPlace.push_back({value, read});
    }
    problem.ops.push_back(std::move(it));
  }
  for (size_t value = 0; value < problem.values.size(); ++value)
    if (below(6) == 0)
      problem.keep.push_back(static_cast<ValueIndex>(value));
  return problem;
}

/// A valid schedule: program order, with earlier ops run again here and there.
inline std::vector<OpIndex> randomSteps(const Problem &problem, uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<OpIndex> steps;
  for (OpIndex op = 0; op < static_cast<OpIndex>(problem.ops.size()); ++op) {
    steps.push_back(op);
    const auto again = static_cast<OpIndex>(engine() % (op + 1));
    if (engine() % 3 == 0 && problem.ops[again].recompute)
      steps.push_back(again);
  }
  return steps;
}

} // namespace llmmem::planning

#endif // LLMMEM_UNITTESTS_PLANNING_RANDOMPROBLEM_H
