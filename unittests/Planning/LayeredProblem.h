//===- LayeredProblem.h - Random layered graphs, as problems ------------------------===//
//
// Layers of about sqrt(n) ops, 2 to 6 operands each, mostly from the layer before: a graph that is
// no chain.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_UNITTESTS_PLANNING_LAYEREDPROBLEM_H
#define LLMMEM_UNITTESTS_PLANNING_LAYEREDPROBLEM_H

#include "llmmem/Planning/Model/Problem.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <random>

namespace llmmem::planning::test {

inline Problem makeLayered(int32_t count, uint32_t seed) {
  std::mt19937 random(seed);
  auto uniform = [&](int32_t low, int32_t high) {
    return low + static_cast<int32_t>(random() % static_cast<uint32_t>(high - low + 1));
  };
  Problem problem;
  std::vector<ValueIndex> earlier, last;
  int32_t width = std::max(4, int32_t(std::sqrt(count)));
  while (int32_t(problem.ops.size()) < count) {
    std::vector<ValueIndex> layer;
    for (int32_t left = uniform(width / 2, width * 3 / 2);
         left > 0 && int32_t(problem.ops.size()) < count; --left) {
      ValueIndex result = ValueIndex(problem.values.size());
      problem.values.push_back({result, uniform(1, 100), false, ""});
      Op op;
      op.id = int64_t(problem.ops.size());
      op.cost = uniform(1, 10);
      for (int32_t reads = last.empty() ? 0 : uniform(2, 6); reads > 0; --reads) {
        const std::vector<ValueIndex> &from = earlier.empty() || uniform(0, 9) < 8 ? last : earlier;
        ValueIndex read = from[uniform(0, int32_t(from.size()) - 1)];
        if (!llvm::is_contained(op.reads, read))
          op.reads.push_back(read);
      }
      op.writes = {result};
      problem.ops.push_back(op);
      layer.push_back(result);
    }
    earlier.insert(earlier.end(), last.begin(), last.end());
    last = layer;
  }
  problem.keep = last;
  return problem;
}

} // namespace llmmem::planning::test

#endif // LLMMEM_UNITTESTS_PLANNING_LAYEREDPROBLEM_H
