//===- CancellationTest.cpp - A search ends when its caller wants it to -----------===//

#include "RandomProblem.h"
#include "TransformerProblem.h"
#include "llmmem/Planning/Allocation/Placement.h"
#include "llmmem/Planning/Model/Verify.h"
#include "llmmem/Planning/Planner.h"
#include "gtest/gtest.h"
#include <ctime>

using namespace llmmem::planning;
using namespace llmmem::planning::test;

namespace {

/// Of the processor, as what else the machine does, and for how long it stops a program, is not
/// what is tested.
double seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Outcome {
  Plan plan;
  double late = 0;    // seconds from the first yes to the end; 0 where nobody said yes
  double longest = 0; // seconds without a question
};

/// Plans `problem` and wants to stop after so many seconds.
Outcome planFor(const Problem &problem, double after, PolicyKind kind = PolicyKind::Budget) {
  Outcome outcome;
  const double start = seconds();
  double last = start;
  std::optional<double> said;
  PlanOptions options;
  options.policy.kind = kind;
  options.isCancelled = [&] {
    outcome.longest = std::max(outcome.longest, seconds() - last);
    last = seconds();
    if (last - start < after)
      return false;
    EXPECT_FALSE(said) << "asked again after a yes";
    said = last;
    return true;
  };
  outcome.plan = plan(problem, options);
  if (said)
    outcome.late = seconds() - *said;
  return outcome;
}

/// A budget between what keeping everything and what recomputing everything needs.
Problem tight(Problem problem) {
  PlanOptions options;
  options.policy.kind = PolicyKind::None;
  const int64_t most = plan(problem, options).peak;
  options.policy.kind = PolicyKind::Full;
  const int64_t least = plan(problem, options).peak;
  problem.budget = least + (most - least) / 5;
  return problem;
}

void expectCancelled(const Problem &problem, double after, PolicyKind kind = PolicyKind::Budget) {
  SCOPED_TRACE("after " + std::to_string(after) + " s");
  const Outcome outcome = planFor(problem, after, kind);
  if (outcome.late == 0) // it ended before; then it is a plan like any other
    return;
  // Generous, for slow machines: it is a few milliseconds.
  EXPECT_LT(outcome.late, 1.0);
  EXPECT_EQ(outcome.plan.status, Status::Unknown);
  EXPECT_TRUE(outcome.plan.steps.empty());
  ASSERT_TRUE(outcome.plan.witness);
  EXPECT_EQ(outcome.plan.witness->why, "cancelled");
  EXPECT_TRUE(verify(problem, outcome.plan).empty());
}

TEST(Cancellation, EndsChains) {
  const Problem problem = tight(makeTransformer({.blocks = 48, .labels = true}));
  for (double after : {0.0, 0.02, 0.1, 0.3, 0.6, 1.0, 2.0})
    expectCancelled(problem, after);
}

TEST(Cancellation, EndsSearchesOfOtherGraphs) {
  Problem problem = randomProblem(7, 400);
  problem.budget.reset();
  problem.budget = plan(problem, {}).arena * 3 / 4;
  for (double after : {0.0, 0.05, 0.2, 0.5, 1.0})
    expectCancelled(problem, after);
}

TEST(Cancellation, EndsTheLeastPeak) {
  const Problem problem = makeTransformer({.blocks = 24});
  for (double after : {0.0, 0.1, 0.5, 1.0})
    expectCancelled(problem, after, PolicyKind::LeastPeak);
}

/// No long stretch without a question, from the first to the last.
TEST(Cancellation, IsAskedAllTheTime) {
  const Outcome outcome = planFor(tight(makeTransformer({.blocks = 24})), 1e9);
  EXPECT_EQ(outcome.plan.status, Status::Feasible);
  EXPECT_LT(outcome.longest, 1.0);
}

/// A packing that is cut short is a packing.
TEST(Cancellation, APackingIsTheBestSoFar) {
  std::vector<Buffer> buffers;
  for (int64_t i = 0; i < 300; ++i)
    buffers.push_back({i * 37 % 200, i * 37 % 200 + 5 + i * 53 % 90, 100 + i * 71 % 900});
  Cancellation cancellation([] { return true; });
  PackOptions options;
  options.work = packWork(1000);
  options.cancellation = &cancellation;
  const double start = seconds();
  const Packing packing = pack(buffers, options);
  EXPECT_LT(seconds() - start, 2.0);
  EXPECT_GT(packing.arena, packing.lowerBound); // else nothing was cut short
  for (size_t a = 0; a < buffers.size(); ++a)
    for (size_t b = 0; b < a; ++b)
      EXPECT_TRUE(buffers[a].upper <= buffers[b].lower || buffers[b].upper <= buffers[a].lower ||
                  packing.offsets[a] + buffers[a].size <= packing.offsets[b] ||
                  packing.offsets[b] + buffers[b].size <= packing.offsets[a]);
}

} // namespace
