//===- ProofTest.cpp - Proofs against all schedules and all placements ------------===//
//
// LLMMEM_PROOF_PROBLEMS in the environment asks for more random problems.
//
//===----------------------------------------------------------------------===//

#include "Bounds/JointBound.h"
#include "Bounds/OpenCut.h"
#include "FromEnvironment.h"
#include "PlacementOracle.h"
#include "ProblemBuilder.h"
#include "ProofClaims.h"
#include "RandomProblem.h"
#include "ScheduleOracle.h"
#include "TransformerProblem.h"
#include "llmmem/Planning/Bounds/Bounds.h"
#include "llmmem/Planning/Planner.h"

using namespace llmmem::planning;
using test::checkOf;
using test::claimCost;

namespace {

using Kind = BoundBasis::Kind;

/// What is proved is checked, what is one more is refused, and neither exceeds the truth.
void expectExactly(Problem &problem, const BoundBasis &basis, int64_t proved) {
  ClaimCheck it = checkOf("cost", problem, claimCost(problem, basis, proved));
  EXPECT_EQ(wordOf(it.verdict), "checked") << it.message;
  it = checkOf("cost", problem, claimCost(problem, basis, proved + 1));
  EXPECT_EQ(wordOf(it.verdict), "refused") << it.message;
}

TEST(ProofTest, flowsProveWhatTheSolversFind) {
  const int32_t problems = test::fromEnvironment("LLMMEM_PROOF_PROBLEMS", 150);
  int proving = 0, together = 0, none = 0;
  for (int32_t seed = 0; seed < problems; ++seed) {
    Problem problem = test::makeRandom(seed, 9);
    const Graph graph(problem);
    int64_t refused = 0;
    const int64_t most = profile(graph, givenOrder(graph)).peak;
    const int64_t budget = problem.residentBytes() + (most - problem.residentBytes()) * 3 / 4;
    problem.budget = budget;
    const std::optional<int64_t> truth =
        test::leastCost(problem, budget + problem.alignment - 1, refused);
    for (OpIndex op = 0; op < graph.numOps(); ++op) {
      CutRelaxation cut(graph, op);
      const std::optional<int64_t> alone = cut.costLowerBound(budget);
      const std::optional<int64_t> open = OpenCut(graph, op).costLowerBound(budget);
      if (!alone || !open || *alone == INT64_MAX) {
        EXPECT_FALSE(truth) << "the flow says that there is no plan";
        const ClaimCheck it =
            checkOf("cost", problem,
                    claimCost(problem, {alone ? Kind::OpenCut : Kind::OneCut, {op}, {}}, 1));
        EXPECT_EQ(wordOf(it.verdict), "checked") << it.message;
        ++none;
        continue;
      }
      expectExactly(problem, {Kind::OneCut, {op}, {}}, *alone);
      expectExactly(problem, {Kind::OpenCut, {op}, {}}, *open);
      proving += *alone > 0 || *open > 0;
      std::vector<bool> after(graph.numOps(), false);
      markDescendants(graph, op, after);
      for (OpIndex other = op + 1; other < graph.numOps() && truth; ++other) {
        llvm::SmallVector<int64_t, 4> prices{cut.bestPrice(), 0};
        if (!after[other])
          continue;
        const int64_t proved = JointBound(graph, {op, other}, budget).raise(prices, 1000, 5);
        expectExactly(problem, {Kind::Together, {op, other}, {prices.begin(), prices.end()}},
                      proved);
        EXPECT_LE(graph.baseCost() + proved, *truth);
        ++together;
      }
    }
  }
  EXPECT_GT(proving, problems / 8);
  EXPECT_GT(together, problems);
  EXPECT_GT(none, 0);
}

/// The searches that the checker repeats find what the oracles find.
TEST(ProofTest, searchesAreRepeated) {
  const int32_t problems = test::fromEnvironment("LLMMEM_PROOF_PROBLEMS", 150);
  int placed = 0, infeasible = 0;
  for (int32_t seed = 0; seed < problems; ++seed) {
    Problem problem = test::makeRandom(seed, 6);
    const Graph graph(problem);
    const int64_t most = profile(graph, givenOrder(graph)).peak;
    for (int64_t part : {3, 5, 7}) {
      const int64_t budget = problem.residentBytes() + (most - problem.residentBytes()) * part / 8;
      problem.budget = budget;
      auto expect = [&](Kind kind, std::optional<int64_t> truth) {
        if (truth)
          return expectExactly(problem, {kind, {}, {}}, *truth - graph.baseCost());
        const ClaimCheck it = checkOf("cost", problem, claimCost(problem, {kind, {}, {}}, 1000000));
        EXPECT_EQ(wordOf(it.verdict), "checked") << it.message;
        ++infeasible;
      };
      int64_t refused = 0;
      expect(Kind::EverySchedule,
             test::leastCost(problem, budget + problem.alignment - 1, refused));
      if (seed % 3 == 0 && problem.ops.size() <= 4) {
        expect(Kind::EveryPlacement, test::leastPlacedCost(problem, budget));
        ++placed;
      }
    }
  }
  EXPECT_GT(placed, 0);
  EXPECT_GT(infeasible, 0);
}

/// Longer searches are not repeated, and a claim that depends on one says so.
TEST(ProofTest, searchesOfMoreThan24OpsAreNotRepeated) {
  for (int64_t ops : {24, 25}) {
    test::ProblemBuilder build;
    ValueIndex last = build.value(1);
    for (int64_t op = 0; op < ops; ++op) {
      const ValueIndex next = build.value(1);
      build.op({last}, {next}, 1);
      last = next;
    }
    build.problem.keep.push_back(last);
    build.problem.budget = 2;
    for (Kind kind : {Kind::EverySchedule, Kind::EveryPlacement}) {
      const ClaimCheck it =
          checkOf("cost", build.problem, claimCost(build.problem, {kind, {}, {}}, 1));
      if (ops == 24) { // a plan that recomputes nothing is found
        EXPECT_EQ(wordOf(it.verdict), "refused") << it.message;
        continue;
      }
      EXPECT_EQ(wordOf(it.verdict), "not checked") << it.message;
      EXPECT_NE(it.message.find("is repeated up to 24 ops"), std::string::npos) << it.message;
    }
  }
}

/// Whatever the planner says about small problems is checked, also after a way through JSON.
TEST(ProofTest, plansOfSmallProblemsAreChecked) {
  const int32_t problems = test::fromEnvironment("LLMMEM_PROOF_PROBLEMS", 60);
  int checked = 0, notChecked = 0, infeasible = 0;
  for (int32_t seed = 0; seed < problems; ++seed) {
    Problem problem = randomProblem(seed, 3 + seed % 8);
    ASSERT_FALSE(validateProblem(problem));
    const int64_t peak = profile(Graph(problem), givenOrder(Graph(problem))).peak;
    for (std::optional<int64_t> budget :
         {std::optional<int64_t>(), std::optional(peak * 3 / 4), std::optional(peak / 2)})
      for (PolicyKind kind : {PolicyKind::Budget, PolicyKind::LeastPeak, PolicyKind::Full}) {
        problem.budget = budget;
        PlanOptions options;
        options.policy.kind = kind;
        options.workSeconds = 1;
        const Plan made = plan(problem, options);
        const Proof proof = prove(problem, made);
        const std::string text = toJson(problem, proof);
        llmmem::Result<Proof> read = parseProof(problem, text);
        ASSERT_TRUE(read) << read.error();
        EXPECT_EQ(toJson(problem, *read), text);
        for (const ClaimCheck &it : checkProof(problem, made, *read)) {
          EXPECT_NE(wordOf(it.verdict), "refused") << seed << ' ' << it.claim << it.message;
          checked += it.verdict == Verdict::Checked;
          notChecked += it.verdict == Verdict::NotChecked;
          infeasible += it.claim == "infeasible" && it.verdict == Verdict::Checked;
        }
      }
  }
  EXPECT_GT(infeasible, 0);
  EXPECT_GT(checked, 50 * notChecked);
}

TEST(ProofTest, plansOfATrainingStepAreChecked) {
  Problem problem = test::makeTransformer({.blocks = 4, .tokens = 512, .hidden = 256});
  auto plannedAs = [&](PolicyKind kind, std::optional<int64_t> budget) {
    problem.budget = budget;
    PlanOptions options;
    options.policy.kind = kind;
    return plan(problem, options);
  };
  const int64_t full = plannedAs(PolicyKind::Full, std::nullopt).peak;
  const int64_t none = plannedAs(PolicyKind::None, std::nullopt).peak;
  for (double f : {-0.5, 0.0, 0.1, 0.5, 0.9}) {
    const Plan made = plannedAs(PolicyKind::Budget, full + int64_t(f * double(none - full)));
    for (const ClaimCheck &it : checkProof(problem, made, prove(problem, made)))
      EXPECT_EQ(wordOf(it.verdict), "checked") << f << ' ' << it.claim << ": " << it.message;
  }
}

} // namespace
