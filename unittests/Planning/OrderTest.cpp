//===- OrderTest.cpp - Least-peak orders ------------------------------------------===//
//
// LLMMEM_ORDER_PROBLEMS in the environment asks for more random problems.
//
//===----------------------------------------------------------------------===//

#include "FromEnvironment.h"
#include "ProblemBuilder.h"
#include "RandomProblem.h"
#include "Schedulers/Annealing.h"
#include "Schedulers/ExactSearch.h"
#include "Schedulers/OrderSearch.h"
#include "Schedulers/ScheduleMove.h"
#include "Schedulers/SeriesParallel.h"
#include "gtest/gtest.h"

using namespace llmmem::planning;

namespace {

int32_t problemsAsked() { return test::fromEnvironment("LLMMEM_ORDER_PROBLEMS", 300); }

/// Makes series-parallel problems. Within a component each value has one reader, or two of which
/// one depends on the other.
class SeriesParallelMaker {
public:
  explicit SeriesParallelMaker(uint64_t seed) : engine(seed) {}

  Problem make(int ops) {
    ValueIndex input = build.value(below(8));
    std::vector<ValueIndex> results = component({input}, ops);
    build.problem.keep.push_back(results[0]);
    return std::move(build.problem);
  }

private:
  int64_t below(uint64_t bound) { return static_cast<int64_t>(engine() % bound); }

  /// One op from `reads` to a single result.
  ValueIndex op(std::vector<ValueIndex> reads) {
    ValueIndex result = build.value(below(10));
    build.op(std::move(reads), {result}, 1);
    Op &made = build.problem.ops.back();
    made.workspace = below(4) == 0 ? below(8) : 0;
    if (below(3) == 0)
      made.inPlace.push_back({result, made.reads[below(made.reads.size())]});
    return result;
  }

  /// Adds `ops` ops after `reads`, and returns what their last ones write.
  std::vector<ValueIndex> component(std::vector<ValueIndex> reads, int ops) {
    if (ops == 1)
      return {op(std::move(reads))};
    if (ops < 4 || below(2)) { // in series, over a single value, which later ops may read again
      ValueIndex middle = op(std::move(reads));
      return component({middle}, ops - 1);
    }
    // A fork that gives each branch a value of its own, and a join that may read the fork's first.
    int branches = ops > 5 && below(2) ? 3 : 2, left = ops - 2;
    std::vector<ValueIndex> heads;
    heads.reserve(branches);
    for (int branch = 0; branch < branches; ++branch)
      heads.push_back(build.value(below(10)));
    build.op(std::move(reads), heads, 1);
    std::vector<ValueIndex> results;
    for (int branch = 0; branch < branches; ++branch) {
      int branchOps = branch + 1 < branches ? 1 + int(below(left - (branches - 1 - branch))) : left;
      left -= branchOps;
      for (ValueIndex result : component({heads[branch]}, branchOps))
        results.push_back(result);
    }
    if (below(3) == 0)
      results.push_back(heads[0]);
    return {op(std::move(results))};
  }

