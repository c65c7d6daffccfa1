//===- MicroBatchTest.cpp - Plans of steps with micro-batches ----------------------===//
//
// Stages of a pipeline as problems: forwards and backwards of micro-batches with an exchange before
// each, which nothing passes.
//
//===----------------------------------------------------------------------===//

#include "MicroBatches/MicroBatches.h"
#include "ProblemBuilder.h"
#include "StageProblem.h"
#include "llmmem/Planning/Bounds/Prove.h"
#include "llmmem/Planning/Model/Schedule.h"
#include "llmmem/Planning/Model/Verify.h"
#include "llmmem/Planning/Planner.h"
#include "llmmem/Planning/Proofs/Check.h"
#include "gtest/gtest.h"

using namespace llmmem::planning;

namespace {

constexpr int64_t blocks = 4, size = 8, cost = 10;

/// A stage that runs `inFlight` forwards, then a backward and a forward in turn. Each of the 4
/// forward ops of a micro-batch makes 8 bytes, which one backward op reads, from what is received,
/// which has none.
class Stage {
public:
  Stage(int64_t microBatches, int64_t inFlight) {
    received.resize(microBatches);
    saved.resize(microBatches);
    for (int64_t number = 0; number < microBatches + inFlight; ++number) {
      if (number >= inFlight)
        addBackward(number - inFlight);
      if (number < microBatches)
        addForward(number);
    }
    addExchange(-1);
  }

  Problem problem() const { return builder.problem; }

private:
  ValueIndex token() { return builder.value(0); }

  void addExchange(int64_t receives) {
    std::vector<ValueIndex> writes{token()};
    last = writes.front();
    if (receives >= 0)
      writes.push_back(received[receives] = token());
    builder.op(std::move(since), std::move(writes), 0);
    builder.problem.ops.back().recompute = false;
    since.clear();
  }

  void addOp(int64_t number, Phase phase, int64_t block, std::vector<ValueIndex> reads,
             std::vector<ValueIndex> writes) {
    reads.push_back(last);
    writes.push_back(since.emplace_back(token()));
    builder.op(std::move(reads), std::move(writes), cost);
    Op &op = builder.problem.ops.back();
    op.phase = phase;
    op.block = block;
    op.microBatch = number;
  }

  void addForward(int64_t number) {
    addExchange(number);
    for (int64_t block = 0; block < blocks; ++block) {
      saved[number].push_back(builder.value(size));
      addOp(number, Phase::Forward, block, {received[number]}, {saved[number].back()});
    }
  }

  void addBackward(int64_t number) {
    addExchange(-1);
    for (int64_t block = blocks; block-- > 0;)
      addOp(number, Phase::Backward, block, {saved[number][block]}, {});
  }

  test::ProblemBuilder builder;
  std::vector<ValueIndex> received, since;
  std::vector<std::vector<ValueIndex>> saved;
  ValueIndex last = -1;
};

Problem makeStage(int64_t microBatches, int64_t inFlight,
                  std::optional<int64_t> budget = std::nullopt) {
  Problem problem = Stage(microBatches, inFlight).problem();
  problem.budget = budget;
  return problem;
}

TEST(MicroBatchTest, findsThemAndTheirTasks) {
  const Problem problem = makeStage(6, 2);
  const Graph graph(problem);
  std::optional<MicroBatches> found = findMicroBatches(graph);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->count(), 6);
  EXPECT_EQ(found->mostInFlight, 2);
  EXPECT_EQ(found->tasks, (std::vector<int32_t>{0, 4, 8}));
}

TEST(MicroBatchTest, takesOnlyThoseThatAreAlike) {
  for (auto change : {+[](Op &op) { ++op.cost; }, +[](Op &op) { op.recompute = false; },
                      +[](Op &op) { op.microBatch = 0; }, +[](Op &op) { op.block = 7; }}) {
    Problem problem = makeStage(3, 2);
    for (Op &op : problem.ops)
      if (op.microBatch == 2 && op.block == 1 && op.phase == Phase::Forward)
        change(op);
    EXPECT_FALSE(findMicroBatches(Graph(problem)));
  }
  Problem one = makeStage(1, 1);
  EXPECT_FALSE(findMicroBatches(Graph(one)));
}

