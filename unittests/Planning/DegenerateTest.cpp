//===- DegenerateTest.cpp - Steps with next to nothing in them ---------------------===//
//
// Strangers hand over steps without ops, without values, with nothing to compute: a function that
// returns its argument, a backward alone. Each goes through every policy and budget and through all
// that reads a plan. What holds of any plan holds of these; nothing crashes.
//
//===----------------------------------------------------------------------===//

#include "ProblemBuilder.h"
#include "llmmem/Planning/Allocation/Placement.h"
#include "llmmem/Planning/Bounds/Prove.h"
#include "llmmem/Planning/Formats/Explain.h"
#include "llmmem/Planning/Formats/PlanTimeline.h"
#include "llmmem/Planning/Model/FoundStructure.h"
#include "llmmem/Planning/Model/Verify.h"
#include "llmmem/Planning/Offload/OffloadProblem.h"
#include "llmmem/Planning/Planner.h"
#include "llmmem/Planning/Proofs/Check.h"
#include "llmmem/Planning/Sweep/BudgetOutlook.h"
#include "llmmem/Planning/Sweep/Sweep.h"
#include "llmmem/Planning/Variants/PlanVariants.h"
#include "gtest/gtest.h"

using namespace llmmem::planning;

namespace {

struct Case {
  std::string name;
  Problem problem;
};

constexpr Phase phases[] = {Phase::None, Phase::Forward, Phase::Backward, Phase::Update};

/// Values of these bytes and no ops: resident, or inputs; the first `kept` are kept.
Case withoutOps(std::vector<int64_t> bytes, bool resident, size_t kept) {
  test::ProblemBuilder build;
  for (int64_t size : bytes)
    build.value(size, resident);
  for (size_t value = 0; value < kept; ++value)
    build.problem.keep.push_back(static_cast<ValueIndex>(value));
  return {"no ops, " + std::to_string(bytes.size()) + (resident ? " resident" : " input") +
              " values, " + std::to_string(kept) + " kept",
          build.problem};
}

/// `count` ops of one phase, each of which reads the result of the one before; all results kept.
Case ofOnePhase(int32_t count, Phase phase, int64_t bytes, bool recompute, bool writes,
                bool labelled) {
  test::ProblemBuilder build;
  std::vector<ValueIndex> last{build.value(bytes, true)};
  for (int32_t op = 0; op < count; ++op) {
    std::vector<ValueIndex> results;
    if (writes)
      results.push_back(build.value(bytes));
    build.op(last, results, 1);
    build.problem.ops.back().phase = phase;
    build.problem.ops.back().recompute = recompute;
    if (labelled)
      build.problem.ops.back().block = op;
    for (ValueIndex result : results)
      build.problem.keep.push_back(result);
    if (writes)
      last = results;
  }
  return {std::to_string(count) + " ops of phase " + std::to_string(static_cast<int>(phase)) +
              ", " + std::to_string(bytes) + " bytes" + (recompute ? "" : ", once") +
              (writes ? "" : ", nothing written") + (labelled ? ", labelled" : ""),
          build.problem};
}

/// Ops that read and write nothing at all, of several micro-batches where asked for.
Case ofEmptyOps(int32_t count, int32_t microBatches) {
  test::ProblemBuilder build;
  for (int32_t op = 0; op < count; ++op) {
    build.op({}, {}, 0);
    if (microBatches > 0)
      build.problem.ops.back().microBatch = op % microBatches;
  }
  return {std::to_string(count) + " empty ops of " + std::to_string(microBatches) +
              " micro-batches",
          build.problem};
}

std::vector<Case> allCases() {
  std::vector<Case> cases{{"nothing at all", {}}};
  for (bool resident : {true, false})
    for (size_t count : {1, 3})
      for (size_t kept : {size_t(0), size_t(1), count})
        cases.push_back(withoutOps(std::vector<int64_t>(count, 64), resident, kept));
  cases.push_back(withoutOps({0, 0}, true, 1));
  cases.push_back(withoutOps({0, 0}, false, 2));
  for (Phase phase : phases)
    for (int64_t bytes : {0, 64})
      for (bool recompute : {true, false})
        for (bool writes : {true, false})
          for (int32_t count : {1, 30}) // 30: beyond what every schedule is searched for
            cases.push_back(
                ofOnePhase(count, phase, bytes, recompute, writes, /*labelled=*/count > 1));
  for (int32_t count : {1, 4, 32})
    for (int32_t microBatches : {0, 2})
      cases.push_back(ofEmptyOps(count, microBatches));
  // What PyTorch hands over of a loss that depends on nothing.
  test::ProblemBuilder backward;
  backward.value(4, true);
  backward.op({}, {backward.value(4)}, 1);
  backward.op({}, {backward.value(64)}, 1);
  for (Op &op : backward.problem.ops)
    op.phase = Phase::Backward;
  backward.problem.keep = {1, 2};
  cases.push_back({"two gradients of nothing", backward.problem});
  return cases;
}

/// All that reads a plan.
void readAll(const Problem &problem, const Plan &made) {
  for (const Violation &it : verify(problem, made))
    if (made.status == Status::Feasible)
      ADD_FAILURE() << it.rule << ": " << it.message;
  for (const ClaimCheck &it : checkProof(problem, made, prove(problem, made)))
    EXPECT_NE(it.verdict, Verdict::Refused) << it.claim << ": " << it.message;
  auto parsed = parsePlan(problem, toJson(problem, made));
  EXPECT_TRUE(static_cast<bool>(parsed)) << parsed.error();
  if (made.steps.empty() && (made.status != Status::Feasible || !problem.ops.empty()))
    return;
  explanationText(problem, explainPlan(problem, made));
  peakText(problem, made);
  const PlanTimeline timeline = timelineOf(problem, made);
  EXPECT_EQ(timeline.peak, made.peak);
  timelineJson(problem, timeline);
  traceJson(problem, timeline);
}

/// Calls `check` for every case, whose name is printed with what fails.
void forEach(llvm::function_ref<void(const Problem &)> check) {
  static const std::vector<Case> cases = allCases();
  for (const Case &it : cases) {
    SCOPED_TRACE(it.name);
    check(it.problem);
  }
}

/// Little work, since there is little to do.
PlanOptions optionsFor(PolicyKind kind) {
  PlanOptions options;
  options.workSeconds = 0.01;
  options.policy.kind = kind;
  options.policy.selected = {0};
  return options;
}

TEST(DegenerateTest, everyPolicyAndBudget) {
  forEach([](Problem problem) {
    ASSERT_FALSE(validateProblem(problem));
    for (const PolicyEntry &entry : policyTable())
      for (std::optional<int64_t> budget : {std::optional<int64_t>(), std::optional<int64_t>(0),
                                            std::optional<int64_t>(64), std::optional(INT64_MAX)}) {
        SCOPED_TRACE(entry.name);
        problem.budget = budget;
        const Plan made = plan(problem, optionsFor(entry.kind));
        if (!budget || *budget == INT64_MAX) {
          EXPECT_EQ(made.status, Status::Feasible);
        }
        readAll(problem, made);
      }
  });
}

/// What the least plan needs is a budget with a plan, and a byte less is none.
TEST(DegenerateTest, theLeastHasAPlan) {
  forEach([](Problem problem) {
    const Plan least = plan(problem, optionsFor(PolicyKind::LeastPeak));
    ASSERT_EQ(least.status, Status::Feasible);
    problem.budget = problem.residentBytes() + least.arena;
    EXPECT_EQ(plan(problem, optionsFor(PolicyKind::Budget)).status, Status::Feasible);
    if (*problem.budget == 0)
      return;
    --*problem.budget;
    const Plan none = plan(problem, optionsFor(PolicyKind::Budget));
    EXPECT_NE(none.status, Status::Feasible);
    readAll(problem, none);
  });
}

TEST(DegenerateTest, everyTool) {
  forEach([](const Problem &problem) {
    findStructure(problem);
    VariantSet variants = VariantSet::only(problem);
    for (int points : {2, 3})
      for (const SweepPoint &point : sweepBudgets(variants, optionsFor(PolicyKind::Budget), points))
        EXPECT_EQ(point.status, Status::Feasible);
    variants.setBudget(INT64_MAX / 4);
    for (PolicyKind kind : {PolicyKind::Budget, PolicyKind::LeastPeak}) {
      const VariantPlan made = planBestVariant(variants, optionsFor(kind));
      EXPECT_EQ(made.plan.status, Status::Feasible);
      outlookText(lookAround(variants, optionsFor(kind), made.plan.cost), made.plan.baseCost);
    }
  });
  EXPECT_EQ(pack({}, PackOptions()).arena, 0);
}

/// A host's budget below the smallest value that may leave is refused by name.
TEST(DegenerateTest, withAHost) {
  forEach([](const Problem &problem) {
    auto copied = withHostCopies(problem, /*hostBudget=*/64, {1000000000, 1000000000, 1});
    for (PolicyKind kind :
         {PolicyKind::None, PolicyKind::Full, PolicyKind::Budget, PolicyKind::LeastPeak})
      for (int64_t budget : {int64_t(0), int64_t(64), INT64_MAX / 4}) {
        if (!copied)
          return;
        copied->budget = budget;
        const Plan made = plan(*copied, optionsFor(kind));
        if (made.status == Status::Feasible) {
          EXPECT_TRUE(verify(*copied, made).empty());
        }
      }
  });
}

/// The last op on the link, as a collective of devices is.
TEST(DegenerateTest, besideALink) {
  forEach([](Problem problem) {
    if (problem.ops.size() < 2)
      return;
    problem.ops.back().resource = Resource::Link;
    for (const PolicyEntry &entry : policyTable())
      for (std::optional<int64_t> budget : {std::optional<int64_t>(), std::optional<int64_t>(64)}) {
        problem.budget = budget;
        const Plan made = plan(problem, optionsFor(entry.kind));
        if (made.status == Status::Feasible) {
          EXPECT_TRUE(verify(problem, made).empty()) << entry.name;
        }
      }
  });
}

} // namespace
