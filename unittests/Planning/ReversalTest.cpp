//===- ReversalTest.cpp - Chains against independent recurrences ---------------------===//

#include "ChainProblem.h"
#include "FromEnvironment.h"
#include "ReversalChainProblem.h"
#include "ScheduleOracle.h"
#include "Schedulers/ReversalProgram.h"
#include "ShuffledProblem.h"
#include "Structure/ReversalChain.h"
#include "llmmem/Planning/Model/Verify.h"
#include "llmmem/Planning/Planner.h"
#include "gtest/gtest.h"

using namespace llmmem::planning;

namespace {

/// The program of a problem that is a chain.
struct Reversal {
  const Graph graph;
  const ReversalStages stages;
  const ReversalProgram program;

  explicit Reversal(const Problem &problem, int64_t work = int64_t(1) << 40)
      : graph(problem), stages(graph, *findReversalChain(graph)),
        program(stages, mostBytes(), work) {}

  int64_t mostBytes() const {
    return profile(graph, givenOrder(graph)).peak - graph.residentBytes();
  }

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
};

/// Griewank and Walther 2000.
TEST(ReversalTest, equalsRevolve) {
  for (int64_t steps = 3; steps <= 60; ++steps) {
    const Problem problem = test::makeUnitChain(steps);
    const Reversal reversal(problem);
    EXPECT_TRUE(reversal.stages.isExact());
    EXPECT_TRUE(reversal.stages.isUniform());
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
    const ReversalStages stages(graph, *findReversalChain(graph));
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

/// A chain of 3 to 5 ops whose states have one size and are written in place, and whose ops hold
/// nothing else.
test::ReversalChain randomUniformChain(uint32_t seed) {
  test::ReversalChain chain = test::randomReversalChain(seed);
  chain.steps.resize(std::min<size_t>(chain.steps.size(), 5));
  chain.state.resize(chain.steps.size() + 1);
  llvm::fill(chain.state, chain.state[0]);
  for (test::ChainStep &step : chain.steps) {
    step.tape = step.workspace = 0;
    step.readsTape = false;
    step.inPlace = step.readsState = true;
  }
  return chain;
}

/// Nothing costs less than the program, whether or not states stay until their segments have run.
TEST(ReversalTest, losesNothingWithStatesOfOneSize) {
  for (uint32_t seed = 0; seed < 12; ++seed) {
    const Problem problem = test::makeReversalProblem(randomUniformChain(seed));
    const Reversal reversal(problem);
    ASSERT_TRUE(reversal.stages.isUniform()) << "seed " << seed;
    for (int64_t bytes = 1; bytes <= reversal.mostBytes(); ++bytes) {
      std::optional<int64_t> least = test::ScheduleOracle(problem, bytes).leastCost();
      if (least)
        *least -= reversal.graph.baseCost();
      EXPECT_EQ(reversal.cost(bytes), least) << "seed " << seed << ", " << bytes << " bytes";
    }
  }
}

/// With little work the bytes are fewer up to which it answers, and the answers are the same.
TEST(ReversalTest, answersFewerBytesWithLessWork) {
  const Problem problem = test::makeUnitChain(60);
  const Reversal all(problem), some(problem, /*work=*/100000), none(problem, /*work=*/10);
  EXPECT_EQ(all.program.mostExactBytes(), all.mostBytes());
  const int64_t most = some.program.mostExactBytes();
  EXPECT_GT(most, 2);
  EXPECT_LT(most, some.mostBytes());
  for (int64_t bytes = 1; bytes <= most; ++bytes)
    EXPECT_EQ(some.cost(bytes), all.cost(bytes)) << bytes << " bytes";
  EXPECT_TRUE(none.program.steps().empty());
}

TEST(ReversalTest, plansWithoutSearch) {
  Problem problem = test::makeUnitChain(100);
  int64_t last = INT64_MAX;
  for (int64_t budget = 3; budget <= 100; budget += 7) {
    problem.budget = budget;
    const Plan made = plan(problem, {});
    ASSERT_EQ(made.status, Status::Feasible);
    EXPECT_TRUE(verify(problem, made).empty());
    EXPECT_EQ(made.searcher, "reversal");
    EXPECT_LE(made.cost, last);
    last = made.cost;
  }
}

/// Where states differ in size, a search may find less than the program.
TEST(ReversalTest, costsNoMoreWithMoreBudget) {
  for (uint32_t seed = 0; seed < 4; ++seed) {
    Problem problem = test::makeReversalProblem(test::randomReversalChain(seed));
    const Reversal reversal(problem);
    int64_t last = INT64_MAX;
    for (int64_t budget = 1; budget <= reversal.mostBytes(); ++budget) {
      problem.budget = budget;
      const Plan made = plan(problem, {});
      if (made.status != Status::Feasible)
        continue;
      EXPECT_TRUE(verify(problem, made).empty());
      EXPECT_LE(made.cost, last) << "seed " << seed << ", budget " << budget;
      last = made.cost;
    }
  }
}

bool isChain(const Problem &problem) {
  const Graph graph(problem);
  const std::optional<Chain> chain = findReversalChain(graph);
  return chain && ReversalStages(graph, *chain).isExact();
}

TEST(ReversalTest, knowsWhatIsAChain) {
  EXPECT_TRUE(isChain(test::makeUnitChain(5)));
  EXPECT_TRUE(isChain(test::makeSavingChain(5, 8)));
  Problem skips = test::makeSavingChain(5, 8);
  skips.ops[3].reads.push_back(1); // a state that two ops of the forward read
  EXPECT_FALSE(isChain(skips));
  Problem keeps = test::makeSavingChain(5, 8);
  keeps.keep.push_back(2); // a state that stays to the end
  EXPECT_FALSE(isChain(keeps));
}

TEST(ReversalTest, findsChainsInAnyNumbering) {
  for (uint32_t seed = 0; seed < 30; ++seed) {
    const Problem problem = test::makeReversalProblem(test::randomReversalChain(seed));
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
