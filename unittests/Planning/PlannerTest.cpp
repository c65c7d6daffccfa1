//===- PlannerTest.cpp - Policies and budgets on training steps -----------------===//

#include "llmmem/Planning/Planner.h"
#include "ChainProblem.h"
#include "TransformerProblem.h"
#include "llmmem/Planning/Model/Verify.h"
#include "llmmem/Planning/Schedulers/Recompute.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace llmmem::planning;
using test::makeTransformer;
using test::TransformerShape;

namespace {

Plan planWith(Problem &problem, PolicyKind kind, std::optional<int64_t> budget = std::nullopt,
              int64_t every = 1) {
  problem.budget = budget;
  PlanOptions options;
  options.policy.kind = kind;
  options.policy.every = every;
  return plan(problem, options);
}

::testing::AssertionResult holds(const Problem &problem, const Plan &plan) {
  std::vector<Violation> violations = verify(problem, plan);
  if (violations.empty())
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << violations[0].rule << " at " << violations[0].step << ": " << violations[0].message;
}

double percentOfBase(const Plan &plan, int64_t cost) {
  return 100.0 * double(cost) / double(plan.baseCost);
}

TEST(PlannerTest, parsesPolicies) {
  llmmem::Result<Policy> every = parsePolicy("every=3");
  ASSERT_TRUE(bool(every));
  EXPECT_EQ(every->kind, PolicyKind::EveryK);
  EXPECT_EQ(every->every, 3);
  for (const PolicyEntry &entry : policyTable()) {
    llmmem::Result<Policy> policy =
        parsePolicy(std::string(entry.name) + (entry.takes == PolicyArgument::Number ? "=2" : ""));
    ASSERT_TRUE(bool(policy)) << entry.name;
    EXPECT_EQ(policy->kind, entry.kind);
  }
  for (const char *name : {"selective=mlp,layernorm+reshard", "full+layers=2+first=6",
                           "none+reshard", "selective+first=3", "every=4+reshard"}) {
    llmmem::Result<Policy> policy = parsePolicy(name);
    ASSERT_TRUE(bool(policy)) << name;
    EXPECT_EQ(nameOf(*policy), name);
  }
  for (const char *name : {"", "every", "every=0", "every=x", "none=1", "Full", "selective=attn",
                           "selective=mlp,", "every=2+layers=2", "budget+reshard", "full+layers"}) {
    llmmem::Result<Policy> policy = parsePolicy(name);
    EXPECT_FALSE(bool(policy)) << name;
  }
}

TEST(PlannerTest, everyPolicyVerifies) {
  for (bool labels : {true, false})
    for (bool transient : {true, false}) {
      Problem problem = makeTransformer({.blocks = 5,
                                         .tokens = 256,
                                         .hidden = 256,
                                         .feedForward = 512,
                                         .heads = 4,
                                         .vocabulary = 1000,
                                         .transientGradients = transient,
                                         .labels = labels});
      for (const PolicyEntry &entry : policyTable()) {
        Plan made = planWith(problem, entry.kind, std::nullopt, 2);
        EXPECT_EQ(made.status, Status::Feasible);
        EXPECT_TRUE(holds(problem, made)) << entry.name;
      }
    }
}

TEST(PlannerTest, keepingEverythingRepeatsNothing) {
  Problem problem = makeTransformer({.blocks = 3, .tokens = 128, .hidden = 128});
  Plan made = planWith(problem, PolicyKind::None);
  EXPECT_EQ(made.steps.size(), problem.ops.size());
  EXPECT_EQ(made.cost, made.baseCost);
}

/// The recomputation of a block comes after the backward of the block that follows it, never in the
/// forward.
TEST(PlannerTest, recomputesJustInTime) {
  Problem problem = makeTransformer({.blocks = 4, .tokens = 128, .hidden = 128, .labels = true});
  Plan made = planWith(problem, PolicyKind::Full);
  std::vector<bool> seen(problem.ops.size(), false);
  int64_t backwardBlock = 4;
  for (OpIndex index : made.steps) {
    const Op &op = problem.ops[index];
    if (op.phase == Phase::Backward && op.block)
      backwardBlock = *op.block;
    if (seen[index] && op.block) {
      EXPECT_GE(*op.block, backwardBlock - 1);
      EXPECT_LE(*op.block, backwardBlock);
    }
    seen[index] = true;
  }
}

TEST(PlannerTest, selectedResultsAreRecomputed) {
  Problem problem = makeTransformer({.blocks = 3,
                                     .tokens = 512,
                                     .hidden = 128,
                                     .heads = 4,
                                     .fusedAttention = false,
                                     .labels = true});
  PlanOptions options;
  options.policy.kind = PolicyKind::Selective;
  for (OpIndex op = 0; op < OpIndex(problem.ops.size()); ++op)
    if (problem.ops[op].name == "scores" || problem.ops[op].name == "softmax")
      options.policy.selected.push_back(op);
  Plan selective = plan(problem, options);
  EXPECT_TRUE(holds(problem, selective));
  EXPECT_EQ(selective.steps.size(), problem.ops.size() + 6);
  EXPECT_LT(selective.peak, planWith(problem, PolicyKind::None).peak);
}

/// Chen et al.: with segments of sqrt(L) blocks what is held grows as the square root of the depth.
TEST(PlannerTest, sqrtHoldsTheRootOfTheDepth) {
  std::vector<double> x, y;
  for (int64_t blocks : {16, 25, 36, 64, 100, 144, 256}) {
    // Everything that one block saves weighs as much as a block's input would: the policy's own
    // model.
    Problem problem;
    auto value = [&](int64_t bytes) {
      problem.values.push_back({int64_t(problem.values.size()), bytes, false, ""});
      return ValueIndex(problem.values.size()) - 1;
    };
    auto op = [&](std::vector<ValueIndex> reads, std::vector<ValueIndex> writes, Phase phase,
                  int64_t block) {
      Op result;
      result.id = int64_t(problem.ops.size());
      result.cost = 1;
      result.reads = std::move(reads);
      result.writes = std::move(writes);
      result.phase = phase;
      result.block = block;
      problem.ops.push_back(result);
    };
    std::vector<ValueIndex> input{value(1)};
    for (int64_t block = 0; block < blocks; ++block) {
      input.push_back(value(1000));
      op({input[block]}, {input.back()}, Phase::Forward, block);
    }
    ValueIndex gradient = input.back();
    for (int64_t block = blocks - 1; block >= 0; --block) {
      ValueIndex next = value(1);
      op({gradient, input[block]}, {next}, Phase::Backward, block);
      gradient = next;
    }
    problem.keep.push_back(gradient);
    Plan made = planWith(problem, PolicyKind::Sqrt);
    EXPECT_TRUE(holds(problem, made));
    x.push_back(std::log(double(blocks)));
    y.push_back(std::log(double(made.peak)));
  }
  double n = double(x.size()), sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (size_t i = 0; i < x.size(); ++i)
    sx += x[i], sy += y[i], sxx += x[i] * x[i], sxy += x[i] * y[i];
  EXPECT_NEAR((n * sxy - sx * sy) / (n * sxx - sx * sx), 0.5, 0.05);
}

struct Range {
  int64_t full, none;
  int64_t at(double fraction) const { return full + int64_t(fraction * double(none - full)); }
};

Range rangeOf(Problem &problem) {
  return {planWith(problem, PolicyKind::Full).peak, planWith(problem, PolicyKind::None).peak};
}

void expectHalfAPercent(const TransformerShape &shape, llvm::ArrayRef<double> fractions) {
  Problem problem = makeTransformer(shape);
  Range range = rangeOf(problem);
  int64_t last = INT64_MAX;
  for (double fraction : fractions) {
    SCOPED_TRACE(std::to_string(shape.blocks) + " blocks at " + std::to_string(fraction));
    Plan made = planWith(problem, PolicyKind::Budget, range.at(fraction));
    ASSERT_EQ(made.status, Status::Feasible);
    EXPECT_TRUE(holds(problem, made));
    double gap = percentOfBase(made, made.cost - made.costLowerBound);
    EXPECT_GE(gap, 0);
    EXPECT_LE(gap, fraction < 0.25 ? 2.0 : 0.5);
    EXPECT_LE(made.cost, last) << "more budget must never cost more";
    last = made.cost;
  }
}

TEST(PlannerTest, isWithinHalfAPercentOfTheBound) {
  for (int64_t blocks : {12, 32})
    for (bool fused : {true, false})
      expectHalfAPercent({.blocks = blocks, .tokens = fused ? 8192 : 2048, .fusedAttention = fused},
                         {0.0, 0.1, 0.2, 0.25, 0.35, 0.5, 0.6, 0.75, 0.9, 0.97});
}

/// Few blocks are the hardest: the values of one of them are a large share of the step.
TEST(PlannerTest, isWithinHalfAPercentWhereGradientsEnd) {
  for (bool fused : {true, false})
    expectHalfAPercent(
        {.tokens = fused ? 8192 : 2048, .fusedAttention = fused, .transientGradients = true},
        {0.0, 0.1, 0.25, 0.5, 0.75});
}

/// The gradient of a large vocabulary's head is as large as the saved values of many blocks, and
/// only its update reads it: it is not computed at the loss, where the most bytes are held.
TEST(PlannerTest, defersTheHeadsGradient) {
  Problem problem = makeTransformer({.blocks = 48,
                                     .tokens = 2048,
                                     .hidden = 8192,
                                     .feedForward = 28672,
                                     .heads = 64,
                                     .vocabulary = 128256,
                                     .fusedAttention = false,
                                     .transientGradients = true});
  Range range = rangeOf(problem);
  for (double fraction : {0.0, 0.25, 0.5}) {
    Plan made = planWith(problem, PolicyKind::Budget, range.at(fraction));
    ASSERT_EQ(made.status, Status::Feasible);
    EXPECT_TRUE(holds(problem, made));
    EXPECT_LE(percentOfBase(made, made.cost - made.costLowerBound), fraction < 0.25 ? 2.0 : 0.5)
        << "at " << fraction;
  }
}

TEST(PlannerTest, nestsBelowBlockInputs) {
  Problem problem = makeTransformer({.blocks = 48});
  Range range = rangeOf(problem);
  Plan made = planWith(problem, PolicyKind::Budget, range.at(-0.04));
  ASSERT_EQ(made.status, Status::Feasible);
  EXPECT_TRUE(holds(problem, made));
}

/// At the least memory a block's input is rebuilt through all blocks before it.
TEST(PlannerTest, leastMemoryDoesNotGrowWithDepth) {
  Problem shallow = makeTransformer({.blocks = 4});
  Plan few = planWith(shallow, PolicyKind::LeastPeak);
  for (int64_t blocks : {8, 12}) {
    Problem deep = makeTransformer({.blocks = blocks});
    Plan many = planWith(deep, PolicyKind::LeastPeak);
    EXPECT_TRUE(holds(deep, many));
    EXPECT_LE(many.arena, few.arena) << blocks << " blocks";
  }
}

TEST(PlannerTest, saysInfeasibleOnlyWithAProof) {
  Problem problem = makeTransformer({.blocks = 4});
  Plan least = planWith(problem, PolicyKind::LeastPeak);
  for (double fraction : {0.0, 0.3, 0.6, 0.9, 0.99}) {
    int64_t budget = int64_t(fraction * double(least.peak));
    Plan made = planWith(problem, PolicyKind::Budget, budget);
    if (made.status == Status::Feasible)
      continue; // the search under a budget may beat the one for the least peak
    ASSERT_TRUE(made.witness.has_value());
    EXPECT_TRUE(made.steps.empty());
    EXPECT_EQ(made.witness->proved, made.status == Status::Infeasible);
    EXPECT_EQ(made.status == Status::Infeasible, made.peakLowerBound > budget);
  }
}

/// Rounded sizes are what an arena holds where the alignment divides them, so nothing is left for
/// the padding of the topmost buffer.
TEST(PlannerTest, oneByteUnderAProvedLeastFootprintIsInfeasible) {
  for (int64_t blocks : {5, 40}) {
    Problem problem = test::makeSavingChain(blocks, 512);
    problem.alignment = 256;
    const Plan least = planWith(problem, PolicyKind::LeastPeak);
    EXPECT_EQ(planWith(problem, PolicyKind::Budget, least.arena).status, Status::Feasible);
    EXPECT_EQ(planWith(problem, PolicyKind::Budget, least.arena - 1).status, Status::Infeasible);
  }
}

/// Without labels the loss is one position of many that look alike.
TEST(PlannerTest, aChainOfEqualOpsCostsNoMoreWithoutLabels) {
  constexpr int64_t length = 300;
  Problem problem = test::makeSavingChain(length, 100), labelled = problem;
  for (int64_t op = 0; op < static_cast<int64_t>(labelled.ops.size()); ++op) {
    labelled.ops[op].phase = op < length ? Phase::Forward : Phase::Backward;
    labelled.ops[op].block = op < length ? op : 2 * length - std::max(op, length + 1);
  }
  for (int64_t budget : {2000, 2500, 5000}) {
    const Plan found = planWith(problem, PolicyKind::Budget, budget);
    EXPECT_TRUE(holds(problem, found));
    EXPECT_EQ(found.cost, planWith(labelled, PolicyKind::Budget, budget).cost) << budget;
  }
}

TEST(PlannerTest, equalProblemsGiveEqualPlans) {
  Problem problem = makeTransformer({.blocks = 12});
  Range range = rangeOf(problem);
  Plan one = planWith(problem, PolicyKind::Budget, range.at(0.3));
  Plan two = planWith(problem, PolicyKind::Budget, range.at(0.3));
  EXPECT_EQ(one.steps, two.steps);
  EXPECT_EQ(one.arena, two.arena);
}

TEST(PlannerTest, givesTheSamePlanWithoutAProofOfItsCost) {
  Problem problem = makeTransformer({.blocks = 12});
  problem.budget = rangeOf(problem).at(0.3);
  PlanOptions options;
  Plan proved = plan(problem, options);
  options.provesCost = false;
  Plan unproved = plan(problem, options);
  EXPECT_EQ(unproved.steps, proved.steps);
  EXPECT_EQ(unproved.costLowerBound, unproved.baseCost);
  EXPECT_GT(proved.costLowerBound, proved.baseCost);
  EXPECT_TRUE(holds(problem, unproved));
}

/// The progress callback receives each activity that may take long.
TEST(PlannerTest, reportsProgress) {
  Problem problem = makeTransformer({.blocks = 12});
  problem.budget = rangeOf(problem).at(0.3);
  std::string reported;
  PlanOptions options;
  options.progress = [&](std::string_view activity) { (reported += activity) += "\n"; };
  plan(problem, options);
  for (const char *activity : {"a plan for ", "an order that holds less", "schedules within ",
                               "eviction under ", "offsets for ", "the certificate"})
    EXPECT_NE(reported.find(activity), std::string::npos) << activity << " in\n" << reported;
}

TEST(PlannerTest, findsUnlabelledBlocks) {
  for (bool fused : {true, false}) {
    Problem problem = makeTransformer({.blocks = 9, .fusedAttention = fused});
    Graph graph(problem);
    Chain chain = findChain(graph, givenOrder(graph));
    EXPECT_EQ(chain.numBlocks(), 9);
  }
}

TEST(PlannerTest, emptyAndTinyProblems) {
  Problem problem;
  EXPECT_EQ(planWith(problem, PolicyKind::Budget).status, Status::Feasible);
  EXPECT_EQ(planWith(problem, PolicyKind::Budget, 0).status, Status::Feasible);
  problem.values.push_back({0, 8, false, "x"});
  problem.ops.push_back({});
  problem.ops[0].writes = {0};
  problem.keep = {0};
  for (PolicyKind kind : {PolicyKind::None, PolicyKind::Full, PolicyKind::Sqrt, PolicyKind::Budget,
                          PolicyKind::LeastPeak})
    EXPECT_TRUE(holds(problem, planWith(problem, kind)));
  EXPECT_EQ(planWith(problem, PolicyKind::Budget, 7).status, Status::Infeasible);
  EXPECT_EQ(planWith(problem, PolicyKind::Budget, 8).status, Status::Feasible);
}

} // namespace
