//===- TimedVariantsTest.cpp - More budget, no longer step -------------------------===//
//
// Times that depend on more than the cost, as where copies overlap with a plan: here an arbitrary
// number of each plan is added to its cost. Whatever that is, of any two budgets the larger has no
// longer step and runs no more again.
//
//===----------------------------------------------------------------------===//

#include "llmmem/Planning/Variants/TimedVariants.h"
#include "ScheduleOracle.h"
#include "TransformerProblem.h"
#include "llmmem/Planning/Model/Verify.h"
#include "gtest/gtest.h"

using namespace llmmem::planning;

namespace {

/// A number of the plan alone, that no budget orders.
int64_t delayOf(const Plan &plan, int64_t most) {
  uint64_t hash = static_cast<uint64_t>(plan.arena);
  for (OpIndex step : plan.steps)
    hash = (hash ^ static_cast<uint64_t>(step)) * 0x9e3779b97f4a7c15ull;
  return static_cast<int64_t>((hash >> 33) % static_cast<uint64_t>(most + 1));
}

struct Answers {
  int count = 0, differ = 0; // differ: from a search at the budget itself
};

void checkAll(const Problem &problem, int64_t step, Answers &answers) {
  VariantSet variants = VariantSet::only(problem);
  PlanOptions options;
  options.workSeconds = 0.05;
  int64_t mostDelay = 1;
  for (const Op &op : problem.ops)
    mostDelay += op.cost;
  const TimeOfPlan timeOf = [&](const ProblemVariantPlan &made) {
    return std::optional(made.chosen.plan.cost + delayOf(made.chosen.plan, mostDelay));
  };
  const Plan free = planVariants(variants, options).chosen.plan;
  options.policy.kind = PolicyKind::LeastPeak;
  const Plan least = planVariants(variants, options).chosen.plan;
  options.policy.kind = PolicyKind::Budget;
  int64_t lastTime = INT64_MAX, lastCost = INT64_MAX;
  for (int64_t arena = least.arena; arena <= 2 * free.arena + step; arena += step) {
    variants.setBudget(problem.residentBytes() + arena);
    const ProblemVariantPlan made = planVariantsByTime(variants, options, timeOf);
    const Plan &plan = made.chosen.plan;
    ASSERT_EQ(plan.status, Status::Feasible) << arena;
    EXPECT_TRUE(verify(*variants.problemOf({}), plan).empty()) << arena;
    EXPECT_LE(*timeOf(made), lastTime) << arena;
    EXPECT_LE(plan.cost, lastCost) << arena;
    EXPECT_LE(plan.costLowerBound, plan.cost);
    lastTime = *timeOf(made);
    lastCost = plan.cost;
    ++answers.count;
    answers.differ += plan.steps != planVariants(variants, options).chosen.plan.steps;
  }
}

TEST(TimedVariantsTest, holdsOfSmallSteps) {
  Answers answers;
  for (int32_t seed = 0; seed < 40; ++seed)
    checkAll(test::makeRandom(seed, 7), /*step=*/1, answers);
  EXPECT_GT(answers.count, 300);
  EXPECT_GT(answers.differ, 0) << "searches of each budget would do";
}

TEST(TimedVariantsTest, holdsOfChains) {
  Answers answers;
  const Problem problem = test::makeTransformer({.blocks = 2,
                                                 .tokens = 64,
                                                 .hidden = 64,
                                                 .feedForward = 128,
                                                 .heads = 4,
                                                 .vocabulary = 100,
                                                 .labels = true});
  checkAll(problem, /*step=*/20000, answers);
  EXPECT_GT(answers.count, 5);
}

} // namespace
