//===- RuinAndRecreateTest.cpp - Cheaper schedules by ruin and recreate ----------===//

#include "Schedulers/RuinAndRecreate.h"
#include "ProblemBuilder.h"
#include "Schedulers/Eviction.h"
#include "Schedulers/LaterRuns.h"
#include "TransformerProblem.h"
#include "llmmem/Planning/Planner.h"
#include "gtest/gtest.h"

using namespace llmmem::planning;

namespace {

constexpr int deepest = 2000;

struct Evicted {
  std::vector<OpIndex> steps;
  Profile usage;
};

/// The given order, evicted once to `percent` of a hundred parts of what it holds in addition to
/// resident values.
Evicted evictedTo(const Graph &graph, int64_t percent) {
  Evicted evicted{givenOrder(graph), {}};
  const int64_t held = profile(graph, evicted.steps).peak - graph.residentBytes();
  int64_t work = 100000000;
  EXPECT_TRUE(evictUntilFits(graph, evicted.steps, graph.residentBytes() + held / 100 * percent,
                             deepest, work));
  evicted.usage = profile(graph, evicted.steps);
  return evicted;
}

/// A value of 8 bytes is written, five ops of 10 bytes follow, and one reads it and their last.
Problem heldOverOthers(bool recompute, int64_t operand) {
  test::ProblemBuilder builder;
  const ValueIndex from = builder.value(operand), held = builder.value(8);
  builder.op({}, {from}, 1);
  builder.op({from}, {held}, 1);
  builder.problem.ops.back().recompute = recompute;
  ValueIndex last = held;
  for (int k = 0; k < 5; ++k) {
    const ValueIndex next = builder.value(10);
    builder.op(k == 0 ? std::vector<ValueIndex>{} : std::vector<ValueIndex>{last}, {next}, 1);
    last = next;
  }
  builder.op({held, last}, {builder.value(1)}, 1);
  return builder.problem;
}

TEST(LaterRuns, MovesBehindWhatItIsHeldOver) {
  const Problem problem = heldOverOthers(/*recompute=*/false, /*operand=*/2);
  const Graph graph(problem);
  const std::vector<OpIndex> later = runLater(graph, givenOrder(graph));
  EXPECT_EQ(later, (std::vector<OpIndex>{0, 2, 3, 4, 5, 6, 1, 7}));
  EXPECT_LT(profile(graph, later).peak, profile(graph, givenOrder(graph)).peak);
}

TEST(LaterRuns, LeavesWhatEvictionRunsAgain) {
  const Problem problem = heldOverOthers(/*recompute=*/true, /*operand=*/2);
  const Graph graph(problem);
  EXPECT_EQ(runLater(graph, givenOrder(graph)), givenOrder(graph));
}

/// Its operand would be held in its place, and is larger.
TEST(LaterRuns, LeavesWhatFreesMore) {
  const Problem problem = heldOverOthers(/*recompute=*/false, /*operand=*/9);
  const Graph graph(problem);
  EXPECT_EQ(runLater(graph, givenOrder(graph)), givenOrder(graph));
}

/// What a path remembers of other capacities changes neither a schedule nor the work.
TEST(Eviction, IsTheSameAlongAPath) {
  const Problem problem = test::makeTransformer({.blocks = 4, .tokens = 512, .hidden = 512});
  const Graph graph(problem);
  const int64_t held = profile(graph, givenOrder(graph)).peak - graph.residentBytes();
  EvictionPath path(givenOrder(graph));
  int fitting = 0, failing = 0;
  for (int64_t percent : {60, 30, 45, 31, 20, 12, 8, 12, 5, 4, 6, 2, 30}) {
    const int64_t capacity = graph.residentBytes() + held / 100 * percent;
    for (int64_t most : {100000000, 20000}) {
      int64_t work = most, workAlong = most;
      std::vector<OpIndex> steps = givenOrder(graph), along;
      const bool fits = evictUntilFits(graph, steps, capacity, deepest, work);
      EXPECT_EQ(evictUntilFits(graph, path, capacity, deepest, workAlong, along), fits);
      EXPECT_EQ(along, steps) << percent;
      EXPECT_EQ(workAlong, work) << percent;
      (fits ? fitting : failing) += 1;
    }
  }
  EXPECT_GT(fitting, 5);
  EXPECT_GT(failing, 5);
}

TEST(RuinAndRecreate, EachScheduleFitsAndIsCheaperThanTheOneBefore) {
  const Problem problem = test::makeTransformer({.blocks = 6, .tokens = 512, .hidden = 512});
  const Graph graph(problem);
  const Evicted start = evictedTo(graph, 20);
  int64_t work = 5000000;
  const auto found = ruinAndRecreate(graph, start.steps, start.usage.peak, deepest, work);
  ASSERT_FALSE(found.empty());
  int64_t cost = start.usage.cost;
  for (const std::vector<OpIndex> &steps : found) {
    const Profile usage = profile(graph, steps);
    EXPECT_LE(usage.peak, start.usage.peak);
    EXPECT_LT(usage.cost, cost);
    cost = usage.cost;
  }
  // A tenth of what the single descent recomputes is saved at least.
  EXPECT_LE(cost - graph.baseCost(), (start.usage.cost - graph.baseCost()) / 10 * 9);
}

TEST(RuinAndRecreate, IsTheSameEachTimeAndEndsWithTheWork) {
  const Problem problem = test::makeTransformer({.blocks = 4, .tokens = 512, .hidden = 512});
  const Graph graph(problem);
  const Evicted start = evictedTo(graph, 25);
  int64_t work = 1000000, again = work, none = 0;
  EXPECT_EQ(ruinAndRecreate(graph, start.steps, start.usage.peak, deepest, work),
            ruinAndRecreate(graph, start.steps, start.usage.peak, deepest, again));
  EXPECT_EQ(work, again);
  EXPECT_TRUE(ruinAndRecreate(graph, start.steps, start.usage.peak, deepest, none).empty());
}

TEST(RuinAndRecreate, FindsNothingCheaperThanEveryOpOnce) {
  const Problem problem = test::makeTransformer({.blocks = 2, .tokens = 128, .hidden = 128});
  const Graph graph(problem);
  const std::vector<OpIndex> order = givenOrder(graph);
  int64_t work = 1000000;
  EXPECT_TRUE(ruinAndRecreate(graph, order, profile(graph, order).peak, deepest, work).empty());
}

} // namespace
