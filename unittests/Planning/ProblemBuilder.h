//===- ProblemBuilder.h - Problems for tests, value by value and op by op --===//

#ifndef LLMMEM_UNITTESTS_PLANNING_PROBLEMBUILDER_H
#define LLMMEM_UNITTESTS_PLANNING_PROBLEMBUILDER_H

#include "llmmem/Planning/Model/Problem.h"

namespace llmmem::planning::test {

/// Appends to a problem; ids are positions.
struct ProblemBuilder {
  Problem problem = {};

  ValueIndex value(int64_t bytes, bool resident = false) {
    problem.values.push_back({int64_t(problem.values.size()), bytes, resident, ""});
    return ValueIndex(problem.values.size()) - 1;
  }

  void op(std::vector<ValueIndex> reads, std::vector<ValueIndex> writes, int64_t cost) {
    Op result;
    result.id = int64_t(problem.ops.size());
    result.reads = std::move(reads);
    result.writes = std::move(writes);
    result.cost = cost;
    problem.ops.push_back(std::move(result));
  }
};

} // namespace llmmem::planning::test

#endif // LLMMEM_UNITTESTS_PLANNING_PROBLEMBUILDER_H
