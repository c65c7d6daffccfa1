//===- EventCostsTest.cpp - What events between ops cost, taken off --------===//

#include "llmmem-replay/Runner/EventCosts.h"
#include "gtest/gtest.h"
#include <numeric>
#include <vector>

namespace {

TEST(EventCosts, EveryOpPaysTheSame) {
  EXPECT_EQ(ns_without_events(30000, 100000, 80000, 10), 28000);
}

TEST(EventCosts, AnOpKeepsAQuarter) { EXPECT_EQ(ns_without_events(2200, 100000, 80000, 10), 550); }

TEST(EventCosts, AReplayThatTookLongerIsShared) {
  EXPECT_EQ(ns_without_events(30000, 100000, 110000, 10), 33000);
}

TEST(EventCosts, AddUpToTheReplay) {
  std::vector<int64_t> measured{90000, 12000, 11000, 7000, 45000};
  int64_t sum = std::accumulate(measured.begin(), measured.end(), int64_t{0}), step = 150000,
          all = 0;
  for (int64_t ns : measured)
    all += ns_without_events(ns, sum, step, static_cast<int64_t>(measured.size()));
  EXPECT_EQ(all, step);
}

TEST(EventCosts, WhatCallsNothingCostsNothing) {
  EXPECT_EQ(ns_without_events(0, 100000, 80000, 10), 0);
  EXPECT_EQ(ns_without_events(0, 0, 0, 0), 0);
}

} // namespace
