//===- CounterSamplesTest.cpp - Random numbers by their place ----------------===//

#include "llmmem/Execution/CounterSamples.h"
#include "llmmem/Runtime/Samples.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace llmmem;

namespace {

// By Python's statistics.NormalDist().inv_cdf: the middle, both tails, far out.
TEST(CounterSamples, QuantilesHaveSevenDigits) {
  std::pair<double, double> known[] = {{0.5, 0.0},
                                       {0.9, 1.2815515655446008},
                                       {0.975, 1.9599639845400536},
                                       {0.075, -1.4395314709384557},
                                       {1e-5, -4.2648907939228256},
                                       {1e-12, -7.034483825301132}};
  for (auto [p, quantile] : known)
    EXPECT_NEAR(llmmem_normal_quantile(p), quantile, 1e-6) << p;
}

TEST(CounterSamples, NormalDrawsHaveTheirMoments) {
  constexpr int kCount = 1 << 20;
  double sum = 0.0, squares = 0.0, fourths = 0.0;
  for (int i = 0; i < kCount; ++i) {
    double x = llmmem_sample_normal(streamOf(7, "a"), i);
    sum += x, squares += x * x, fourths += x * x * x * x;
  }
  // Five standard errors of each mean.
  EXPECT_NEAR(sum / kCount, 0.0, 5 * std::sqrt(1.0 / kCount));
  EXPECT_NEAR(squares / kCount, 1.0, 5 * std::sqrt(2.0 / kCount));
  EXPECT_NEAR(fourths / kCount, 3.0, 5 * std::sqrt(96.0 / kCount));
}

TEST(CounterSamples, NamesAndSeedsAreStreamsOfTheirOwn) {
  EXPECT_EQ(llmmem_sample_word(streamOf(1, "a"), 5), llmmem_sample_word(streamOf(1, "a"), 5));
  EXPECT_NE(llmmem_sample_word(streamOf(1, "a"), 5), llmmem_sample_word(streamOf(1, "a"), 6));
  EXPECT_NE(llmmem_sample_word(streamOf(1, "a"), 5), llmmem_sample_word(streamOf(1, "b"), 5));
  EXPECT_NE(llmmem_sample_word(streamOf(1, "a"), 5), llmmem_sample_word(streamOf(2, "a"), 5));
}

} // namespace