/// The schedule of one with its first forward op again gives that of all, each in its own task.
TEST(MicroBatchTest, writesAScheduleOutForAll) {
  const Problem problem = makeStage(3, 2);
  const Graph graph(problem);
  const MicroBatches found = *findMicroBatches(graph);
  const MicroBatchProblem one(graph, found);
  EXPECT_FALSE(validateProblem(one.problem()));
  const Graph graphOfOne(one.problem());
  ASSERT_EQ(graphOfOne.numOps(), 11); // 4 + 4 ops, and those before, between and after them
  std::vector<OpIndex> given = givenOrder(graphOfOne), repeating = given;
  repeating.insert(repeating.end() - 2, 1);
  EXPECT_EQ(one.forAll({llvm::ArrayRef(given)}), givenOrder(graph));
  const std::vector<OpIndex> all = one.forAll({llvm::ArrayRef(repeating), llvm::ArrayRef(given)});
  // The first and the third repeat, just before their last op.
  std::vector<OpIndex> expected = givenOrder(graph);
  for (int32_t number : {0, 2}) {
    auto end = llvm::find(expected, found.ops[number].back());
    expected.insert(end, found.ops[number].front());
  }
  EXPECT_EQ(all, expected);
}

/// Of two in flight 6 of 8 values fit: each pair of micro-batches makes two again. The plan
/// alternates, and a bound from one program point of each pair proves that it is best.
TEST(MicroBatchTest, provesWhatEveryRoundMustRepeat) {
  const Problem problem = makeStage(8, 2, /*budget=*/48);
  PlanOptions options;
  options.policy.kind = PolicyKind::Budget;
  const Plan made = plan(problem, options);
  ASSERT_EQ(made.status, Status::Feasible);
  EXPECT_EQ(made.cost - made.baseCost, 4 * 2 * cost);
  EXPECT_EQ(made.costLowerBound, made.cost);
  for (const ClaimCheck &it : checkProof(problem, made, prove(problem, made)))
    EXPECT_EQ(it.verdict, Verdict::Checked) << it.claim << ": " << it.message;
}

/// Down to the least footprint, costs never fall where the budget does, and all plans verify.
TEST(MicroBatchTest, plansEveryBudget) {
  PlanOptions options;
  options.policy.kind = PolicyKind::Budget;
  int64_t last = 0;
  for (int64_t budget = 96; budget >= 24; budget -= 8) {
    const Problem problem = makeStage(9, 3, budget);
    const Plan made = plan(problem, options);
    ASSERT_EQ(made.status, Status::Feasible) << budget;
    EXPECT_GE(made.cost, last) << budget;
    EXPECT_LE(made.costLowerBound, made.cost) << budget;
    EXPECT_TRUE(verify(problem, made).empty()) << budget;
    last = made.cost;
  }
}

/// Under a fixed policy each micro-batch runs as a step by itself would: what is between the ops of
/// a block is made again in every backward, that of the last block, too, and nothing for a send.
TEST(MicroBatchTest, fixedPoliciesAreOfEachMicroBatch) {
  constexpr int64_t microBatches = 6;
  const Problem problem = test::makeChainedStage({.microBatches = microBatches,
                                                  .inFlight = 3,
                                                  .blocks = blocks,
                                                  .outer = size,
                                                  .inner = size,
                                                  .cost = cost});
  auto planBy = [&](PolicyKind kind, int64_t every = 1) {
    PlanOptions options;
    options.policy.kind = kind;
    options.policy.every = every;
    for (OpIndex op = 0; op < static_cast<OpIndex>(problem.ops.size()); ++op)
      if (problem.ops[op].phase == Phase::Forward && op % 2 == 1) // the first of each block
        options.policy.selected.push_back(op);
    const Plan made = plan(problem, options);
    EXPECT_EQ(made.status, Status::Feasible);
    EXPECT_TRUE(verify(problem, made).empty());
    return made;
  };
  const Plan none = planBy(PolicyKind::None), full = planBy(PolicyKind::Full);
  EXPECT_EQ(none.cost, none.baseCost);
  EXPECT_EQ(full.cost, none.cost + microBatches * blocks * cost);
  EXPECT_LT(full.peak, none.peak);
  for (const Plan &other : {planBy(PolicyKind::EveryK, 2), planBy(PolicyKind::Sqrt)}) {
    EXPECT_GT(other.cost, full.cost);
    EXPECT_LT(other.peak, full.peak);
  }
}

TEST(MicroBatchTest, isInTheText) {
  const Problem problem = makeStage(2, 2);
  auto parsed = parseProblem(toJson(problem));
  ASSERT_TRUE(static_cast<bool>(parsed)) << parsed.error();
  for (size_t op = 0; op < problem.ops.size(); ++op)
    EXPECT_EQ(parsed->ops[op].microBatch, problem.ops[op].microBatch);
}

} // namespace
