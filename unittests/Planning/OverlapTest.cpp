//===- OverlapTest.cpp - Plans in which the link overlaps with compute ------------===//

#include "Overlap/OverlapOrder.h"
#include "Overlap/Timeline.h"
#include "ProblemBuilder.h"
#include "RandomProblem.h"
#include "llmmem/Planning/Model/Schedule.h"
#include "llmmem/Planning/Model/Verify.h"
#include "llmmem/Planning/Planner.h"
#include "gtest/gtest.h"

using namespace llmmem::planning;
using test::ProblemBuilder;

namespace {

Problem randomOverlap(uint64_t seed, int ops) {
  Problem problem = randomProblem(seed, ops);
  for (size_t op = 0; op < problem.ops.size(); ++op)
    problem.ops[op].resource =
        op > 0 && (seed + op * op) % 3 == 0 ? Resource::Link : Resource::Compute;
  problem.ops.back().resource = Resource::Link;
  return problem;
}

void expectVerifies(const Problem &problem, const Plan &plan, const std::string &where) {
  for (const Violation &violation : verify(problem, plan))
    ADD_FAILURE() << where << ", step " << violation.step << ", " << violation.rule << ": "
                  << violation.message;
}

/// Parameters in parts, each gathered for its block (`gather` on the link), and again for the
/// backward; gradients are scattered back. All costs of compute are 10, of the link `linkCost`.
Problem gatheredBlocks(int blocks, int64_t linkCost) {
  ProblemBuilder builder;
  auto link = [&](std::vector<ValueIndex> reads, std::vector<ValueIndex> writes) {
    builder.op(std::move(reads), std::move(writes), linkCost);
    builder.problem.ops.back().resource = Resource::Link;
  };
  std::vector<ValueIndex> weights, inputs;
  ValueIndex x = builder.value(100, /*resident=*/true);
  for (int block = 0; block < blocks; ++block) {
    ValueIndex weight = builder.value(300), y = builder.value(100);
    link({builder.value(100, true)}, {weight});
    builder.op({x, weight}, {y}, 10);
    weights.push_back(weight);
    inputs.push_back(x);
    x = y;
  }
  for (int block = blocks; block-- > 0;) {
    ValueIndex gradient = builder.value(300), sum = builder.value(100), y = builder.value(100);
    builder.op({x, inputs[block]}, {gradient}, 10);
    link({gradient}, {sum});
    builder.op({x, weights[block]}, {y}, 10);
    builder.problem.keep.push_back(sum);
    x = y;
  }
  builder.problem.keep.push_back(x);
  return builder.problem;
}

int64_t footprintOf(const Problem &problem, const Plan &plan) {
  return problem.residentBytes() + plan.arena;
}

} // namespace

TEST(OverlapTest, WindowsHideTheLink) {
  ProblemBuilder builder;
  ValueIndex last = builder.value(1, true);
  for (int i = 0; i < 2; ++i) {
    ValueIndex gathered = builder.value(1), y = builder.value(1);
    builder.op({}, {gathered}, 10);
    builder.problem.ops.back().resource = Resource::Link;
    builder.op({last, gathered}, {y}, 10);
    last = y;
  }
  Graph graph(builder.problem);
  const std::vector<OpIndex> order = givenOrder(graph);
  EXPECT_EQ(timeWithoutSharing(builder.problem, order), 30);
  // As the program has it, the second gather starts when the first has ended; nothing has to move.
  EXPECT_EQ(overlap(graph, order, {0, INT64_MAX}).time, 30);
  EXPECT_EQ(overlap(graph, order, {10, INT64_MAX}).time, 30);
}

// What only orders has no time: a transfer that follows a matmul of 10 overlaps with it, and so
// does the matmul after the transfer. Where the token is one of time, both wait.
TEST(OverlapTest, OrderAloneHasNoTime) {
  for (bool orderOnly : {true, false}) {
    ProblemBuilder builder;
    ValueIndex first = builder.value(0), second = builder.value(0), received = builder.value(1);
    builder.op({}, {first}, 10);
    builder.op({first}, {received, second}, 4);
    builder.problem.ops.back().resource = Resource::Link;
    builder.op({second}, {}, 10);
    builder.op({received}, {}, 10);
    for (ValueIndex token : {first, second})
      builder.problem.values[token].orderOnly = orderOnly;
    const Graph graph(builder.problem);
    const std::vector<OpIndex> order = givenOrder(graph);
    EXPECT_EQ(timeWithoutSharing(builder.problem, order), orderOnly ? 30 : 34);
    const OverlappedOrder found = overlap(graph, order, {10, INT64_MAX});
    EXPECT_EQ(found.time, orderOnly ? 30 : 34);
    // In the order nothing passes the other.
    EXPECT_LT(llvm::find(found.steps, 0), llvm::find(found.steps, 1));
    EXPECT_LT(llvm::find(found.steps, 1), llvm::find(found.steps, 2));
    PlanOptions options;
    options.policy.kind = PolicyKind::None;
    const Plan made = plan(builder.problem, options);
    expectVerifies(builder.problem, made, "order alone");
    EXPECT_EQ(made.time->time, orderOnly ? 30 : 34);
    EXPECT_EQ(made.time->lowerBound, 30); // what computes; the chain with the link has 24
    // The JSON says so, too.
    auto again = parseProblem(toJson(builder.problem));
    ASSERT_TRUE(again);
    EXPECT_EQ(again->values[first].orderOnly, orderOnly);
  }
}

