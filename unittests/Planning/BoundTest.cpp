//===- BoundTest.cpp - Bounds on the cost against all schedules -------------------===//
//
// LLMMEM_BOUND_PROBLEMS in the environment asks for more random problems.
//
//===----------------------------------------------------------------------===//

#include "Bounds/ChoiceBound.h"
#include "Bounds/JointBound.h"
#include "Bounds/OpenCut.h"
#include "FromEnvironment.h"
#include "ProblemBuilder.h"
#include "RandomProblem.h"
#include "ScheduleOracle.h"
#include "llmmem/Planning/Bounds/Bounds.h"
#include "gtest/gtest.h"
#include <numeric>

using namespace llmmem::planning;

namespace {

/// No schedule of these tests pays as much.
constexpr int64_t muchCost = 1000;
constexpr int fewSteps = 100;

int64_t together(const Graph &graph, llvm::ArrayRef<OpIndex> programPoints, int64_t budget,
                 int64_t known = muchCost) {
  llvm::SmallVector<int64_t, 4> prices(programPoints.size(), 0);
  return JointBound(graph, programPoints, budget).raise(prices, known, fewSteps);
}

/// A problem with two program points at each of which 8 saved bytes fit. At the first a and b (8
/// bytes each, recomputed at a cost of 20 and 50) are live for later readers, at the second b and c
/// (8 and 4 bytes, at 50 and 100).
struct TwoProgramPoints {
  test::ProblemBuilder builder;
  OpIndex first = 2, second = 5;
  int64_t budget = 100;

  TwoProgramPoints() {
    ValueIndex a = builder.value(8), b = builder.value(8), c = builder.value(4);
    ValueIndex fromA = token(), fromB = token(), afterFirst = token(), fromC = token(),
               middle = token(), afterSecond = token();
    builder.op({}, {a, fromA}, 20);
    builder.op({}, {b, fromB}, 50);
    builder.op({fromA, fromB}, {afterFirst}, 1);
    builder.op({afterFirst, a}, {middle}, 1);
    builder.op({middle}, {c, fromC}, 100);
    builder.op({fromC}, {afterSecond}, 1);
    builder.op({afterSecond, b, c}, {}, 1);
    for (OpIndex programPoint : {first, second})
      builder.problem.ops[programPoint].workspace = 92;
  }
  ValueIndex token() { return builder.value(0); }
};

/// Half of b is lost at the second program point, which leaves half of a to be lost at the first.
TEST(BoundTest, programPointsProveMoreTogether) {
  TwoProgramPoints example;
  Graph graph(example.builder.problem);
  EXPECT_EQ(CutRelaxation(graph, example.first).costLowerBound(example.budget), 20);
  EXPECT_EQ(CutRelaxation(graph, example.second).costLowerBound(example.budget), 25);
  EXPECT_EQ(together(graph, {example.first, example.second}, example.budget, /*known=*/50), 35);
  int64_t refused = 0;
  EXPECT_EQ(test::leastCost(graph.problem(), example.budget, refused), graph.baseCost() + 50);
}

/// From its best point's price alone, whose slopes are those of holding everything at the other.
TEST(BoundTest, endsWhereNothingMoreIsProved) {
  TwoProgramPoints example;
  Graph graph(example.builder.problem);
  JointBound bound(graph, {example.first, example.second}, example.budget);
  llvm::SmallVector<int64_t, 4> prices(2, 0);
  EXPECT_EQ(bound.raise(prices, /*known=*/50, fewSteps), 35);
  EXPECT_GE(bound.mostProved(), 35);
  EXPECT_LE(bound.mostProved(), 36);
  EXPECT_EQ(JointBound(graph, {example.first, example.second}, example.budget).at(prices), 35);
  // Nothing above 40 is to be had, which one step shows or a few.
  prices.assign(2, 0);
  JointBound other(graph, {example.first, example.second}, example.budget);
  other.raise(prices, /*known=*/50, fewSteps, /*enough=*/40);
  EXPECT_LE(other.mostProved(), 40);
}

TEST(BoundTest, oneProgramPointIsTheCutInTime) {
  TwoProgramPoints example;
  Graph graph(example.builder.problem);
  EXPECT_EQ(together(graph, {example.first}, example.budget),
            CutRelaxation(graph, example.first).costLowerBound(example.budget));
}

/// Every order of some ops' first runs that a schedule may have.
std::vector<std::vector<OpIndex>> ordersOf(const Graph &graph, std::vector<OpIndex> ops) {
  std::vector<std::vector<OpIndex>> orders;
  llvm::sort(ops);
  do {
    bool isPossible = true;
    for (OpIndex op : ops) {
      std::vector<bool> after(graph.numOps(), false);
      markDescendants(graph, op, after);
      for (OpIndex other : ops) {
        if (other == op)
          break;
        isPossible &= !after[other];
      }
    }
    if (isPossible)
      orders.push_back(ops);
  } while (std::next_permutation(ops.begin(), ops.end()));
  return orders;
}

/// One of the orders happens, so the least of what they prove is proved.
struct Comparison {
  int64_t bounds = 0, proving = 0, more = 0, open = 0;

