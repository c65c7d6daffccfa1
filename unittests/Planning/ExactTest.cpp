//===- ExactTest.cpp - Small problems against all schedules ---------------------===//
//
// LLMMEM_EXACT_PROBLEMS and LLMMEM_EXACT_OPS in the environment ask for more and larger problems.
//
//===----------------------------------------------------------------------===//

#include "FromEnvironment.h"
#include "PlacementOracle.h"
#include "ScheduleOracle.h"
#include "llmmem/Planning/Model/Verify.h"
#include "llmmem/Planning/Planner.h"
#include "gtest/gtest.h"

using namespace llmmem::planning;

namespace {

Plan planUnder(Problem &problem, std::optional<int64_t> budget,
               PolicyKind kind = PolicyKind::Budget) {
  problem.budget = budget;
  PlanOptions options;
  options.policy.kind = kind;
  return plan(problem, options);
}

/// Compares one problem at every budget at which anything changes, from too small to unconstrained.
/// Where what is planned costs more than the live bytes would ask for, every placement is tried as
/// well.
struct Comparison {
  int64_t problems = 0, budgets = 0, repeating = 0, placed = 0;

  void at(Problem &problem, int64_t budget, std::optional<int64_t> truth, int64_t &last) {
    ++budgets;
    Plan made = planUnder(problem, budget);
    std::vector<Violation> violations = verify(problem, made);
    EXPECT_TRUE(violations.empty()) << violations[0].message;
    if (truth && (made.status != Status::Feasible || made.cost != *truth)) {
      ++placed;
      truth = test::leastPlacedCost(problem, budget);
    }
    EXPECT_EQ(made.status, truth ? Status::Feasible : Status::Infeasible);
    if (!truth) {
      EXPECT_EQ(last, INT64_MAX) << "feasible with less";
      EXPECT_TRUE(made.witness && made.witness->proved && made.witness->bytes > budget);
      return;
    }
    repeating += made.cost > made.baseCost;
    EXPECT_EQ(made.cost, *truth);
    EXPECT_LE(made.costLowerBound, *truth);
    EXPECT_LE(made.cost, last) << "more budget must never cost more";
    last = made.cost;
  }

  /// No live bytes fit into less than `budget`.
  void atLeast(Problem &problem, int64_t budget) {
    Plan least = planUnder(problem, std::nullopt, PolicyKind::LeastPeak);
    EXPECT_TRUE(verify(problem, least).empty());
    EXPECT_LE(least.peakLowerBound, budget);
    int64_t needed = problem.residentBytes() + least.arena;
    EXPECT_GE(needed, budget);
    if (needed > budget) {
      ++placed;
      EXPECT_EQ(test::leastPlacedCost(problem, needed - 1), std::nullopt);
    }
  }

  void run(Problem problem) {
    if (problem.values.size() > 20)
      return;
    ++problems;
    int64_t budget = problem.residentBytes(), base = 0, refused = 0, last = INT64_MAX;
    for (const Op &op : problem.ops)
      base += op.cost;
    std::optional<int64_t> truth;
    for (bool isFirst = true;; budget = refused) {
      SCOPED_TRACE("budget " + std::to_string(budget));
      truth = test::leastCost(problem, budget, refused);
      at(problem, budget, truth, last);
      if (truth && isFirst)
        atLeast(problem, budget);
      isFirst &= !truth;
      if ((truth && *truth == base) || refused == INT64_MAX)
        return;
    }
  }

  void print() const {
    std::printf("%d problems, %d budgets, %d of them with repeats, %d where packing counts\n",
                int(problems), int(budgets), int(repeating), int(placed));
  }
};

TEST(ExactTest, equalsEveryScheduleTried) {
  Comparison comparison;
  int32_t problems = test::fromEnvironment("LLMMEM_EXACT_PROBLEMS", 250);
  int32_t mostOps = test::fromEnvironment("LLMMEM_EXACT_OPS", 7);
  for (int32_t seed = 0; seed < problems; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    comparison.run(test::makeRandom(seed, mostOps));
  }
  comparison.print();
  EXPECT_GT(comparison.repeating, comparison.budgets / 50);
}

/// Padding counts as well: the arena, and not the live bytes, decides.
TEST(ExactTest, equalsEveryPlacementTried) {
  Comparison comparison;
  int32_t problems = test::fromEnvironment("LLMMEM_EXACT_PROBLEMS", 250) / 2;
  for (int32_t seed = 0; seed < problems; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Problem problem = test::makeRandom(seed, 6);
    problem.alignment = 4;
    comparison.run(std::move(problem));
  }
  comparison.print();
  EXPECT_GT(comparison.placed, 0);
}

/// The comparison is worth what the problems hold.
TEST(ExactTest, problemsHaveEveryFeature) {
  int inPlace = 0, workspace = 0, severalResults = 0, noResult = 0, keep = 0, once = 0,
      resident = 0, empty = 0;
  constexpr int problems = 250;
  for (int32_t seed = 0; seed < problems; ++seed) {
    Problem problem = test::makeRandom(seed, 7);
    ASSERT_FALSE(bool(validateProblem(problem)));
    auto any = [&](auto has) { return llvm::any_of(problem.ops, has); };
    inPlace += any([](const Op &op) { return !op.inPlace.empty(); });
    workspace += any([](const Op &op) { return op.workspace > 0; });
    severalResults += any([](const Op &op) { return op.writes.size() > 1; });
    noResult += any([](const Op &op) { return op.writes.empty(); });
    once += any([](const Op &op) { return !op.recompute; });
    keep += !problem.keep.empty();
    resident += llvm::any_of(problem.values, [](const Value &value) { return value.resident; });
    empty += llvm::any_of(problem.values, [](const Value &value) { return value.bytes == 0; });
  }
  for (int count : {inPlace, workspace, severalResults, noResult, keep, once, resident, empty})
    EXPECT_GT(count, problems / 5);
}

} // namespace
