//===- ReversalTest.cpp - Chains against independent recurrences ---------------------===//

#include "ChainProblem.h"
#include "FromEnvironment.h"
#include "ReversalChainProblem.h"
#include "RotorChain.h"
#include "Schedulers/ReversalProgram.h"
#include "ShuffledProblem.h"
#include "Structure/ReversalChain.h"
#include "gtest/gtest.h"

using namespace llmmem::planning;

namespace {

/// The program of a problem that is a chain.
struct Reversal {
  const Graph graph;
  const ReversalStages stages;
  const ReversalProgram program;

  explicit Reversal(const Problem &problem)
      : graph(problem), stages(graph, *findReversalChain(graph), none),
        program(stages, profile(graph, givenOrder(graph)).peak, int64_t(1) << 40) {}

  /// The least cost of what runs again in `bytes`, nothing where nothing fits. It expects that the
  /// schedule holds and costs what the program says.
  std::optional<int64_t> cost(int64_t bytes) const {
    const CostStep *found = nullptr;
    for (const CostStep &step : program.steps())
      if (step.bytes <= bytes)
        found = &step;
    if (!found)
      return std::nullopt;
    const Profile made = profile(graph, program.realize(*found));
    EXPECT_LE(made.peak, graph.residentBytes() + found->bytes);
    EXPECT_EQ(made.cost, graph.baseCost() + found->cost);
    return found->cost;
  }

  static llvm::ArrayRef<std::vector<bool>> none() { return {}; }
};

/// Griewank and Walther 2000.
TEST(ReversalTest, equalsRevolve) {
  for (int64_t steps = 3; steps <= 60; ++steps) {
    const Problem problem = test::makeUnitChain(steps);
    const Reversal reversal(problem);
    EXPECT_TRUE(reversal.stages.isExact());
    EXPECT_TRUE(reversal.program.isComplete());
    for (int64_t snapshots = 2; snapshots <= std::min<int64_t>(8, steps - 1); ++snapshots)
      EXPECT_EQ(reversal.cost(snapshots + 1),
                test::revolveSteps(steps, snapshots) - reversal.graph.baseCost())
          << steps << " steps, " << snapshots << " snapshots";
  }
}

TEST(ReversalTest, equalsRevolveOnLongChains) {
  for (auto [steps, snapshots, cost] : {std::tuple(200, 12, 495), std::tuple(1000, 10, 3636)}) {
    const Problem problem = test::makeUnitChain(steps);
    const Graph graph(problem);
    const ReversalStages stages(graph, *findReversalChain(graph), Reversal::none);
    const ReversalProgram program(stages, snapshots + 1, int64_t(1) << 40);
    EXPECT_EQ(graph.baseCost() + program.steps().back().cost, cost);
  }
}

/// LLMMEM_REVERSAL_SEEDS in the environment asks for more chains.
TEST(ReversalTest, equalsTheRecurrence) {
  const int32_t seeds = test::fromEnvironment("LLMMEM_REVERSAL_SEEDS", 500);
  for (int32_t seed = 0; seed < seeds; ++seed) {
    const test::ReversalChain chain = test::randomReversalChain(seed);
    const Problem problem = test::makeReversalProblem(chain);
    const Reversal reversal(problem);
    EXPECT_TRUE(reversal.stages.isExact()) << "seed " << seed;
    test::ReversalRecurrence recurrence(chain);
    const int64_t most = profile(reversal.graph, givenOrder(reversal.graph)).peak;
    for (int64_t bytes = 1; bytes <= most; ++bytes)
      EXPECT_EQ(reversal.cost(bytes), recurrence.cost(bytes))
          << "seed " << seed << ", " << bytes << " bytes";
  }
}

/// Pieces that are recomputed from a body are options of their stage. Rotor holds what a stage
/// saves with the stage's input alone; here it may be held without, so some of these cost less.
TEST(ReversalTest, costsNoMoreThanRotor) {
  for (uint32_t seed = 0; seed < 8; ++seed) {
    const test::RotorChain chain = test::randomChain(seed);
    const Problem problem = test::makeRotorProblem(chain);
    const Reversal reversal(problem);
    EXPECT_TRUE(reversal.stages.isExact()) << "seed " << seed;
    for (int64_t capacity : test::rotorCapacities(chain, 4))
      if (std::optional<int64_t> theirs = test::rotorCost(chain, capacity)) {
        const std::optional<int64_t> ours = reversal.cost(capacity);
        ASSERT_TRUE(ours) << "seed " << seed << ", capacity " << capacity;
        EXPECT_LE(reversal.graph.baseCost() + *ours, *theirs) << "seed " << seed;
      }
  }
}

TEST(ReversalTest, findsChainsInAnyOrderAndNumbering) {
  for (uint32_t seed = 0; seed < 30; ++seed) {
    const Problem problem = seed % 2 ? test::makeRotorProblem(test::randomChain(seed / 2 * 2))
                                     : test::makeReversalProblem(test::randomReversalChain(seed));
    const Problem shuffled = test::shuffle(problem, test::GivenOrder::Random, seed);
    const Reversal one(problem), other(shuffled);
    ASSERT_EQ(one.program.steps().size(), other.program.steps().size()) << "seed " << seed;
    for (auto [mine, theirs] : llvm::zip_equal(one.program.steps(), other.program.steps())) {
      EXPECT_EQ(mine.bytes, theirs.bytes) << "seed " << seed;
      EXPECT_EQ(mine.cost, theirs.cost) << "seed " << seed;
    }
  }
}

} // namespace