  void at(const Graph &graph, int64_t budget, int64_t extra, std::mt19937 &random) {
    std::vector<OpIndex> ops(graph.numOps());
    std::iota(ops.begin(), ops.end(), 0);
    for (size_t index = 0; index + 1 < ops.size(); ++index)
      std::swap(ops[index], ops[index + random() % (ops.size() - index)]);
    ops.resize(std::min<size_t>(ops.size(), 1 + random() % 3));
    int64_t proved = INT64_MAX, single = 0;
    for (const std::vector<OpIndex> &order : ordersOf(graph, ops))
      proved = std::min(proved, together(graph, order, budget));
    for (OpIndex op : ops)
      single = std::max(single, together(graph, {op}, budget));
    EXPECT_LE(proved, extra);
    atOpenCut(graph, ops[0], budget, extra);
    ++bounds;
    proving += proved > 0;
    more += proved > single;
  }

  void atOpenCut(const Graph &graph, OpIndex op, int64_t budget, int64_t extra) {
    std::optional<int64_t> proved = OpenCut(graph, op).costLowerBound(budget);
    ASSERT_TRUE(proved);
    EXPECT_LE(*proved, extra);
    open += *proved > CutRelaxation(graph, op).costLowerBound(budget);
  }

  void run(const Problem &problem, std::mt19937 &random) {
    if (problem.values.size() > 20)
      return;
    Graph graph(problem);
    for (int64_t budget = problem.residentBytes(), refused = 0; budget != INT64_MAX;
         budget = refused) {
      std::optional<int64_t> least = test::leastCost(problem, budget, refused);
      if (!least)
        continue;
      if (*least == graph.baseCost())
        return;
      constexpr int samples = 10;
      for (int sample = 0; sample < samples; ++sample)
        at(graph, budget, *least - graph.baseCost(), random);
    }
  }
};

TEST(BoundTest, neverExceedsTheCheapestSchedule) {
  const int32_t problems = test::fromEnvironment("LLMMEM_BOUND_PROBLEMS", 400);
  Comparison comparison;
  std::mt19937 random(1);
  for (int32_t seed = 0; seed < problems; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    comparison.run(test::makeRandom(seed, 7), random);
  }
  std::printf("%d bounds, %d above nothing, %d above what one program point proves\n",
              int(comparison.bounds), int(comparison.proving), int(comparison.more));
  EXPECT_GT(comparison.proving, comparison.bounds / 10);
  EXPECT_GT(comparison.more, 0);
  EXPECT_GT(comparison.open, 0);
}

/// What lies between two choices bounds what any price proves, and a search for more than is known
/// ends early only where there is nothing more.
TEST(BoundTest, knowsWhatNoPriceProvesMoreThan) {
  int proved = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const Problem problem = randomProblem(seed, 12);
    const Graph graph(problem);
    for (OpIndex op = 0; op < graph.numOps(); ++op) {
      CutRelaxation cut(graph, op);
      const CutChoice fewest = cut.chooseFewestBytes();
      const int64_t budget = cut.fixedBytesAt() + fewest.bytes + static_cast<int64_t>(seed % 5);
      const int64_t best = *cut.costLowerBound(budget),
                    price = std::max<int64_t>(cut.lastPrice(), 1);
      EXPECT_LE(best, cut.mostProved());
      proved += best > 0;
      for (int64_t other : {price / 2, price, 2 * price}) {
        const CutRelaxation::Range range = cut.rangeAtPrice(budget, other, fewest.recomputeCost);
        EXPECT_EQ(range.proved, cut.boundAtPrice(budget, other)) << "seed " << seed;
        EXPECT_LE(best, range.most) << "seed " << seed << ", op " << op;
      }
      EXPECT_EQ(cut.costLowerBound(budget, nullptr, best - 1), best) << "seed " << seed;
    }
  }
  EXPECT_GT(proved, 100);
}

