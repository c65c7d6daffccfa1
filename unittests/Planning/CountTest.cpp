//===- CountTest.cpp - Numbers that stay too many --------------------------===//

#include "llmmem/Support/Count.h"
#include "gtest/gtest.h"

using llmmem::Count;

namespace {

constexpr int64_t kLargest = INT64_MAX;

TEST(Count, ComputesWhatFits) {
  EXPECT_EQ(2 * Count(3) + 1, 7);
  EXPECT_EQ(Count(kLargest), kLargest);
  EXPECT_EQ(Count(kLargest / 2) * 2 + 1, kLargest);
  EXPECT_EQ(divideCeil(Count(7), 2), 4);
  EXPECT_EQ(divideCeil(Count(kLargest), 2), kLargest / 2 + 1);
  EXPECT_EQ(alignTo(Count(257), 256), 512);
  EXPECT_EQ(Count(257) % 256, 1);
  EXPECT_EQ(larger(Count(3), 4), 4);
  EXPECT_EQ(smaller(Count(3), 4), 3);
}

TEST(Count, IsTooManyBeyond) {
  EXPECT_TRUE((Count(kLargest) + 1).isTooMany());
  EXPECT_TRUE((2 * Count(int64_t(1) << 62)).isTooMany());
  // Products of powers of two wrap to 0.
  EXPECT_TRUE((Count(int64_t(1) << 32) * (int64_t(1) << 32)).isTooMany());
  EXPECT_TRUE(alignTo(Count(kLargest), 256).isTooMany());
  EXPECT_TRUE(Count(-5).isTooMany());
}

TEST(Count, StaysTooMany) {
  Count many = 2 * Count(int64_t(1) << 62);
  EXPECT_TRUE((many / 4).isTooMany());
  EXPECT_TRUE((many * 0).isTooMany());
  EXPECT_TRUE((many + 1).isTooMany());
  EXPECT_TRUE((many % 2).isTooMany());
  EXPECT_TRUE(larger(many, 1).isTooMany());
  EXPECT_TRUE(smaller(many, 1).isTooMany());
  many += 1;
  EXPECT_EQ(many, -1);
}

} // namespace
