//===- StructureTest.cpp - Steps without labels, in any order -----------------------===//
//
// benchmarks/StructureTables.cpp compares plans at more sizes. LLMMEM_LONG in the environment asks
// for larger steps here too.
//
//===----------------------------------------------------------------------===//

#include "ProblemBuilder.h"
#include "ShuffledProblem.h"
#include "Structure/CanonicalProblem.h"
#include "Structure/PeakMoves.h"
#include "Structure/StepChain.h"
#include "llmmem/Planning/Model/FoundStructure.h"
#include "llmmem/Planning/Model/Verify.h"
#include "llmmem/Planning/Planner.h"
#include "gtest/gtest.h"
#include <cstdlib>

using namespace llmmem::planning;

namespace {

test::TransformerShape smallStep(int64_t blocks, bool transient) {
  return {.blocks = blocks,
          .tokens = 1024,
          .hidden = 1024,
          .feedForward = 3584,
          .heads = 16,
          .keyValueHeads = 4,
          .fusedAttention = !transient,
          .transientGradients = transient,
          .labels = true};
}

TEST(Structure, TheBlocksAreFoundInAnyOrder) {
  const Problem labelled = test::makeTransformer(smallStep(5, true));
  for (test::GivenOrder order : test::allGivenOrders)
    for (uint64_t seed : {1, 2}) {
      const Problem problem = test::shuffle(labelled, order, seed);
      const Graph graph(problem);
      const std::optional<Chain> chain = findStepChain(graph);
      ASSERT_TRUE(chain) << test::nameOf(order);
      EXPECT_EQ(chain->numBlocks(), 5) << test::nameOf(order);
      EXPECT_EQ(chain->numStages, 7) << test::nameOf(order); // the embedding and the head too
    }
}

/// Where q, k and v are alike, blocks of the canonical problem list their operands in unlike
/// orders.
TEST(Structure, OperandsMayBeListedInAnyOrder) {
  test::TransformerShape shape = smallStep(12, false);
  shape.fusedAttention = false;
  shape.keyValueHeads = shape.heads;
  const Problem labelled = test::makeTransformer(shape);
  const CanonicalProblem canonical = makeCanonical(Graph(labelled));
  const std::optional<Chain> chain = findStepChain(Graph(canonical.problem));
  ASSERT_TRUE(chain);
  EXPECT_EQ(chain->numBlocks(), 12);
  EXPECT_EQ(chain->numStages, 14);
}

TEST(Structure, IsToldForPeople) {
  const Problem labelled = test::makeTransformer(smallStep(5, true));
  Problem other = test::shuffle(labelled, test::allGivenOrders[3], 1);
  const FoundStructure found = findStructure(other);
  EXPECT_TRUE(found.repeats);
  EXPECT_EQ(found.numBlocks, 5);
  EXPECT_EQ(structureText(found),
            "5 equal blocks of " + std::to_string(found.opsOfBlock) + " ops, 7 stages");
  EXPECT_FALSE(findStructure(labelled).repeats);
  EXPECT_EQ(structureText({1, 0, 0, false}), "no blocks, 1 stage");
}

TEST(Structure, TheOrderDependsOnTheGraphAlone) {
  const Problem labelled = test::makeTransformer(smallStep(4, true));
  std::optional<std::vector<int64_t>> first;
  for (test::GivenOrder order : test::allGivenOrders) {
    const Problem problem = test::shuffle(labelled, order, 3);
    const Graph graph(problem);
    const std::optional<Chain> chain = findStepChain(graph);
    ASSERT_TRUE(chain);
    std::vector<int64_t> costs;
    for (OpIndex op : chain->order)
      costs.push_back(graph.op(op).cost);
    if (!first)
      first = costs;
    EXPECT_EQ(costs, *first) << test::nameOf(order);
  }
}

/// The JSON of the canonical problem, ids and names left out.
std::string canonicalText(const Problem &problem) {
  const Graph graph(problem);
  Problem canonical = makeCanonical(graph).problem;
  for (size_t value = 0; value < canonical.values.size(); ++value) {
    canonical.values[value].id = static_cast<int64_t>(value);
    canonical.values[value].name.clear();
  }
  for (size_t op = 0; op < canonical.ops.size(); ++op)
    canonical.ops[op].id = static_cast<int64_t>(op);
  return toJson(canonical);
}

TEST(Structure, CanonicalProblemsAreEqualInAnyOrder) {
  for (bool transient : {false, true})
    for (int64_t keyValueHeads : {4, 16}) {
      test::TransformerShape shape = smallStep(6, transient);
      shape.keyValueHeads = keyValueHeads;
      const Problem labelled = test::makeTransformer(shape);
      const std::string text = canonicalText(labelled);
      for (test::GivenOrder order : test::allGivenOrders)
        for (uint64_t seed : {1, 2})
          EXPECT_TRUE(canonicalText(test::shuffle(labelled, order, seed)) == text)
              << test::nameOf(order) << " " << keyValueHeads << " " << transient;
    }
}

TEST(Structure, PlansOfCanonicalProblemsArePlansOfTheOthers) {
  const Problem labelled = test::makeTransformer(smallStep(4, true));
  Problem problem = test::shuffle(labelled, test::GivenOrder::Random, 3);
  const Graph graph(problem);
  CanonicalProblem canonical = makeCanonical(graph);
  const Plan free = plan(canonical.problem, {});
  canonical.problem.budget = problem.budget =
      canonical.problem.residentBytes() + free.arena * 3 / 4;
  Plan restored = plan(canonical.problem, {});
  ASSERT_EQ(restored.status, Status::Feasible);
  ASSERT_GT(restored.cost, restored.baseCost);
  canonical.restoreNumbers(restored);
  EXPECT_TRUE(verify(problem, restored).empty());
}

TEST(Structure, TheLeastFootprintIsOfTheGraphAlone) {
  const Problem labelled = test::makeTransformer(smallStep(6, true));
  PlanOptions options;
  options.policy.kind = PolicyKind::LeastPeak;
  const Plan told = plan(labelled, options);
  for (test::GivenOrder order : test::allGivenOrders) {
    const Plan found = plan(test::shuffle(labelled, order, 9), options);
    EXPECT_EQ(found.arena, told.arena) << test::nameOf(order);
    EXPECT_EQ(found.cost, told.cost) << test::nameOf(order);
  }
}

TEST(Structure, AnOpMovesAcrossTheFullestStep) {
  test::ProblemBuilder builder;
  const ValueIndex gradient = builder.value(4), mean = builder.value(4), square = builder.value(4),
                   weight = builder.value(1);
  builder.op({}, {gradient}, 1);
  builder.op({gradient}, {mean}, 1);
  builder.op({gradient}, {square}, 1);
  builder.op({mean, square}, {weight}, 1);
  builder.problem.ops[1].inPlace = {{mean, gradient}};
  const Graph graph(builder.problem);
  const std::vector<OpIndex> order = givenOrder(graph);
  EXPECT_EQ(profile(graph, order).peak, 12);
  const std::vector<std::vector<OpIndex>> moved = moveAcross(graph, order, /*full=*/2);
  ASSERT_EQ(moved.size(), 1u);
  EXPECT_EQ(moved[0], (std::vector<OpIndex>{0, 2, 1, 3}));
  EXPECT_EQ(profile(graph, moved[0]).peak, 9);
}

TEST(Structure, WhatSavesNothingHasNoChain) {
  test::ProblemBuilder build; // inference: every value is read by the next op alone
  ValueIndex last = build.value(8);
  for (int op = 0; op < 6; ++op) {
    const ValueIndex next = build.value(8);
    build.op({last}, {next}, 1);
    last = next;
  }
  build.problem.keep.push_back(last);
  EXPECT_FALSE(findStepChain(Graph(build.problem)));
}

int64_t peakOf(const Problem &problem, PolicyKind kind) {
  PlanOptions options;
  options.policy.kind = kind;
  return plan(problem, options).peak;
}

TEST(Structure, PlansCostNoMoreThanWithLabels) {
  const bool isLong = std::getenv("LLMMEM_LONG") != nullptr;
  for (int64_t blocks : isLong ? std::vector<int64_t>{6, 24, 48} : std::vector<int64_t>{6})
    for (bool transient : {false, true}) {
      Problem labelled = test::makeTransformer(smallStep(blocks, transient));
      const int64_t least = peakOf(labelled, PolicyKind::Full);
      const int64_t most = peakOf(labelled, PolicyKind::None);
      for (double f : {0.0, 0.25, 0.75, 1.0}) {
        labelled.budget = least + static_cast<int64_t>(f * static_cast<double>(most - least));
        const Plan told = plan(labelled, {});
        for (test::GivenOrder order : test::allGivenOrders) {
          Problem problem = test::shuffle(labelled, order, 5);
          const Plan found = plan(problem, {});
          ASSERT_EQ(found.status, Status::Feasible) << test::nameOf(order) << " at " << f;
          EXPECT_TRUE(verify(problem, found).empty());
          EXPECT_LE(found.cost, told.cost + told.baseCost / 1000)
              << test::nameOf(order) << " at " << f;
        }
      }
    }
}

} // namespace
