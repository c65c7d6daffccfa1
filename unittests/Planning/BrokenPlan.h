//===- BrokenPlan.h - Which rules a wrong plan breaks -----------------------------===//

#ifndef LLMMEM_UNITTESTS_PLANNING_BROKENPLAN_H
#define LLMMEM_UNITTESTS_PLANNING_BROKENPLAN_H

#include "llmmem/Planning/Model/Verify.h"
#include "gtest/gtest.h"

namespace llmmem::planning::test {

/// A problem and a plan that a test breaks, and what the verifier says about them.
class BrokenPlanTest : public testing::Test {
protected:
  /// The rules that the plan breaks, in order, with their steps.
  std::vector<std::pair<int32_t, std::string>> broken() const {
    std::vector<std::pair<int32_t, std::string>> rules;
    for (const Violation &violation : verify(problem, plan))
      rules.emplace_back(violation.step, violation.rule);
    return rules;
  }

  void expectHolds() const { EXPECT_TRUE(broken().empty()) << testing::PrintToString(broken()); }

  void expectOnly(int32_t step, const std::string &rule) const {
    const auto rules = broken();
    ASSERT_EQ(rules.size(), 1u) << testing::PrintToString(rules);
    EXPECT_EQ(rules[0], std::pair(step, rule));
  }

  void expectAmong(int32_t step, const std::string &rule) const {
    const auto rules = broken();
    EXPECT_NE(std::find(rules.begin(), rules.end(), std::pair(step, rule)), rules.end())
        << rule << " is not among " << testing::PrintToString(rules);
  }

  Problem problem;
  Plan plan;
};

} // namespace llmmem::planning::test

#endif // LLMMEM_UNITTESTS_PLANNING_BROKENPLAN_H
