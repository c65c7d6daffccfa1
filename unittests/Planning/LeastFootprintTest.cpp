//===- LeastFootprintTest.cpp - The least bytes of random steps, and their proof ---===//
//
// LLMMEM_LEAST_PROBLEMS in the environment asks for more random steps.
//
//===----------------------------------------------------------------------===//

#include "FromEnvironment.h"
#include "ProblemBuilder.h"
#include "ProofClaims.h"
#include "ShuffledProblem.h"
#include "llmmem/Planning/Model/Verify.h"
#include "llmmem/Planning/Planner.h"
#include <random>

using namespace llmmem::planning;
using test::checkOf;

namespace {

/// Forward and backward of 2 to 25 unequal blocks of odd sizes, of which some gradients are kept
/// and the others are read by an update.
class RandomStep {
public:
  explicit RandomStep(uint32_t seed) : random(seed) {
    constexpr int64_t alignments[] = {1, 1, 8, 256};
    build.problem.alignment = alignments[below(4)];
    const int64_t percentKept = below(101), percentOnce = below(3) ? 0 : 30;
    forward(2 + below(24));
    ValueIndex gradient = value();
    op({last}, {gradient}, 0);
    for (size_t block = blocks.size(); block-- > 0;)
      gradient = backward(blocks[block], gradient, percentKept, percentOnce);
    if (build.problem.keep.empty())
      build.problem.keep = {gradient};
  }
  test::ProblemBuilder build;

private:
  struct Block {
    ValueIndex input, weight, a, b;
  };
  int64_t below(int64_t count) { return static_cast<int64_t>(random() % count); }
  ValueIndex value() {
    const int64_t sizes[] = {0, 1 + below(64), 64 * (1 + below(50)), 256 * (1 + below(20))};
    return build.value(sizes[below(4)]);
  }
  void op(std::vector<ValueIndex> reads, std::vector<ValueIndex> writes, int64_t percentOnce) {
    llvm::sort(reads);
    reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
    build.op(std::move(reads), std::move(writes), below(51));
    Op &made = build.problem.ops.back();
    made.workspace = below(5) ? 0 : 64 * below(40);
    made.recompute = below(100) >= std::max<int64_t>(percentOnce, 5);
  }
  void forward(int64_t count) {
    last = build.value(1 + below(3000), /*resident=*/below(2) == 0);
    for (int64_t block = 0; block < count; ++block) {
      const Block made{last, build.value(1 + below(3000), /*resident=*/true), value(), value()};
      const ValueIndex output = value();
      op({made.input, made.weight}, {made.a}, 0);
      op({made.a}, {made.b}, 0);
      op({made.b, made.input}, {output}, 0);
      blocks.push_back(made);
      last = output;
    }
  }
  ValueIndex backward(const Block &block, ValueIndex gradient, int64_t percentKept,
                      int64_t percentOnce) {
    const ValueIndex ofB = value(), ofA = value(), ofWeight = value(), ofInput = value();
    op({gradient, block.b}, {ofB}, percentOnce);
    op({ofB, block.a}, {ofA}, percentOnce);
    op({ofA, block.input}, {ofWeight}, percentOnce);
    op({ofA, block.weight, gradient}, {ofInput}, percentOnce);
    if (below(100) < percentKept) {
      build.problem.keep.push_back(ofWeight);
    } else {
      const ValueIndex updated = build.value(0);
      op({ofWeight, block.weight}, {updated}, 100);
      build.problem.keep.push_back(updated);
    }
    return ofInput;
  }

  std::mt19937 random;
  std::vector<Block> blocks;
  ValueIndex last = -1;
};

void expectChecked(const Problem &problem, const Plan &plan, const char *claim) {
  const ClaimCheck it = checkOf(claim, problem, plan);
  EXPECT_EQ(wordOf(it.verdict), "checked") << it.message;
}

Plan leastOf(const Problem &problem) {
  PlanOptions options;
  options.policy.kind = PolicyKind::LeastPeak;
  return plan(problem, options);
}

/// The least bytes that were found are enough, one less is not found, and what is proved of all
/// plans is less than it, checked, and infeasible where a budget is below it.
void expectMetAndProved(Problem problem, const Plan &least) {
  ASSERT_EQ(least.status, Status::Feasible);
  EXPECT_TRUE(verify(problem, least).empty());
  EXPECT_LE(least.peakLowerBound, least.peak);
  expectChecked(problem, least, "peak");
  const int64_t footprint = problem.residentBytes() + least.arena;
  for (int64_t budget : {footprint, footprint - 1, least.peakLowerBound - 1}) {
    problem.budget = std::max<int64_t>(budget, 0);
    const Plan made = plan(problem, {});
    EXPECT_EQ(made.status == Status::Feasible, budget == footprint)
        << budget << " of " << footprint;
    if (budget == footprint)
      EXPECT_LE(made.cost, least.cost);
    if (budget == least.peakLowerBound - 1) {
      EXPECT_EQ(made.status, Status::Infeasible) << budget;
      expectChecked(problem, made, "infeasible");
    }
  }
}

TEST(LeastFootprintTest, isMetAndNoLessThanIsProved) {
  const int32_t problems = test::fromEnvironment("LLMMEM_LEAST_PROBLEMS", 40);
  int byLastRuns = 0, proved = 0;
  for (int32_t seed = 0; seed < problems; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = RandomStep(seed).build.problem;
    const Plan least = leastOf(problem);
    expectMetAndProved(problem, least);
    byLastRuns += least.peakBasis.kind == BoundBasis::Kind::LastRuns;
    proved += least.peakLowerBound == least.peak;
  }
  EXPECT_GT(byLastRuns, problems / 4);
  EXPECT_GT(proved, problems / 20);
}

/// Equal blocks without labels are planned and proved in numbers of their own, which the plan and
/// its proof do not have. With 24 of these blocks the least bytes take the step twice again.
TEST(LeastFootprintTest, isMetWhereTheStepIsNumberedAnew) {
  for (bool transient : {false, true})
    for (int64_t blocks : {6, 24}) {
      SCOPED_TRACE(std::to_string(blocks) + (transient ? ", transient" : ", resident"));
      const Problem problem =
          test::shuffle(test::makeTransformer({.blocks = blocks, .transientGradients = transient}),
                        test::GivenOrder::Random, /*seed=*/7);
      expectMetAndProved(problem, leastOf(problem));
    }
}

} // namespace