/// What the choices of one program point leave to prove is never less than what is proved with
/// another.
TEST(BoundTest, choicesOfOneProgramPointBoundOthers) {
  int tight = 0, together = 0;
  for (uint64_t seed = 1; seed <= 5000; ++seed) {
    const Problem problem = randomProblem(seed, 12);
    const Graph graph(problem);
    std::mt19937 random(static_cast<uint32_t>(seed));
    for (int pair = 0; pair < 12; ++pair) {
      const OpIndex programPoint = static_cast<OpIndex>(random() % graph.numOps());
      const OpIndex other = static_cast<OpIndex>(random() % graph.numOps());
      std::vector<bool> before(graph.numOps(), false), after(graph.numOps(), false);
      markAncestors(graph, programPoint, before);
      markDescendants(graph, programPoint, after);
      CutRelaxation cut(graph, programPoint);
      const int64_t budget = cut.fixedBytesAt() + cut.chooseFewestBytes().bytes + random() % 6;
      std::vector<CutChoice> choices;
      if (!cut.costLowerBound(budget, &choices) || choices.empty() || other == programPoint)
        continue;
      const ChoiceBound bound(graph, programPoint, choices, budget, muchCost);
      SCOPED_TRACE("seed " + std::to_string(seed) + ", ops " + std::to_string(programPoint) +
                   " and " + std::to_string(other));
      if (const int64_t most = bound.mostTogether(other);
          (before[other] || after[other]) && most < muchCost) {
        const int64_t proved = before[other] ? ::together(graph, {other, programPoint}, budget)
                                             : ::together(graph, {programPoint, other}, budget);
        EXPECT_LE(proved, most);
        tight += proved == most && proved > 0;
        ++together;
      }
      if (before[other])
        continue;
      const int64_t proved =
          CutRelaxation(graph, programPoint, other).costLowerBound(budget).value_or(muchCost);
      for (int64_t most : {bound.mostAt(programPoint, other), bound.mostAt(programPoint)})
        if (most < muchCost) {
          EXPECT_LE(proved, most);
        }
    }
  }
  EXPECT_GT(together, 300);
  EXPECT_GT(tight, 10);
}

/// The example of PriceProgram.h.
TEST(PriceProgramTest, findsTheHighestPoint) {
  PriceProgram program(1, 10);
  program.add(2, {4});
  program.add(6, {-2});
  const std::optional<PriceProgram::Point> point = program.highest();
  ASSERT_TRUE(point);
  EXPECT_NEAR(point->height, 14. / 3, 1e-9);
  EXPECT_NEAR(point->prices[0], 2. / 3, 1e-9);
}

/// Line by line, as the cuts of a search come: the point is on the lowest line there, and no other
/// prices reach above it.
TEST(PriceProgramTest, noPricesReachHigher) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> cost(0, 100), excess(-1e6, 1e6), price(0, 1e-3);
  for (int round = 0; round < 100; ++round) {
    const size_t numPrices = 1 + random() % 3;
    constexpr double most = 100;
    PriceProgram program(numPrices, most);
    std::vector<std::pair<double, std::vector<double>>> lines{
        {most, std::vector<double>(numPrices, 0)}};
    auto lowestAt = [&](llvm::ArrayRef<double> prices) {
      double lowest = most;
      for (const auto &[height, excesses] : lines) {
        double sum = height;
        for (size_t programPoint = 0; programPoint < numPrices; ++programPoint)
          sum += prices[programPoint] * excesses[programPoint];
        lowest = std::min(lowest, sum);
      }
      return lowest;
    };
    for (int line = 0; line < 12; ++line) {
      std::vector<double> excesses;
      for (size_t programPoint = 0; programPoint < numPrices; ++programPoint)
        excesses.push_back(excess(random));
      lines.push_back({cost(random), excesses});
      program.add(lines.back().first, excesses);
      const std::optional<PriceProgram::Point> point = program.highest();
      ASSERT_TRUE(point);
      EXPECT_NEAR(lowestAt(point->prices), point->height, 1e-6);
      for (int other = 0; other < 50; ++other) {
        std::vector<double> prices;
        for (size_t programPoint = 0; programPoint < numPrices; ++programPoint)
          prices.push_back(random() % 3 ? price(random) : 0);
        EXPECT_LE(lowestAt(prices), point->height + 1e-6);
      }
    }
  }
}

/// Where nothing may run twice, a cut is a bound on the peak of every order; often one equals it.
TEST(BoundTest, openCutsBoundThePeakOfEveryOrder) {
  constexpr int32_t problems = 400;
  int met = 0;
  for (int32_t seed = 0; seed < problems; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Problem problem = test::makeRandom(seed, 7);
    for (Op &op : problem.ops)
      op.recompute = false;
    Graph graph(problem);
    int64_t least = problem.residentBytes();
    for (int64_t refused = 0; !test::leastCost(problem, least, refused); least = refused)
      continue;
    int64_t most = 0;
    for (OpIndex op = 0; op < graph.numOps(); ++op)
      most = std::max(most, OpenCut(graph, op).bytesWithoutRepeats());
    EXPECT_LE(most, least);
    met += most == least;
  }
  EXPECT_GT(met, problems / 2);
}

} // namespace
