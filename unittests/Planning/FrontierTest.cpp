//===- FrontierTest.cpp - More budget never costs more -----------------------------===//
//
// Monotone costs hold by construction. The test queries many budgets, among them those next to the
// need of each plan, where a search is most likely to find an unusually good plan.
// LLMMEM_FRONTIER_BUDGETS in the environment asks for more, and LLMMEM_LONG for more problems.
//
//===----------------------------------------------------------------------===//

#include "FromEnvironment.h"
#include "RandomProblem.h"
#include "TransformerProblem.h"
#include "llmmem/Planning/Model/Verify.h"
#include "llmmem/Planning/Planner.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <map>

using namespace llmmem::planning;
using test::makeTransformer;

namespace {

int32_t budgetsAsked(int32_t otherwise) {
  return test::fromEnvironment("LLMMEM_FRONTIER_BUDGETS", otherwise);
}

class Budgets {
public:
  explicit Budgets(Problem problem) : problem(std::move(problem)) {
    leastPlan = ask(std::nullopt, PolicyKind::LeastPeak);
    least = footprint(leastPlan);
    most = footprint(ask(std::nullopt, PolicyKind::None));
  }

  /// Asks at `count` budgets between the least and the most, and around what each answer needs.
  void askMany(int32_t count) {
    at(least);
    EXPECT_LE(costs[least], leastPlan.cost) << "the least peak, asked for as a budget, costs more";
    for (int32_t index = 0; index <= count; ++index) {
      int64_t budget = least + (most - least) / count * index;
      if (std::optional<int64_t> needed = at(budget)) {
        at(*needed);
        at(*needed - 1);
      }
    }
    for (int64_t less : {int64_t(1), (most - least) / 1000, (most - least) / 100, least / 10})
      at(least - less);
  }

  void expectMonotone() const {
    int64_t last = INT64_MAX;
    for (auto [budget, cost] : costs) {
      EXPECT_LE(cost, last) << "at " << budget;
      last = cost;
    }
    for (int64_t budget : refused)
      EXPECT_LT(budget, least) << "refused, though the least footprint is smaller";
    EXPECT_EQ(costs.begin()->first, least) << "a plan for less than the least footprint";
  }

private:
  int64_t footprint(const Plan &plan) const { return problem.residentBytes() + plan.arena; }

  Plan ask(std::optional<int64_t> budget, PolicyKind kind) {
    problem.budget = budget;
    PlanOptions options;
    options.policy.kind = kind;
    options.workSeconds = 1;
    return plan(problem, options);
  }

  /// Returns what the plan for `budget` needs.
  std::optional<int64_t> at(int64_t budget) {
    Plan made = ask(budget, PolicyKind::Budget);
    EXPECT_TRUE(verify(problem, made).empty());
    if (made.status != Status::Feasible) {
      refused.push_back(budget);
      return std::nullopt;
    }
    costs[budget] = made.cost;
    return footprint(made);
  }

  Problem problem;
  Plan leastPlan;
  int64_t least = 0, most = 0;
  std::map<int64_t, int64_t> costs; // per budget that has a plan
  std::vector<int64_t> refused;
};

TEST(FrontierTest, trainingSteps) {
  for (bool fused : {true, false})
    for (bool transient : {true, false}) {
      if (fused != transient && !std::getenv("LLMMEM_LONG"))
        continue;
      Budgets budgets(makeTransformer({.blocks = 3,
                                       .tokens = 256,
                                       .hidden = 256,
                                       .feedForward = 512,
                                       .heads = 4,
                                       .vocabulary = 1000,
                                       .fusedAttention = fused,
                                       .transientGradients = transient}));
      budgets.askMany(budgetsAsked(12));
      budgets.expectMonotone();
    }
}

/// Too large for the search of every schedule, and no chains.
TEST(FrontierTest, anyGraph) {
  const uint64_t seeds = std::getenv("LLMMEM_LONG") ? 8 : 3;
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    Budgets budgets(randomProblem(seed, 40));
    budgets.askMany(budgetsAsked(10));
    budgets.expectMonotone();
  }
}

} // namespace
