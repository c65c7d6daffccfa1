//===- RepeatedBlocksTest.cpp - Many equal blocks from three ------------------------===//

#include "llmmem/Planning/Schedulers/RepeatedBlocks.h"
#include "TransformerProblem.h"
#include "llmmem/Planning/Planner.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace llmmem::planning;

namespace {

Problem makeSteps(int64_t blocks) {
  test::TransformerShape shape;
  shape.blocks = blocks;
  shape.labels = true;
  return test::makeTransformer(shape);
}

Plan planUnder(Problem problem, std::optional<int64_t> budget) {
  problem.budget = budget;
  PlanOptions options;
  options.policy.kind = budget ? PolicyKind::Budget : PolicyKind::None;
  return plan(problem, options);
}

/// Plans of 24 blocks recompute what three blocks say, within two hundredths of the step, and the
/// bytes of the step that holds everything are found to a thousandth.
TEST(RepeatedBlocksTest, PredictsPlansOfManyBlocks) {
  const Problem many = makeSteps(24);
  const std::optional<RepeatedBlocks> few = RepeatedBlocks::of(makeSteps(3));
  ASSERT_TRUE(few);
  const BlockStretch stretch{24, true, true, 1, many.residentBytes()};
  const Plan all = planUnder(many, std::nullopt);
  const int64_t needed = many.residentBytes() + all.arena;
  const std::optional<StretchPlan> everything = few->under(stretch, INT64_MAX);
  ASSERT_TRUE(everything);
  EXPECT_EQ(everything->recompute, 0);
  EXPECT_NEAR(static_cast<double>(everything->bytes) / static_cast<double>(needed), 1.0, 1e-3);
  for (double part : {0.9, 0.7, 0.5, 0.3}) {
    const auto budget =
        many.residentBytes() + static_cast<int64_t>(part * static_cast<double>(all.arena));
    const std::optional<StretchPlan> model = few->under(stretch, budget);
    ASSERT_TRUE(model) << part;
    EXPECT_LE(model->bytes, budget);
    const Plan plan = planUnder(many, budget);
    const double base = static_cast<double>(plan.baseCost);
    EXPECT_NEAR(static_cast<double>(model->recompute) / base,
                static_cast<double>(plan.cost - plan.baseCost) / base, 0.02)
        << part;
  }
}

/// Micro-batches in flight each hold what one holds.
TEST(RepeatedBlocksTest, HoldsEachMicroBatchInFlight) {
  const std::optional<RepeatedBlocks> few = RepeatedBlocks::of(makeSteps(3));
  ASSERT_TRUE(few);
  BlockStretch stretch{8, false, false, 1, 1000};
  const int64_t one = few->under(stretch, INT64_MAX)->bytes;
  stretch.microBatches = 3;
  const int64_t three = few->under(stretch, INT64_MAX)->bytes;
  EXPECT_EQ(three - one, 2 * 8 * few->ofBlock().front().held);
}

/// Less than the least is no plan, and the least is one.
TEST(RepeatedBlocksTest, FindsTheLeast) {
  const std::optional<RepeatedBlocks> few = RepeatedBlocks::of(makeSteps(3));
  ASSERT_TRUE(few);
  const BlockStretch stretch{12, true, true, 1, 0};
  const StretchPlan least = few->least(stretch);
  EXPECT_TRUE(few->under(stretch, least.bytes));
  EXPECT_FALSE(few->under(stretch, least.bytes - 1));
}

TEST(RepeatedBlocksTest, NeedsAnInnerBlock) { EXPECT_FALSE(RepeatedBlocks::of(makeSteps(2))); }

} // namespace
