//===- SweepTest.cpp - The frontier, and how it prints ------------------------------===//

#include "llmmem/Planning/Sweep/Sweep.h"
#include "ScheduleOracle.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace llmmem::planning;

namespace {

TEST(SweepTest, goesFromTheLeastToKeepingAll) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Problem problem = test::makeRandom(seed, 7);
    std::vector<SweepPoint> sweep = sweepBudgets(VariantSet::only(problem), {}, 5);
    ASSERT_EQ(sweep.size(), 5u);
    EXPECT_EQ(sweep.back().cost, sweep.back().baseCost);
    for (size_t point = 0; point < sweep.size(); ++point) {
      const SweepPoint &it = sweep[point];
      EXPECT_EQ(it.status, Status::Feasible);
      EXPECT_LE(problem.residentBytes() + it.arena, it.budget);
      EXPECT_LE(it.costLowerBound, it.cost);
      if (point > 0) {
        EXPECT_LE(it.cost, sweep[point - 1].cost);
        EXPECT_GE(it.budget, sweep[point - 1].budget);
      }
    }
    // Below the least there is nothing.
    problem.budget = sweep.front().budget - 1;
    EXPECT_NE(plan(problem, {}).status, Status::Feasible);
  }
}

TEST(SweepTest, onePointKeepsAll) {
  Problem problem = test::makeRandom(3, 7);
  std::vector<SweepPoint> sweep = sweepBudgets(VariantSet::only(problem), {}, 1);
  ASSERT_EQ(sweep.size(), 1u);
  EXPECT_EQ(sweep[0].cost, sweep[0].baseCost);
}

const std::vector<SweepPoint> twoPoints = {
    {10, Status::Infeasible, 0, 7, 7, 0, 0, "a \"name\""},
    {20, Status::Feasible, 9, 8, 7, 19, 18, "another"},
};

TEST(SweepTest, printsCsv) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printSweepCsv(twoPoints, os);
  EXPECT_NE(text.find("\n20,feasible,9,8,7,19,18,another\n"), std::string::npos) << text;
}

TEST(SweepTest, printsJsonThatParses) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printSweepJson(twoPoints, os);
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  ASSERT_TRUE(bool(value)) << llvm::toString(value.takeError());
  const llvm::json::Array *points = value->getAsObject()->getArray("points");
  ASSERT_EQ(points->size(), 2u);
  EXPECT_EQ((*points)[0].getAsObject()->getString("status"), "infeasible");
  EXPECT_EQ((*points)[0].getAsObject()->getString("bound"), "a \"name\"");
  EXPECT_EQ((*points)[1].getAsObject()->getInteger("cost"), 9);
}

} // namespace
