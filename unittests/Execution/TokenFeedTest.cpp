//===- TokenFeedTest.cpp - Batches from text and from ids ------------------===//

#include "llmmem/Execution/TokenFeed.h"
#include "gtest/gtest.h"

using namespace llmmem;

namespace {

std::vector<int32_t> nextIds(TokenFeed &feed, int64_t count,
                             std::vector<int32_t> *targets = nullptr) {
  std::vector<int32_t> ids(count), shifted(count);
  feed.next(ids, shifted);
  if (targets)
    *targets = shifted;
  return ids;
}

TEST(TokenFeed, ShiftsTargetsWithinRowsAndWrapsAround) {
  auto feed = TokenFeed::fromIds("ids", "1 2 3\n4\t5  6 7\n", {2, 2, 10});
  ASSERT_TRUE(static_cast<bool>(feed));
  std::vector<int32_t> targets;
  EXPECT_EQ(nextIds(*feed, 4, &targets), (std::vector<int32_t>{1, 2, 3, 4}));
  EXPECT_EQ(targets, (std::vector<int32_t>{2, -100, 4, -100}));
  EXPECT_EQ(nextIds(*feed, 4, &targets), (std::vector<int32_t>{5, 6, 7, 1}));
  EXPECT_EQ(targets, (std::vector<int32_t>{6, -100, 1, -100}));
}

TEST(TokenFeed, SeeksToWhereReadingWouldStand) {
  auto feed = TokenFeed::fromIds("ids", "1 2 3 4 5 6 7", {1, 3, 10});
  ASSERT_TRUE(static_cast<bool>(feed));
  for (int64_t batches : {0, 1, 2, 5, 100}) {
    feed->seek(0);
    for (int64_t i = 0; i < batches; ++i)
      nextIds(*feed, 3);
    std::vector<int32_t> read = nextIds(*feed, 3);
    feed->seek(batches);
    EXPECT_EQ(nextIds(*feed, 3), read) << batches;
  }
}

TEST(TokenFeed, TakesBytesAsTheyAreWhereTheVocabularyAllows) {
  auto feed = TokenFeed::fromText("text", "Az\xff!", {1, 4, 256});
  ASSERT_TRUE(static_cast<bool>(feed));
  EXPECT_EQ(nextIds(*feed, 4), (std::vector<int32_t>{65, 122, 255, 33}));
}

TEST(TokenFeed, HashesBytesIntoASmallVocabulary) {
  auto feed = TokenFeed::fromText("text", "abab", {1, 4, 7});
  ASSERT_TRUE(static_cast<bool>(feed));
  std::vector<int32_t> ids = nextIds(*feed, 4);
  EXPECT_EQ(ids[0], ids[2]);
  EXPECT_NE(ids[0], ids[1]);
  for (int32_t id : ids)
    EXPECT_TRUE(id >= 0 && id < 7);
}

} // namespace
