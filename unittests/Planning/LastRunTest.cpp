//===- LastRunTest.cpp - Bytes at the last run of a set, against all schedules -----===//
//
// LLMMEM_BOUND_PROBLEMS in the environment asks for more random problems.
//
//===----------------------------------------------------------------------===//

#include "Bounds/FootprintBound.h"
#include "Bounds/LastRunCut.h"
#include "FromEnvironment.h"
#include "ProblemBuilder.h"
#include "ProofClaims.h"
#include "ScheduleOracle.h"
#include "Schedulers/ExactSearch.h"
#include "llmmem/Planning/Bounds/Bounds.h"
#include "llmmem/Planning/Planner.h"

using namespace llmmem::planning;
using test::checkOf;

namespace {

using Kind = BoundBasis::Kind;

/// Two blocks whose gradients of 8 bytes are kept, and whose backwards each have a workspace of 20.
struct TwoBlocks {
  test::ProblemBuilder build;
  ValueIndex input, middle, signal, second, first;
  OpIndex backwardOfSecond = 1, backwardOfFirst = 2;

  TwoBlocks() {
    input = build.value(4);
    middle = build.value(4);
    signal = build.value(4);
    second = build.value(8);
    first = build.value(8);
    build.op({input}, {middle}, 1);
    build.op({middle}, {second, signal}, 1);
    build.op({signal, input}, {first}, 1);
    for (OpIndex op : {backwardOfSecond, backwardOfFirst})
      build.problem.ops[op].workspace = 20;
    build.problem.keep = {second, first};
  }
};

TEST(LastRunTest, countsWhatIsKeptBesideTheLastBackward) {
  TwoBlocks step;
  const Graph graph(step.build.problem);
  LastRunCut cut(graph, {step.backwardOfSecond, step.backwardOfFirst});
  // Its operands (8), its gradient (8), its workspace (20) and the other gradient (8).
  EXPECT_EQ(cut.footprintAt(step.backwardOfFirst), 44);
  // The other one is recomputed: 4 + 12 + 20, with the gradient of the first.
  EXPECT_EQ(cut.footprintAt(step.backwardOfSecond), 44);
  const std::vector<OpIndex> steps = givenOrder(graph);
  const LastRunBound bound = lastRunBound(graph, steps, profile(graph, steps), /*known=*/0);
  EXPECT_EQ(bound.bytes, 44);
  EXPECT_EQ(bound.ops.size(), 2U);
  EXPECT_EQ(peakLowerBound(graph).bytes, 36); // either backward alone
}

/// What is not kept may be made again by ops outside of the set, which is free.
TEST(LastRunTest, doesNotCountWhatIsMadeAgain) {
  TwoBlocks step;
  step.build.problem.keep = {step.first};
  const Graph graph(step.build.problem);
  LastRunCut cut(graph, {step.backwardOfFirst});
  EXPECT_EQ(cut.footprintAt(step.backwardOfFirst), 36); // its own bytes alone
}

/// An op that runs once, before another one of the set, is not the last.
TEST(LastRunTest, leavesOutWhatCannotBeLast) {
  TwoBlocks step;
  step.build.problem.ops[step.backwardOfSecond].recompute = false;
  const Graph graph(step.build.problem);
  LastRunCut cut(graph, {step.backwardOfSecond, step.backwardOfFirst});
  EXPECT_FALSE(cut.mayBeLast(step.backwardOfSecond));
  EXPECT_TRUE(cut.mayBeLast(step.backwardOfFirst));
}

/// An op that runs once, before the program point, recomputes nothing: its result is held.
TEST(LastRunTest, holdsWhatRunsOnce) {
  TwoBlocks step;
  step.build.problem.ops[step.backwardOfSecond].recompute = false;
  const Graph graph(step.build.problem);
  LastRunCut once(graph, {step.backwardOfFirst});
  EXPECT_EQ(once.footprintAt(step.backwardOfFirst), 44);
  step.build.problem.ops[step.backwardOfSecond].recompute = true;
  const Graph other(step.build.problem);
  LastRunCut twice(other, {step.backwardOfFirst});
  EXPECT_EQ(twice.footprintAt(step.backwardOfFirst), 36); // made again from the last one's operand
}

/// Of every set of ops: no schedule holds less, and what is proved is checked.
TEST(LastRunTest, noScheduleHoldsLess) {
  const int32_t problems = test::fromEnvironment("LLMMEM_BOUND_PROBLEMS", 200);
  std::mt19937 random(1);
  int better = 0, tight = 0;
  for (int32_t seed = 0; seed < problems; ++seed) {
    Problem problem = test::makeRandom(seed, 8);
    // What nobody reads is kept, as gradients are.
    const Graph before(problem);
    for (ValueIndex value = 0; value < before.numValues(); ++value)
      if (before.readers(value).empty() && !before.isKept(value) && random() % 2)
        problem.keep.push_back(value);
    const Graph graph(problem);
    const ExactAnswer least = leastPeakExactly(graph, {.repeats = true, .work = 10000000});
    ASSERT_EQ(least.kind, ExactAnswer::Kind::Found);
    const int64_t truth = profile(graph, least.steps).peak - graph.topPadding();
    for (int round = 0; round < 4; ++round) {
      std::vector<OpIndex> set;
      for (OpIndex op = 0; op < graph.numOps(); ++op)
        if (random() % 2)
          set.push_back(op);
      if (set.empty())
        continue;
      const int64_t proved = footprintAtLastRun(graph, set);
      EXPECT_LE(proved, truth) << "problem " << seed;
      Plan claim;
      claim.status = Status::Infeasible;
      claim.peakBasis = {Kind::LastRuns, set, {}};
      claim.peakLowerBound = proved;
      claim.witness = Witness{std::nullopt, {}, proved, true, ""};
      claim.infeasibilityBasis = claim.peakBasis;
      problem.budget = proved - 1;
      if (*problem.budget < 0)
        continue;
      ClaimCheck it = checkOf("infeasible", problem, claim);
      EXPECT_EQ(wordOf(it.verdict), "checked") << it.message;
      ++claim.witness->bytes;
      it = checkOf("infeasible", problem, claim);
      EXPECT_EQ(wordOf(it.verdict), "refused") << it.message;
      better += proved > peakLowerBound(graph).bytes;
      tight += proved == truth;
    }
    problem.budget.reset();
    const FootprintBound footprint = footprintOfEverySchedule(graph, least.steps);
    EXPECT_LE(footprint.bytes, truth) << "problem " << seed;
    EXPECT_GE(footprint.bytes, footprintOfOneOp(graph).bytes);
  }
  EXPECT_GT(better, problems / 20);
  EXPECT_GT(tight, problems / 20);
}

} // namespace
