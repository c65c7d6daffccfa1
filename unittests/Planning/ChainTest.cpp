//===- ChainTest.cpp - Chains against what is proved optimal for them ------------===//

#include "ChainProblem.h"
#include "FromEnvironment.h"
#include "ProblemBuilder.h"
#include "RotorChain.h"
#include "llmmem/Planning/Model/Blocks.h"
#include "llmmem/Planning/Model/Verify.h"
#include "llmmem/Planning/Planner.h"
#include "gtest/gtest.h"
#include <cstdlib>

using namespace llmmem::planning;

namespace {

/// Griewank & Walther 2000: r n - C(s + r, r - 1) forward steps, and no fewer, with equal steps.
TEST(ChainTest, equalsRevolve) {
  const bool isLong = std::getenv("LLMMEM_LONG") != nullptr;
  for (int64_t steps : {10, 20, 50, 100, 1000})
    for (int64_t snapshots = 2; snapshots <= std::min<int64_t>(10, steps - 1); ++snapshots) {
      if (steps == 1000 && snapshots != 10 && !(isLong && snapshots == 5))
        continue; // the others take as long and say the same
      Problem problem = test::makeUnitChain(steps);
      problem.budget = snapshots + 1;
      Plan made = plan(problem, {});
      ASSERT_EQ(made.status, Status::Feasible) << steps << " steps, " << snapshots << " snapshots";
      EXPECT_EQ(made.cost, test::revolveSteps(steps, snapshots))
          << steps << " steps, " << snapshots << " snapshots";
      EXPECT_TRUE(verify(problem, made).empty());
    }
}

TEST(ChainTest, knowsTheBinomials) {
  EXPECT_EQ(test::revolveSteps(10, 3), 15);
  EXPECT_EQ(test::revolveSteps(100, 10), 222);
}

TEST(ChainTest, isNoWorseThanRotorOnGpt3) {
  // The published optima at 428 units, with everything kept or nothing, and with the option.
  for (auto [canDrop, published] : {std::pair(false, 45000), std::pair(true, 36324)}) {
    test::RotorChain chain = test::gpt3Chain(canDrop);
    Problem problem = test::makeRotorProblem(chain);
    int64_t capacity = 428 * test::rotorUnit;
    EXPECT_EQ(test::rotorCost(chain, capacity), published);
    problem.budget = problem.residentBytes() + capacity;
    Plan made = plan(problem, {});
    ASSERT_EQ(made.status, Status::Feasible);
    EXPECT_TRUE(verify(problem, made).empty());
    EXPECT_LE(made.cost, published);
    EXPECT_GE(made.cost, 36000);
  }
}

/// LLMMEM_CHAIN_SEEDS in the environment asks for more chains, and so does LLMMEM_LONG.
TEST(ChainTest, isNoWorseThanTheRecurrence) {
  int32_t seeds = test::fromEnvironment("LLMMEM_CHAIN_SEEDS", std::getenv("LLMMEM_LONG") ? 12 : 5);
  for (int32_t seed = 0; seed < seeds; ++seed) {
    test::RotorChain chain = test::randomChain(seed);
    Problem problem = test::makeRotorProblem(chain);
    for (int64_t capacity : test::rotorCapacities(chain, 4)) {
      std::optional<int64_t> theirs = test::rotorCost(chain, capacity);
      if (!theirs)
        continue;
      problem.budget = problem.residentBytes() + capacity;
      Plan made = plan(problem, {});
      EXPECT_EQ(made.status, Status::Feasible) << "seed " << seed << ", capacity " << capacity;
      EXPECT_TRUE(verify(problem, made).empty());
      EXPECT_LE(made.cost, *theirs) << "seed " << seed << ", capacity " << capacity;
    }
  }
}

TEST(ChainTest, findsTandemRepeats) {
  TandemRepeat repeat = findTandemRepeat({9, 1, 2, 1, 2, 1, 2, 8});
  EXPECT_EQ(repeat.start, 1);
  EXPECT_EQ(repeat.period, 2);
  EXPECT_EQ(repeat.count, 3);
  EXPECT_EQ(findTandemRepeat({1, 2, 3, 4}).count, 0);
  EXPECT_EQ(findTandemRepeat({}).count, 0);
  // A repeat inside of the block does not hide the block.
  repeat = findTandemRepeat({5, 5, 1, 5, 5, 1, 5, 5, 1});
  EXPECT_EQ(repeat.period, 3);
  EXPECT_EQ(repeat.count, 3);
}

/// Eight ops of unequal sizes that all read a table as well, so nothing marks where stages end, and
/// their backward in the order that `order` gives.
Problem unmarkedStep(const std::vector<int> &order) {
  test::ProblemBuilder build;
  std::vector<ValueIndex> saved{build.value(64, /*resident=*/true)};
  const ValueIndex table = build.value(16);
  build.op({saved[0]}, {table}, 3);
  for (int layer = 1; layer <= 8; ++layer) {
    saved.push_back(build.value(64 + 24 * layer));
    build.op({saved[layer - 1], table}, {saved[layer]}, 5 + layer);
  }
  ValueIndex gradient = build.value(300);
  build.op({saved[8], table}, {gradient}, 4);
  for (int layer : order) {
    const ValueIndex next = build.value(64 + 24 * layer);
    build.op({gradient, saved[layer], saved[layer - 1]}, {next}, 10 + layer);
    gradient = next;
  }
  build.problem.keep.push_back(gradient);
  return build.problem;
}

TEST(ChainTest, knowsABackwardInTurn) {
  auto isInTurn = [](const std::vector<int> &order) {
    const Problem problem = unmarkedStep(order);
    const Graph graph(problem);
    const Chain chain = findChain(graph, givenOrder(graph));
    EXPECT_TRUE(chain.isGuess);
    return chain.isInTurn;
  };
  EXPECT_TRUE(isInTurn({8, 7, 6, 5, 4, 3, 2, 1}));
  EXPECT_FALSE(isInTurn({3, 8, 1, 6, 2, 7, 4, 5}));
}

} // namespace
