//===- NumberTextTest.cpp - Numbers as people read them --------------------===//

#include "llmmem/Support/NumberText.h"
#include "gtest/gtest.h"

using namespace llmmem;

TEST(NumberText, DurationsHaveThreeDigits) {
  EXPECT_EQ(formatDuration(0), "0 ns");
  EXPECT_EQ(formatDuration(7), "7 ns");
  EXPECT_EQ(formatDuration(1'500), "1.50 us");
  EXPECT_EQ(formatDuration(45'210), "45.2 us");
  EXPECT_EQ(formatDuration(812'340'000), "812 ms");
  EXPECT_EQ(formatDuration(36'352'390'000), "36.4 s");
}

TEST(NumberText, DurationsRoundIntoTheNextUnit) {
  EXPECT_EQ(formatDuration(999'499'999), "999 ms");
  EXPECT_EQ(formatDuration(999'500'000), "1.00 s");
  EXPECT_EQ(formatDuration(9'996'000'000), "10.0 s");
  EXPECT_EQ(formatDuration(99'499'000'000), "99.5 s");
  EXPECT_EQ(formatDuration(99'500'000'000), "1 min 40 s");
  EXPECT_EQ(formatDuration(120'000'000'000), "2 min");
  EXPECT_EQ(formatDuration(5'400'000'000'000), "90 min");
  EXPECT_EQ(formatDuration(9'000'000'000'000), "2 h 30 min");
}

TEST(NumberText, CountsHaveGroupsOfThreeDigits) {
  EXPECT_EQ(formatCount(0), "0");
  EXPECT_EQ(formatCount(999), "999");
  EXPECT_EQ(formatCount(1'000), "1,000");
  EXPECT_EQ(formatCount(-1'000), "-1,000");
  EXPECT_EQ(formatCount(1'235'814'400), "1,235,814,400");
}

TEST(NumberText, OneIsNoPlural) {
  EXPECT_EQ(counted(0, "op"), "0 ops");
  EXPECT_EQ(counted(1, "step"), "1 step");
  EXPECT_EQ(counted(4'096, "token"), "4,096 tokens");
}