TEST(OverlapTest, EveryPlanVerifies) {
  int overlapped = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Problem problem = randomOverlap(seed, seed % 2 ? 12 : 26);
    for (PolicyKind kind : {PolicyKind::Budget, PolicyKind::LeastPeak, PolicyKind::None}) {
      problem.budget.reset();
      PlanOptions options;
      options.policy.kind = kind;
      options.workSeconds = 0.02;
      Plan free = plan(problem, options);
      ASSERT_EQ(free.status, Status::Feasible) << seed;
      expectVerifies(problem, free, "seed " + std::to_string(seed));
      overlapped += free.time->time < free.cost;
      problem.budget = footprintOf(problem, free) - 1;
      expectVerifies(problem, plan(problem, options),
                     "tight, seed " + std::to_string(seed) + ", policy " + nameOf(options.policy));
    }
  }
  EXPECT_GT(overlapped, 60);
}

/// All schedules of four ops with up to two repeats.
class EverySchedule {
public:
  EverySchedule(const Problem &problem, int64_t budget)
      : problem(problem), graph(problem), budget(budget) {}
  /// The least time without shared bytes; nothing where none fits.
  std::optional<int64_t> leastTime() {
    extend();
    return least;
  }

private:
  bool mayRun(OpIndex op) const {
    for (ValueIndex value : problem.ops[op].reads)
      if (graph.writer(value) >= 0 && !llvm::is_contained(steps, graph.writer(value)))
        return false;
    return problem.ops[op].recompute || !llvm::is_contained(steps, op);
  }
  bool isWhole() const {
    for (OpIndex op = 0; op < graph.numOps(); ++op)
      if (!llvm::is_contained(steps, op))
        return false;
    return true;
  }
  void extend() {
    if (isWhole()) {
      int64_t time = timeWithoutSharing(problem, steps);
      if (time < least.value_or(INT64_MAX) && profile(graph, steps).peak <= budget)
        least = time;
    }
    if (steps.size() == problem.ops.size() + 2)
      return;
    for (OpIndex op = 0; op < graph.numOps(); ++op)
      if (mayRun(op)) {
        steps.push_back(op);
        extend();
        steps.pop_back();
      }
  }

  const Problem &problem;
  Graph graph;
  const int64_t budget;
  std::vector<OpIndex> steps;
  std::optional<int64_t> least;
};

TEST(OverlapTest, BoundsHoldForEverySchedule) {
  int compared = 0, optimal = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Problem problem = randomOverlap(seed, 4);
    problem.alignment = 1;
    PlanOptions options;
    options.workSeconds = 0.02;
    options.policy.kind = PolicyKind::LeastPeak;
    const int64_t least = footprintOf(problem, plan(problem, options));
    options.policy.kind = PolicyKind::Budget;
    for (int64_t budget : {least, least + 4, least + 1000}) {
      problem.budget = budget;
      Plan made = plan(problem, options);
      std::optional<int64_t> time = EverySchedule(problem, budget).leastTime();
      if (made.status != Status::Feasible || !time)
        continue;
      ++compared;
      EXPECT_LE(made.time->lowerBound, *time) << seed << ", budget " << budget;
      EXPECT_GE(made.time->time, *time) << seed << ", budget " << budget;
      optimal += made.time->time == *time;
    }
  }
  EXPECT_GT(compared, 150);
  // The least time is that of schedules whose bytes are not placed.
  EXPECT_GT(optimal, compared * 2 / 3);
}

TEST(OverlapTest, MoreBudgetNeverTakesMoreTime) {
  for (int64_t linkCost : {4, 10, 25}) {
    Problem problem = gatheredBlocks(8, linkCost);
    PlanOptions options;
    options.policy.kind = PolicyKind::LeastPeak;
    const int64_t least = footprintOf(problem, plan(problem, options));
    options.policy.kind = PolicyKind::Budget;
    const int64_t most = footprintOf(problem, plan(problem, options));
    int64_t before = INT64_MAX;
    for (int64_t budget = least; budget <= most + 200; budget += 100) {
      problem.budget = budget;
      Plan made = plan(problem, options);
      ASSERT_EQ(made.status, Status::Feasible) << budget;
      expectVerifies(problem, made, "budget " + std::to_string(budget));
      EXPECT_LE(made.time->time, before) << "budget " << budget;
      before = made.time->time;
    }
  }
}

/// 16 matmuls of 10 in forward and backward each hide gathers of 4, also those that run again to
/// save the bytes of gathered parameters.
TEST(OverlapTest, GathersThatRunAgainAreHidden) {
  Problem problem = gatheredBlocks(16, 4);
  Plan free = plan(problem, {});
  problem.budget = footprintOf(problem, free) * 3 / 4;
  Plan tight = plan(problem, {});
  ASSERT_EQ(tight.status, Status::Feasible);
  EXPECT_GT(tight.steps.size(), problem.ops.size());
  EXPECT_GT(tight.cost, free.cost);
  EXPECT_LE(tight.time->time, free.time->time * 101 / 100);
}
