//===- LearningRateTest.cpp - The learning rate of each step ---------------===//

#include "llmmem/Execution/LearningRate.h"
#include "gtest/gtest.h"

using namespace llmmem;

namespace {

TEST(LearningRate, StaysWithoutASchedule) {
  LearningRate rate{0.5};
  EXPECT_EQ(rate.at(1), 0.5);
  EXPECT_EQ(rate.at(1000000), 0.5);
}

TEST(LearningRate, RisesThenFallsToATenth) {
  LearningRate rate{1e-3, 10, 100};
  EXPECT_DOUBLE_EQ(rate.at(1), 1e-4);
  EXPECT_DOUBLE_EQ(rate.at(5), 5e-4);
  EXPECT_DOUBLE_EQ(rate.at(10), 1e-3);
  EXPECT_DOUBLE_EQ(rate.at(55), 5.5e-4);
  EXPECT_DOUBLE_EQ(rate.at(100), 1e-4);
  EXPECT_DOUBLE_EQ(rate.at(5000), 1e-4);
}

TEST(LearningRate, FallsInALineToZero) {
  LearningRate rate{.highest = 1e-3, .warmupSteps = 10, .linearSteps = 100};
  EXPECT_DOUBLE_EQ(rate.at(5), 5e-4);
  EXPECT_DOUBLE_EQ(rate.at(10), 1e-3);
  EXPECT_DOUBLE_EQ(rate.at(55), 5e-4);
  EXPECT_EQ(rate.at(100), 0.0);
  EXPECT_EQ(rate.at(101), 0.0);
}

TEST(LearningRate, StaysUntilTheLineBegins) {
  LearningRate rate{.highest = 1e-3, .warmupSteps = 10, .linearSteps = 100, .linearFrom = 80};
  EXPECT_DOUBLE_EQ(rate.at(79), 1e-3);
  EXPECT_DOUBLE_EQ(rate.at(90), 5e-4);
}

TEST(LearningRate, FallsAsTheInverseRoot) {
  LearningRate rate{.highest = 1e-3, .warmupSteps = 4, .inverseRoot = true};
  EXPECT_DOUBLE_EQ(rate.at(2), 5e-4);
  EXPECT_DOUBLE_EQ(rate.at(4), 1e-3);
  EXPECT_DOUBLE_EQ(rate.at(16), 5e-4);
}

} // namespace
