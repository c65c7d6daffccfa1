//===- ExactTest.cpp - Small problems against all schedules ---------------------===//
//
// LLMMEM_EXACT_PROBLEMS and LLMMEM_EXACT_OPS in the environment ask for more and larger problems.
//
//===----------------------------------------------------------------------===//

#include "ScheduleOracle.h"
#include "llmmem/Planning/Planner.h"
#include "llmmem/Planning/Verify.h"
#include "gtest/gtest.h"
#include <cstdlib>

using namespace llmmem::planning;

namespace {

int32_t fromEnvironment(const char *name, int32_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atoi(text) : otherwise;
}

Plan planUnder(Problem &problem, std::optional<int64_t> budget,
               PolicyKind kind = PolicyKind::Budget) {
  problem.budget = budget;
  PlanOptions options;
  options.policy.kind = kind;
  return plan(problem, options);
}

/// Compares one problem at every budget at which anything changes, from too small to unconstrained.
struct Comparison {
  int64_t budgets = 0, unpacked = 0;

  void at(Problem &problem, uint32_t seed, int64_t budget, std::optional<int64_t> truth) {
    ++budgets;
    Plan made = planUnder(problem, budget);
    if (!truth) {
      EXPECT_EQ(made.status, Status::Infeasible) << "seed " << seed << " budget " << budget;
      return;
    }
    EXPECT_NE(made.status, Status::Infeasible) << "seed " << seed << " budget " << budget;
    EXPECT_LE(made.costLowerBound, *truth) << "seed " << seed << " budget " << budget;
    if (made.status != Status::Feasible) {
      ++unpacked; // the live bytes fit, and no packing of them was found
      return;
    }
    std::vector<Violation> violations = verify(problem, made);
    EXPECT_TRUE(violations.empty()) << "seed " << seed << ": " << violations[0].message;
    if (made.cost > *truth)
      ++unpacked;
    EXPECT_GE(made.cost, *truth) << "seed " << seed << " budget " << budget;
  }

  void run(uint32_t seed, int32_t mostOps) {
    Problem problem = test::makeRandom(seed, mostOps);
    if (problem.values.size() > 20)
      return;
    int64_t budget = problem.residentBytes(), base = 0, refused = 0;
    for (const Op &op : problem.ops)
      base += op.cost;
    std::optional<int64_t> truth;
    bool isFirst = true;
    while (true) {
      truth = test::leastCost(problem, budget, refused);
      at(problem, seed, budget, truth);
      if (truth && isFirst) {
        isFirst = false;
        Plan least = planUnder(problem, std::nullopt, PolicyKind::LeastPeak);
        EXPECT_EQ(least.peak, budget) << "seed " << seed;
        EXPECT_LE(least.peakLowerBound, budget);
      }
      if ((truth && *truth == base) || refused == INT64_MAX)
        break;
      budget = refused;
    }
  }
};

TEST(ExactTest, equalsEveryScheduleTried) {
  Comparison comparison;
  int32_t problems = fromEnvironment("LLMMEM_EXACT_PROBLEMS", 250);
  int32_t mostOps = fromEnvironment("LLMMEM_EXACT_OPS", 7);
  for (int32_t seed = 0; seed < problems; ++seed)
    comparison.run(seed, mostOps);
  RecordProperty("budgets", static_cast<int>(comparison.budgets));
  std::printf("%d problems, %d budgets, %d where no packing of the cheapest was found\n", problems,
              int(comparison.budgets), int(comparison.unpacked));
  EXPECT_LE(comparison.unpacked * 100, comparison.budgets);
}

} // namespace
