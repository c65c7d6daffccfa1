//===- GenerationTest.cpp - Choosing tokens, and giving pages --------------===//

#include "llmmem/Execution/CachePages.h"
#include "llmmem/Execution/ChooseToken.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

using namespace llmmem;

namespace {

/// Probabilities of 0.1, 0.4, 0.2 and 0.3.
const double kLogits[] = {std::log(0.1), std::log(0.4), std::log(0.2), std::log(0.3)};

TEST(ChooseToken, TemperatureZeroTakesTheFirstOfTheMostLikely) {
  EXPECT_EQ(chooseToken({1.0, 3.0, 3.0, 2.0}, {.temperature = 0.0}, 0.99), 1);
}

TEST(ChooseToken, UniformNumbersFallIntoTheTokensInTheirOrder) {
  // Sums of 0.1, 0.5, 0.7 and 1.
  for (auto [uniform, token] : {std::pair(0.05, 0), {0.15, 1}, {0.45, 1}, {0.6, 2}, {0.95, 3}})
    EXPECT_EQ(chooseToken(kLogits, {}, uniform), token) << uniform;
}

TEST(ChooseToken, TemperatureSharpens) {
  // At 1/2 the probabilities are as 1, 16, 4 and 9 of 30.
  EXPECT_EQ(chooseToken(kLogits, {.temperature = 0.5}, 0.03), 0);
  EXPECT_EQ(chooseToken(kLogits, {.temperature = 0.5}, 0.55), 1);
  EXPECT_EQ(chooseToken(kLogits, {.temperature = 0.5}, 0.75), 3);
}

TEST(ChooseToken, TopKLeavesTheMostLikelyInTheirOrder) {
  // 0.4 and 0.3 of 0.7.
  EXPECT_EQ(chooseToken(kLogits, {.topK = 2}, 0.56), 1);
  EXPECT_EQ(chooseToken(kLogits, {.topK = 2}, 0.58), 3);
  EXPECT_EQ(chooseToken(kLogits, {.topK = 1}, 0.99), 1);
}

TEST(ChooseToken, TopPLeavesTheFewestThatReachIt) {
  // 0.4 and 0.3 reach 0.6, and 0.4 alone 0.35.
  EXPECT_EQ(chooseToken(kLogits, {.topP = 0.6}, 0.99), 3);
  EXPECT_EQ(chooseToken(kLogits, {.topP = 0.35}, 0.99), 1);
}

TEST(CachePages, PagesAreGivenAsSequencesGrow) {
  CachePages pages(/*pages=*/3, /*page=*/2, /*batch=*/2, /*most=*/4);
  EXPECT_FALSE(pages.reach(0, 1));
  EXPECT_FALSE(pages.reach(1, 2));
  EXPECT_FALSE(pages.reach(0, 3));
  EXPECT_EQ(pages.table(), (llvm::ArrayRef<int32_t>{0, 2, -1, -1, 1, -1, -1, -1}));
  CacheUse use = pages.use();
  EXPECT_EQ(use.reserved, 6);
  EXPECT_EQ(use.used, 5);
  EXPECT_EQ(use.wasted, 1);
}

// Requests of very different lengths grow in turns. By itself: each wastes what its last page has
// left, on average half of a page, where rows as long as the longest would waste half of all.
TEST(CachePages, WastesWhatASimulationOfRequestsDoes) {
  constexpr int64_t kPage = 16, kRequests = 512, kLongest = 2048;
  std::mt19937 random(7);
  std::vector<int64_t> lengths, tokens(kRequests, 0);
  int64_t sum = 0, wasted = 0;
  for (int64_t request = 0; request < kRequests; ++request) {
    int64_t length = 1 + random() % kLongest;
    lengths.push_back(length);
    sum += length;
    wasted += (kPage - length % kPage) % kPage;
  }
  CachePages pages((sum + wasted) / kPage, kPage, kRequests, kLongest / kPage);
  std::vector<int64_t> growing(kRequests);
  std::iota(growing.begin(), growing.end(), 0);
  while (!growing.empty()) {
    size_t turn = random() % growing.size();
    int64_t request = growing[turn];
    tokens[request] = std::min<int64_t>(tokens[request] + 1 + random() % 40, lengths[request]);
    ASSERT_FALSE(pages.reach(request, tokens[request]));
    if (tokens[request] == lengths[request])
      growing.erase(growing.begin() + turn);
  }
  EXPECT_EQ(pages.use().used, sum);
  EXPECT_EQ(pages.use().wasted, wasted);
  EXPECT_EQ(pages.use().reserved, sum + wasted);
  EXPECT_NEAR(static_cast<double>(wasted) / kRequests, (kPage - 1) / 2.0, 0.5);
  // No page belongs to two.
  std::vector<int32_t> given(pages.table().begin(), pages.table().end());
  std::erase(given, -1);
  std::sort(given.begin(), given.end());
  EXPECT_EQ(std::unique(given.begin(), given.end()), given.end());
  EXPECT_EQ(static_cast<int64_t>(given.size()) * kPage, sum + wasted);
}

TEST(CachePages, NoPageIsLeft) {
  CachePages pages(/*pages=*/1, /*page=*/2, /*batch=*/2, /*most=*/4);
  EXPECT_FALSE(pages.reach(0, 2));
  llvm::Error error = pages.reach(1, 1);
  EXPECT_EQ(llvm::toString(std::move(error)),
            "all 1 pages of 2 tokens are given, and sequence 1 needs one more; import with more "
            "--pages, or give shorter prompts");
}

} // namespace
