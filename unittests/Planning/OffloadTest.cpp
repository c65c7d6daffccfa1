//===- OffloadTest.cpp - Keep, recompute or offload --------------------------------===//

#include "CopyOracle.h"
#include "FromEnvironment.h"
#include "ProblemBuilder.h"
#include "RandomProblem.h"
#include "RotorChain.h"
#include "TransformerProblem.h"
#include "llmmem/Planning/Model/Verify.h"
#include "llmmem/Planning/Offload/OffloadProblem.h"
#include "llmmem/Planning/Planner.h"
#include "gtest/gtest.h"
#include <random>

using namespace llmmem::planning;
using llmmem::Result;
using test::ProblemBuilder;

namespace {

void expectVerifies(const Problem &problem, const Plan &plan, const std::string &where) {
  for (const Violation &violation : verify(problem, plan))
    ADD_FAILURE() << where << ", step " << violation.step << ", " << violation.rule << ": "
                  << violation.message;
}

Plan planIt(const Problem &problem, PolicyKind kind = PolicyKind::Budget, double seconds = 0.1) {
  PlanOptions options;
  options.policy.kind = kind;
  options.workSeconds = seconds;
  return plan(problem, options);
}

/// one writes x(8), two writes y(8) of it, three reads y and writes z(8), back reads x and z.
Problem fourOps() {
  ProblemBuilder builder;
  const ValueIndex x = builder.value(8), y = builder.value(8), z = builder.value(8),
                   g = builder.value(1);
  builder.op({}, {x}, 10);
  builder.op({x}, {y}, 10);
  builder.op({y}, {z}, 10);
  builder.op({x, z}, {g}, 10);
  builder.problem.keep = {g};
  return builder.problem;
}

constexpr int64_t perNanosecond = 1'000'000'000; // bytes per second of one byte per ns

//===----------------------------------------------------------------------===//
// Problems with copies
//===----------------------------------------------------------------------===//

// x alone has an op between two of its uses. 8 bytes at 3 per ns are 2.67 ns, rounded up, and 2 ns
// of latency.
TEST(HostCopiesTest, EachValueThatMayLeaveHasTwoCopies) {
  const Result<Problem> copied =
      withHostCopies(fourOps(), 64, {3 * perNanosecond, perNanosecond, 2});
  ASSERT_TRUE(copied) << copied.error();
  ASSERT_EQ(copied->ops.size(), 6u);
  const Op &up = copied->ops[4], &down = copied->ops[5];
  EXPECT_EQ(up.resource, Resource::DeviceToHost);
  EXPECT_EQ(up.cost, 5);
  EXPECT_EQ(up.reads, std::vector<ValueIndex>{0});
  EXPECT_EQ(down.resource, Resource::HostToDevice);
  EXPECT_EQ(down.cost, 10);
  EXPECT_EQ(down.reads, up.writes);
  EXPECT_EQ(down.writes, up.reads);
  EXPECT_EQ(copied->values[up.writes[0]].memory, 1);
  EXPECT_EQ(copied->budgetOf(1), 64);
  EXPECT_FALSE(checkPlannable(*copied));
}

TEST(HostCopiesTest, Refusals) {
  auto why = [](const Problem &problem, int64_t budget, HostLink link) {
    return withHostCopies(problem, budget, link).error();
  };
  const HostLink link{perNanosecond, perNanosecond};
  EXPECT_EQ(why(fourOps(), 7, link),
            "the host's budget of 7 bytes holds none of the values that may leave the device; the "
            "smallest has 8 bytes, so give at least that");
  EXPECT_NE(why(fourOps(), 8, {perNanosecond, 0}).find("at least 1 byte per second each way"),
            std::string::npos);
  const Result<Problem> once = withHostCopies(fourOps(), 8, link);
  ASSERT_TRUE(once);
  EXPECT_NE(why(*once, 8, link).find("has several memories"), std::string::npos);
}

TEST(HostCopiesTest, Links) {
  const Result<HostLink> both = parseHostLink("25GB/s"), apart = parseHostLink("1.5GB/s,20 GB/s");
  ASSERT_TRUE(both && apart);
  EXPECT_EQ(both->up, 25 * perNanosecond);
  EXPECT_EQ(both->down, 25 * perNanosecond);
  EXPECT_EQ(apart->up, 1'500'000'000);
  EXPECT_EQ(apart->down, 20 * perNanosecond);
  EXPECT_EQ(parseHostLink("0GB/s").error(),
            "'0GB/s' is not a rate of a link: '0GB' is not a size in bytes: it must be positive "
            "(write for example 25GB/s, or 25GB/s,20GB/s up and down)");
  for (const char *wrong : {"", "25GB", "25GB/s,", "fast", "-1GB/s", "1GB/s,2GB/s,3GB/s"})
    EXPECT_FALSE(parseHostLink(wrong)) << wrong;
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

// 16 bytes hold two of x, y and z. At 4 bytes per ns x is away from 12 to 30, while two's result is
// read: nothing is waited for. (Its device-to-host copy ends at 12, before `three` needs the bytes
// at 20; but it is back for `back` at 30 only if the bytes of y, free at 30, need not be waited
// for: down 30-32.)
TEST(OffloadTest, AValueLeavesAndComesBack) {
  Problem problem = fourOps();
  problem.budget = 17;
  const Plan recomputed = planIt(problem);
  EXPECT_EQ(recomputed.cost, 50); // x again
  Result<Problem> copied = withHostCopies(problem, 8, {4 * perNanosecond, 4 * perNanosecond});
  ASSERT_TRUE(copied);
  const Plan planned = planIt(*copied);
  expectVerifies(*copied, planned, "one value");
  ASSERT_EQ(planned.status, Status::Feasible);
  EXPECT_EQ(planned.time->time, 42);
  EXPECT_EQ(planned.moreMemories[0].arena, 8);
  ASSERT_EQ(planned.copies.size(), 1u);
  EXPECT_EQ(planned.copies[0].value, 0);
  EXPECT_EQ(planned.steps[planned.copies[0].leaves], 4);
  EXPECT_EQ(planned.steps[planned.copies[0].back], 5);
  // A link that takes longer than one's run is not worth it.
  copied = withHostCopies(problem, 8, {perNanosecond / 2, perNanosecond / 2});
  ASSERT_TRUE(copied);
  const Plan slow = planIt(*copied);
  expectVerifies(*copied, slow, "slow link");
  EXPECT_EQ(slow.time->time, 50);
  EXPECT_TRUE(slow.copies.empty());
}

TEST(OffloadTest, CopiesSurviveTheirJson) {
  Problem problem = fourOps();
  problem.budget = 17;
  const Result<Problem> copied = withHostCopies(problem, 8, {4 * perNanosecond, 4 * perNanosecond});
  ASSERT_TRUE(copied);
  const Plan planned = planIt(*copied);
  const Result<Plan> read = parsePlan(*copied, toJson(*copied, planned));
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(toJson(*copied, *read), toJson(*copied, planned));
  expectVerifies(*copied, *read, "read again");
}

/// 4 to 7 ops of one result each, which mostly read recent values.
Problem randomSingleResults(std::mt19937_64 &engine) {
  auto below = [&](uint64_t bound) { return static_cast<int64_t>(engine() % bound); };
  ProblemBuilder builder;
  if (below(2))
    builder.value(1 + below(3), /*resident=*/below(2));
  const int64_t count = 4 + below(4);
  for (int64_t op = 0; op < count; ++op) {
    const auto known = static_cast<ValueIndex>(builder.problem.values.size());
    std::vector<ValueIndex> reads;
    for (int64_t k = below(3); k > 0 && known > 0; --k) {
      const auto value = static_cast<ValueIndex>(below(2) ? below(known) : known - 1);
      if (!llvm::is_contained(reads, value))
        reads.push_back(value);
    }
    builder.op(std::move(reads), {builder.value(1 + below(5))}, 1 + below(6));
    builder.problem.ops.back().recompute = below(5) != 0;
    builder.problem.ops.back().workspace = below(4) == 0 ? below(4) : 0;
  }
  builder.problem.keep.push_back(static_cast<ValueIndex>(builder.problem.values.size()) - 1);
  return builder.problem;
}

// What no plan beats and every plan is measured by. LLMMEM_OFFLOAD_PROBLEMS=1000 takes more.
TEST(OffloadTest, AgainstEveryCourseOfEvents) {
  const int32_t count = test::fromEnvironment("LLMMEM_OFFLOAD_PROBLEMS", 150);
  int32_t compared = 0, optimal = 0, copying = 0, tight = 0, none = 0, missed = 0;
  double largestGap = 0, boundGap = 0;
  for (uint64_t seed = 0; compared + none < count; ++seed) {
    std::mt19937_64 engine(seed);
    Problem problem = randomSingleResults(engine);
    const Plan free = planIt(problem, PolicyKind::None);
    const int64_t footprint = problem.residentBytes() + free.arena;
    if (free.peakLowerBound >= footprint)
      continue; // every budget is too small or suffices
    problem.budget =
        free.peakLowerBound + static_cast<int64_t>(engine() % (footprint - free.peakLowerBound));
    Result<Problem> copied = withHostCopies(problem, 5 + engine() % 8,
                                            {perNanosecond / 2 * int64_t(1 + engine() % 6),
                                             perNanosecond / 2 * int64_t(1 + engine() % 6)});
    if (!copied)
      continue; // the host is too small
    const std::string where = "seed " + std::to_string(seed);
    test::CopyOracle oracle(*copied);
    const std::optional<int64_t> least = oracle.leastTime();
    ASSERT_FALSE(oracle.gaveUp) << where;
    const Plan planned = planIt(*copied, PolicyKind::Budget, 0.02);
    expectVerifies(*copied, planned, where);
    if (!least) {
      ++none;
      EXPECT_NE(planned.status, Status::Feasible) << where;
      continue;
    }
    ++compared;
    EXPECT_NE(planned.status, Status::Infeasible) << where;
    EXPECT_LE(planned.time->lowerBound, *least) << where;
    if (planned.status != Status::Feasible) {
      ++missed;
      continue;
    }
    EXPECT_GE(planned.time->time, *least) << where;
    optimal += planned.time->time == *least;
    copying += !planned.copies.empty();
    tight += planned.time->lowerBound == *least;
    largestGap = std::max(largestGap, double(planned.time->time) / double(*least) - 1);
    boundGap = std::max(boundGap, 1 - double(planned.time->lowerBound) / double(*least));
  }
  std::printf(
      "%d of %d optimal, largest gap %.1f %%, %d with copies, %d missed; bound tight in %d, "
      "largest gap %.1f %%; %d without a plan\n",
      optimal, compared, 100 * largestGap, copying, missed, tight, 100 * boundGap, none);
  EXPECT_GE(optimal * 100, compared * 95);
  EXPECT_GE(copying * 100, compared * 10);
}

// In-place pairs, several results, alignments, kept values: what the oracle leaves out.
TEST(OffloadTest, EveryPlanVerifies) {
  int32_t copying = 0, feasible = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Problem problem = randomProblem(seed, seed % 2 ? 10 : 28);
    const Plan free = planIt(problem, PolicyKind::None);
    const int64_t footprint = problem.residentBytes() + free.arena;
    problem.budget = (free.peakLowerBound + footprint) / 2;
    const Result<Problem> copied = withHostCopies(problem, 40, {perNanosecond, 3 * perNanosecond});
    if (!copied)
      continue;
    for (PolicyKind kind : {PolicyKind::Budget, PolicyKind::LeastPeak, PolicyKind::None}) {
      const Plan planned = planIt(*copied, kind, 0.02);
      Policy policy;
      policy.kind = kind;
      const std::string where = "seed " + std::to_string(seed) + ", policy " + nameOf(policy);
      expectVerifies(*copied, planned, where);
      copying += !planned.copies.empty();
      feasible += planned.status == Status::Feasible;
    }
    const Plan alone = planIt(problem, PolicyKind::Budget, 0.02);
    const Plan both = planIt(*copied, PolicyKind::Budget, 0.02);
    if (alone.status == Status::Feasible)
      EXPECT_LE(both.time->time, alone.cost) << seed;
  }
  EXPECT_GT(feasible, 90);
  EXPECT_GT(copying, 20);
}

/// Both are at least as good as either, at three speeds of the link.
TEST(OffloadTest, BothAreAtLeastAsGoodAsEither) {
  Problem problem = test::makeTransformer({.blocks = 4, .labels = true});
  const Plan free = planIt(problem, PolicyKind::None);
  const int64_t resident = problem.residentBytes();
  for (int64_t percent : {70, 40}) {
    problem.budget = resident + free.arena / 100 * percent;
    const Plan alone = planIt(problem);
    ASSERT_EQ(alone.status, Status::Feasible);
    int64_t before = alone.cost;
    for (int64_t rate : {5, 25, 100}) {
      const Result<Problem> copied =
          withHostCopies(problem, int64_t(1) << 40, {rate * perNanosecond, rate * perNanosecond});
      ASSERT_TRUE(copied) << copied.error();
      const Plan both = planIt(*copied), copies = planIt(*copied, PolicyKind::None);
      const std::string where = std::to_string(percent) + " %, " + std::to_string(rate) + " GB/s";
      expectVerifies(*copied, both, where);
      expectVerifies(*copied, copies, where + ", copies alone");
      ASSERT_EQ(both.status, Status::Feasible) << where;
      EXPECT_LE(both.time->time, before) << where;
      if (copies.status == Status::Feasible)
        EXPECT_LE(both.time->time, copies.time->time) << where;
      EXPECT_LE(both.time->lowerBound, both.time->time) << where;
      before = both.time->time;
    }
    EXPECT_LT(before, alone.cost); // a fast link is worth something
  }
}

// Twelve equal layers of which each keeps 114 units, in 428: recomputation alone cannot do with
// less than 45,000, by rotor's recurrence, and 36,000 is everything once. With copies, at a
// quarter, a half or a whole layer in the time of a layer's forward (1,000), the overhead falls, at
// last to 0.
TEST(OffloadTest, ChainsBeatTheBestRecomputation) {
  const test::RotorChain chain = test::gpt3Chain(/*canDropAttention=*/false);
  constexpr int64_t capacity = 428 * test::rotorUnit, layer = 114 * test::rotorUnit;
  const std::optional<int64_t> best = test::rotorCost(chain, capacity);
  ASSERT_EQ(best, 45000);
  Problem problem = test::makeRotorProblem(chain);
  problem.budget = problem.residentBytes() + capacity;
  for (auto [perForward, most] : {std::pair(int64_t(4), int64_t(43000)), {2, 40000}, {1, 36000}}) {
    const int64_t rate = layer * 1'000'000 / perForward; // bytes per second
    const Result<Problem> copied = withHostCopies(problem, 12 * layer, {rate, rate});
    ASSERT_TRUE(copied) << copied.error();
    const Plan planned = planIt(*copied);
    expectVerifies(*copied, planned, "chain");
    ASSERT_EQ(planned.status, Status::Feasible);
    EXPECT_LE(planned.time->time, most) << perForward;
  }
}

TEST(OffloadTest, TheLeastFootprintIsNoMoreThanWithoutAHost) {
  Problem problem = test::makeTransformer({.blocks = 2, .labels = true});
  const Plan alone = planIt(problem, PolicyKind::LeastPeak);
  const Result<Problem> copied =
      withHostCopies(problem, int64_t(1) << 40, {25 * perNanosecond, 25 * perNanosecond});
  ASSERT_TRUE(copied);
  const Plan least = planIt(*copied, PolicyKind::LeastPeak);
  expectVerifies(*copied, least, "least footprint");
  ASSERT_EQ(least.status, Status::Feasible);
  EXPECT_LE(least.arena, alone.arena);
  EXPECT_LE(least.peakLowerBound, least.peak);
}

// Where every value is read by the next op, a host changes nothing.
TEST(OffloadTest, NothingMayLeave) {
  ProblemBuilder builder;
  const ValueIndex x = builder.value(8), y = builder.value(8);
  builder.op({}, {x}, 10);
  builder.op({x}, {y}, 10);
  builder.problem.keep = {y};
  builder.problem.budget = 16;
  const Result<Problem> copied =
      withHostCopies(builder.problem, 64, {perNanosecond, perNanosecond});
  ASSERT_TRUE(copied);
  EXPECT_EQ(copied->ops.size(), 2u);
  const Plan planned = planIt(*copied);
  expectVerifies(*copied, planned, "nothing leaves");
  EXPECT_EQ(planned.status, Status::Feasible);
  EXPECT_EQ(planned.time->time, 20);
}

// z needs x and y on the device, wherever other values are.
TEST(OffloadTest, NoHostMakesAnOpSmaller) {
  Problem problem = fourOps();
  problem.budget = 16; // back holds 17
  const Result<Problem> copied = withHostCopies(problem, 64, {perNanosecond, perNanosecond});
  ASSERT_TRUE(copied);
  const Plan planned = planIt(*copied);
  expectVerifies(*copied, planned, "too small");
  EXPECT_EQ(planned.status, Status::Infeasible);
  EXPECT_EQ(planned.peakLowerBound, 17);
  EXPECT_TRUE(planned.witness->proved);
}

} // namespace
