//===- ExplainTest.cpp - What is said about saved values --------------------------===//

#include "llmmem/Planning/Formats/Explain.h"
#include "llmmem/Planning/Planner.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace llmmem::planning;

namespace {

/// x -> up -> h -> act -> wide -> down -> y; backward: loss(y) -> dy, back(dy, wide) -> dx.
Problem saving(bool labels = true) {
  Problem problem;
  for (int64_t bytes : {10, 10, 20, 10, 10, 10})
    problem.values.push_back({int64_t(problem.values.size()), bytes, false, ""});
  auto op = [&](int64_t cost, std::vector<ValueIndex> reads, ValueIndex write, Phase phase) {
    Op result;
    result.id = int64_t(problem.ops.size());
    result.cost = cost;
    result.reads = std::move(reads);
    result.writes = {write};
    result.phase = labels ? phase : Phase::None;
    problem.ops.push_back(std::move(result));
  };
  op(3, {0}, 1, Phase::Forward);
  op(2, {1}, 2, Phase::Forward);
  op(5, {2}, 3, Phase::Forward);
  op(1, {3}, 4, Phase::Backward);
  op(9, {4, 2}, 5, Phase::Backward);
  problem.keep = {5};
  return problem;
}

std::vector<ExplainedValue> explain(const Problem &problem, std::vector<OpIndex> steps) {
  Plan plan;
  plan.steps = std::move(steps);
  return explainPlan(problem, plan);
}

TEST(ExplainTest, keptValues) {
  // By bytes: `wide` before y. h, which no backward op reads, is not saved.
  std::vector<ExplainedValue> saved = explain(saving(), {0, 1, 2, 3, 4});
  ASSERT_EQ(saved.size(), 2u);
  EXPECT_EQ(saved[0].value, 2);
  EXPECT_EQ(saved[0].bytes, 20);
  EXPECT_EQ(saved[0].runs, 1);
  EXPECT_EQ(saved[0].stepsHeld, 4); // steps 1 to 4
  EXPECT_EQ(saved[0].stepsIdle, 2); // from `down` at 2 to `back` at 4
  EXPECT_EQ(saved[0].otherCost, 5); // act, and up, whose result is gone by then
  EXPECT_TRUE(saved[0].canRecompute);
  EXPECT_EQ(saved[1].value, 3);
}

/// `act` runs again at step 4. Of what is held in between, `loss` writes dy after the last use of
/// `wide`; a larger workspace takes more room.
TEST(ExplainTest, whatARepeatMakesRoomFor) {
  Problem problem = saving();
  Plan plan;
  plan.steps = {0, 1, 2, 3, 1, 4};
  EXPECT_TRUE(reasonsOfRepeat(problem, plan, 1).empty());
  std::vector<RepeatReason> reasons = reasonsOfRepeat(problem, plan, 4);
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_EQ(reasons[0].value, 2);
  EXPECT_EQ(reasons[0].lastUse, 2);
  EXPECT_EQ(reasons[0].reader, 5);
  EXPECT_EQ(reasons[0].fullest, 3);
  EXPECT_EQ(reasons[0].roomFor, 4); // dy: y was held with `wide` already
  EXPECT_EQ(reasons[0].workspace, 0);
  problem.ops[3].workspace = 25;
  reasons = reasonsOfRepeat(problem, plan, 4);
  EXPECT_FALSE(reasons[0].roomFor);
  EXPECT_EQ(reasons[0].workspace, 25);
}

TEST(ExplainTest, recomputedValues) {
  std::vector<ExplainedValue> saved = explain(saving(), {0, 1, 2, 3, 1, 4});
  ASSERT_EQ(saved.size(), 2u);
  EXPECT_EQ(saved[0].runs, 2);
  EXPECT_EQ(saved[0].otherCost, 2); // one run of act
  EXPECT_EQ(saved[0].stepsHeld, 4); // steps 1, 2 and 4, 5
  EXPECT_EQ(saved[0].stepsIdle, 1); // not there at step 3
}

TEST(ExplainTest, whatRunsOnceIsNotOffered) {
  Problem problem = saving();
  problem.ops[1].recompute = false;
  std::vector<ExplainedValue> saved = explain(problem, {0, 1, 2, 3, 4});
  EXPECT_FALSE(saved[0].canRecompute);
  const std::string text = explanationText(problem, saved);
  EXPECT_NE(text.find("value 2 (20 B): kept, held 4 steps; it cannot be recomputed"),
            std::string::npos)
      << text;
}

/// An op on the way that runs once: its result would be held on, at no cost.
TEST(ExplainTest, operandsThatRanOnceAreHeldOn) {
  Problem problem = saving();
  problem.ops[0].recompute = false;
  EXPECT_EQ(explain(problem, {0, 1, 2, 3, 4})[0].otherCost, 2);
}

TEST(ExplainTest, withoutPhasesWhatWaitsIsSaved) {
  std::vector<ExplainedValue> saved = explain(saving(/*labels=*/false), {0, 1, 2, 3, 4});
  ASSERT_EQ(saved.size(), 1u); // only `wide` waits over a step that does not touch it
  EXPECT_EQ(saved[0].value, 2);
}

} // namespace
