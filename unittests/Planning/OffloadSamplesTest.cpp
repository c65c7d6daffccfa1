//===- OffloadSamplesTest.cpp - More budget of the device, no longer step ----------===//
//
// This file plans problems with copies to a host under many budgets of the device: of two budgets
// that are at least the least footprint, the larger one never has a longer step, whichever is
// planned first and however the caller models the time of a step.
//
//===----------------------------------------------------------------------===//

#include "FromEnvironment.h"
#include "RandomProblem.h"
#include "TransformerProblem.h"
#include "llmmem/Planning/Model/Verify.h"
#include "llmmem/Planning/Offload/OffloadProblem.h"
#include "llmmem/Planning/Planner.h"
#include "gtest/gtest.h"

using namespace llmmem::planning;
using llmmem::Result;

namespace {

constexpr int64_t perNanosecond = 1'000'000'000; // bytes per second of one byte per ns

/// What the step of a plan takes.
using StepTime = std::function<int64_t(const Plan &)>;

int64_t timeOfPlan(const Plan &plan) { return plan.time->time; }

/// The time of the plan and a number of its steps alone, which no budget orders.
int64_t timeWithDelay(const Plan &plan) {
  uint64_t hash = 1;
  for (OpIndex step : plan.steps)
    hash = (hash ^ static_cast<uint64_t>(step)) * 0x9e3779b97f4a7c15ull;
  const auto most = static_cast<uint64_t>(plan.baseCost / 4 + 1);
  return plan.time->time + 1 + static_cast<int64_t>((hash >> 33) % most);
}

Plan planIt(const Problem &problem, PolicyKind kind, const StepTime &stepTime) {
  PlanOptions options;
  options.policy.kind = kind;
  options.workSeconds = 0.02;
  options.movesState = static_cast<bool>(stepTime);
  if (stepTime)
    options.timeOf = [&](VariantNumber, const Plan &plan) { return std::optional(stepTime(plan)); };
  return plan(problem, options);
}

struct Swept {
  int64_t plans = 0, times = 0, copying = 0; // times: that differ
};

/// Plans `problem`, whose host has a budget, from its least footprint up.
void sweep(Problem problem, int64_t step, const StepTime &stepTime, const std::string &where,
           Swept &swept) {
  auto timeOf = [&](const Plan &plan) { return stepTime ? stepTime(plan) : timeOfPlan(plan); };
  problem.budget.reset();
  const Plan least = planIt(problem, PolicyKind::LeastPeak, stepTime);
  ASSERT_EQ(least.status, Status::Feasible) << where;
  const Plan free = planIt(problem, PolicyKind::None, nullptr);
  int64_t before = timeOf(least);
  for (int64_t arena = least.arena; arena <= free.arena + step; arena += step) {
    const std::string here = where + ", arena " + std::to_string(arena);
    problem.budget = problem.residentBytes() + arena;
    const Plan planned = planIt(problem, PolicyKind::Budget, stepTime);
    ASSERT_EQ(planned.status, Status::Feasible) << here;
    for (const Violation &violation : verify(problem, planned))
      ADD_FAILURE() << here << ", step " << violation.step << ": " << violation.message;
    EXPECT_LE(timeOf(planned), before) << here;
    EXPECT_LE(planned.time->lowerBound, planned.time->time) << here;
    ++swept.plans;
    swept.times += timeOf(planned) < before;
    swept.copying += !planned.copies.empty();
    before = timeOf(planned);
  }
}

// LLMMEM_OFFLOAD_SWEEPS=200 takes more.
Swept sweepRandomProblems(const StepTime &stepTime) {
  Swept swept;
  const int32_t count = test::fromEnvironment("LLMMEM_OFFLOAD_SWEEPS", 10);
  for (int32_t seed = 0; seed < count; ++seed) {
    const Problem problem = randomProblem(seed, seed % 2 ? 9 : 27);
    const Result<Problem> copied =
        withHostCopies(problem, 20 + seed % 3 * 20,
                       {perNanosecond * (1 + seed % 4), perNanosecond * (1 + seed % 3), seed % 2});
    if (copied)
      sweep(*copied, /*step=*/1, stepTime, "seed " + std::to_string(seed), swept);
  }
  return swept;
}

TEST(OffloadSamplesTest, MoreBudgetIsNeverSlower) {
  const Swept swept = sweepRandomProblems(nullptr);
  EXPECT_GT(swept.plans, 150);
  EXPECT_GT(swept.times, 12);
  EXPECT_GT(swept.copying, 20);
}

TEST(OffloadSamplesTest, WhateverTheStepTakes) {
  const Swept swept = sweepRandomProblems(timeWithDelay);
  EXPECT_GT(swept.plans, 150);
  EXPECT_GT(swept.times, 10);
}

TEST(OffloadSamplesTest, OfATransformer) {
  const Problem problem = test::makeTransformer({.blocks = 3, .labels = true});
  const Result<Problem> copied =
      withHostCopies(problem, int64_t(1) << 40, {25 * perNanosecond, 25 * perNanosecond});
  ASSERT_TRUE(copied) << copied.error();
  Swept swept;
  const Plan free = planIt(*copied, PolicyKind::None, nullptr);
  sweep(*copied, free.arena / 24, nullptr, "three blocks", swept);
  EXPECT_GT(swept.times, 8);
  EXPECT_GT(swept.copying, 8);
}

} // namespace