  test::ProblemBuilder build;
  std::mt19937_64 engine;
};

TEST(OrderTest, seriesParallelOrdersAreExact) {
  int64_t better = 0;
  for (int32_t seed = 0; seed < problemsAsked(); ++seed) {
    Problem problem = SeriesParallelMaker(seed).make(4 + int(seed % 9));
    Graph graph(problem);
    std::optional<std::vector<OpIndex>> order = leastPeakSeriesParallel(graph);
    ASSERT_TRUE(order.has_value()) << "seed " << seed;
    std::vector<OpIndex> sorted = *order;
    llvm::sort(sorted);
    EXPECT_EQ(sorted, givenOrder(graph)) << "seed " << seed;
    ExactAnswer exact = leastPeakExactly(graph, {.repeats = false});
    ASSERT_EQ(exact.kind, ExactAnswer::Kind::Found);
    int64_t peak = profile(graph, *order).peak;
    EXPECT_EQ(peak, profile(graph, exact.steps).peak) << "seed " << seed;
    better += peak < profile(graph, givenOrder(graph)).peak;
  }
  EXPECT_GT(better, problemsAsked() / 20) << "the given orders are too good for the test";
}

/// So few ops that no beam leaves an order out: a search that ends early ends at the least peak.
TEST(OrderTest, smallOrdersAreExact) {
  int64_t better = 0;
  for (int32_t seed = 0; seed < problemsAsked(); ++seed) {
    const Problem problem = randomProblem(seed, 7);
    const Graph graph(problem);
    const ExactAnswer exact = leastPeakExactly(graph, {.repeats = false});
    ASSERT_EQ(exact.kind, ExactAnswer::Kind::Found);
    constexpr int64_t muchWork = 1 << 20;
    const int64_t peak = profile(graph, improveOrder(graph, givenOrder(graph), muchWork)).peak;
    EXPECT_EQ(peak, profile(graph, exact.steps).peak) << "seed " << seed;
    better += peak < profile(graph, givenOrder(graph)).peak;
  }
  EXPECT_GT(better, problemsAsked() / 20) << "the given orders are too good for the test";
}

/// Two branches with hills of 10 and 9 and valleys of 1 and 5: 10 first, then 1 + 9, not 5 + 10.
TEST(OrderTest, highHillsComeFirst) {
  test::ProblemBuilder build;
  ValueIndex a = build.value(9), smallA = build.value(1), b = build.value(4),
             smallB = build.value(5);
  build.op({}, {b}, 1);
  build.op({b}, {smallB}, 1);
  build.op({}, {a}, 1);
  build.op({a}, {smallA}, 1);
  build.op({smallA, smallB}, {build.value(0)}, 1);
  Graph graph(build.problem);
  EXPECT_EQ(profile(graph, givenOrder(graph)).peak, 15);
  std::optional<std::vector<OpIndex>> order = leastPeakSeriesParallel(graph);
  ASSERT_TRUE(order.has_value());
  EXPECT_EQ(profile(graph, *order).peak, 10);
}

TEST(OrderTest, knowsWhatIsNotSeriesParallel) {
  test::ProblemBuilder n; // a -> c, a -> d, b -> d
  ValueIndex toC = n.value(1), toD = n.value(1), alsoToD = n.value(1);
  n.op({}, {toC, toD}, 1);
  n.op({}, {alsoToD}, 1);
  n.op({toC}, {n.value(1)}, 1);
  n.op({toD, alsoToD}, {n.value(1)}, 1);
  EXPECT_FALSE(leastPeakSeriesParallel(Graph(n.problem)).has_value());
  test::ProblemBuilder shared; // two readers, either of which may be the last
  ValueIndex value = shared.value(1);
  shared.op({}, {value}, 1);
  shared.op({value}, {shared.value(1)}, 1);
  shared.op({value}, {shared.value(1)}, 1);
  EXPECT_FALSE(leastPeakSeriesParallel(Graph(shared.problem)).has_value());
}

/// The evaluated effect of a move equals that of a replay of the new schedule.
TEST(OrderTest, movesAreEvaluatedAsReplayed) {
  int64_t accepted = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Problem problem = randomProblem(seed, 14);
    Graph graph(problem);
    ScheduleMove state(graph, randomSteps(problem, seed));
    std::mt19937_64 engine(seed);
    auto below = [&](int64_t bound) { return static_cast<int32_t>(engine() % uint64_t(bound)); };
    const int64_t target = profile(graph, state.steps()).peak * 3 / 4;
    state.setTarget(target);
    for (int move = 0; move < 60; ++move) {
      int32_t run = state.runAt(below(state.numSteps()));
      std::optional<ScheduleMove::Effect> effect;
      int kind = below(3);
      if (kind == 0)
        effect = state.evaluateRelocation(run, below(state.numSteps() + 1));
      else if (kind == 1 && graph.op(state.opOf(run)).recompute)
        effect = state.evaluateRepeat(state.opOf(run), below(state.numSteps() + 1));
      else if (kind == 2 && state.isRepeated(state.opOf(run)))
        effect = state.evaluateRemoval(run);
      if (!effect)
        continue;
      const int64_t cost = state.cost(), excess = state.excess();
      if (below(3) == 0) {
        state.reject();
      } else {
        state.accept();
        ++accepted;
        EXPECT_EQ(state.cost(), cost + effect->cost);
        EXPECT_EQ(state.excess(), excess + effect->excess);
      }
      Profile usage = profile(graph, state.steps());
      int64_t over = 0;
      for (int64_t bytes : usage.bytes)
        over += std::max<int64_t>(0, bytes - target);
      ASSERT_EQ(state.excess(), over) << "seed " << seed << ", move " << move;
      ASSERT_EQ(state.cost(), usage.cost) << "seed " << seed << ", move " << move;
      ASSERT_EQ(std::max(state.peak(), graph.residentBytes()), usage.peak);
    }
  }
  EXPECT_GT(accepted, 500);
}

TEST(OrderTest, annealingNeverLoses) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Problem problem = randomProblem(seed, 30);
    Graph graph(problem);
    std::vector<OpIndex> order = givenOrder(graph);
    int64_t before = profile(graph, order).peak;
    annealOrder(graph, order, 0, 5000);
    EXPECT_LE(profile(graph, order).peak, before);
    std::vector<OpIndex> steps = randomSteps(problem, seed);
    Profile usage = profile(graph, steps);
    EXPECT_TRUE(annealSchedule(graph, steps, usage.peak, graph.baseCost(), 5000));
    EXPECT_LE(profile(graph, steps).peak, usage.peak);
    EXPECT_LE(profile(graph, steps).cost, usage.cost);
  }
}

} // namespace
