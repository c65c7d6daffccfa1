//===- TokenFeedTest.cpp - Batches from text and from ids ------------------===//

#include "llmmem/Execution/TokenFeed.h"
#include "llmmem/Support/TextFile.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "gtest/gtest.h"
#include <set>
#include <unistd.h>

using namespace llmmem;

namespace {

std::vector<int32_t> nextIds(TokenFeed &feed, int64_t count,
                             std::vector<int32_t> *targets = nullptr) {
  std::vector<int32_t> ids(count), shifted(count);
  feed.next({ids, shifted, {}});
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

TEST(TokenFeed, GivesTargetsToWhoReadsNoIds) {
  auto feed = TokenFeed::fromIds("ids", "1 2 3 4 5 6 7", {2, 2, 10});
  ASSERT_TRUE(static_cast<bool>(feed));
  std::vector<int32_t> targets(4);
  feed->next({{}, targets, {}});
  EXPECT_EQ(targets, (std::vector<int32_t>{2, -100, 4, -100}));
  feed->next({});
  feed->next({{}, targets, {}});
  EXPECT_EQ(targets, (std::vector<int32_t>{3, -100, 5, -100}));
}

TEST(TokenFeed, GivesLabelsInTheirPlacesAndShifted) {
  auto feed = TokenFeed::fromIds("ids", "1 2 3 4", {1, 3, 10});
  ASSERT_TRUE(static_cast<bool>(feed));
  ASSERT_FALSE(static_cast<bool>(feed->readLabels("labels", "-100 7 -100\n9")));
  std::vector<int32_t> targets(3), labels(3);
  feed->next({{}, targets, labels});
  EXPECT_EQ(targets, (std::vector<int32_t>{7, -100, -100}));
  EXPECT_EQ(labels, (std::vector<int32_t>{-100, 7, -100}));
  feed->next({{}, targets, labels});
  EXPECT_EQ(targets, (std::vector<int32_t>{-100, 7, -100}));
  EXPECT_EQ(labels, (std::vector<int32_t>{9, -100, 7}));
}

TEST(TokenFeed, RefusesLabelsOutsideTheVocabularyOrOfAnotherNumber) {
  auto feed = TokenFeed::fromIds("ids", "1 2 3 4", {1, 3, 10});
  ASSERT_TRUE(static_cast<bool>(feed));
  EXPECT_EQ(llvm::toString(feed->readLabels("labels", "1 10 -100 3")),
            "labels:1: label 2, '10', is outside the vocabulary of 10 and not -100, which stands "
            "for no loss");
  EXPECT_EQ(llvm::toString(feed->readLabels("labels", "1 2 -100")),
            "'labels' has 3 labels, expected one for each of the 4 ids");
}

TEST(TokenFeed, KeepsPackedSequencesApart) {
  auto feed = TokenFeed::fromIds("ids", "1 2 3 4 5 6 7 8", {2, 4, 10});
  ASSERT_TRUE(static_cast<bool>(feed));
  ASSERT_FALSE(static_cast<bool>(feed->readSegments("segments", "0 0 7 7\n7 -1 -1 2")));
  std::vector<int32_t> targets(8), positions(8);
  feed->next({{}, targets, {}, positions});
  EXPECT_EQ(positions, (std::vector<int32_t>{0, 1, 0, 1, 0, 0, 0, 0}));
  EXPECT_EQ(targets, (std::vector<int32_t>{2, -100, 4, -100, -100, -100, -100, -100}));
}

TEST(TokenFeed, TakesEachRowForASequenceWithoutSegments) {
  auto feed = TokenFeed::fromIds("ids", "1 2 3 4 5 6", {2, 3, 10});
  ASSERT_TRUE(static_cast<bool>(feed));
  std::vector<int32_t> positions(6);
  feed->next({{}, {}, {}, positions});
  EXPECT_EQ(positions, (std::vector<int32_t>{0, 1, 2, 0, 1, 2}));
}

TEST(TokenFeed, RefusesSegmentsThatAreNoNumbersOrOfAnotherNumber) {
  auto feed = TokenFeed::fromIds("ids", "1 2 3 4", {1, 3, 10});
  ASSERT_TRUE(static_cast<bool>(feed));
  EXPECT_EQ(llvm::toString(feed->readSegments("segments", "0 0\na 1")),
            "segments:2: segment 3, 'a', is not a number");
  EXPECT_EQ(llvm::toString(feed->readSegments("segments", "0 1 1")),
            "'segments' has 3 segments, expected one for each of the 4 ids");
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

TEST(TokenFeed, ShufflesRowsOverTheWholeText) {
  std::string text;
  for (int id = 0; id < 100; ++id)
    text += std::to_string(id) + " ";
  auto feed = TokenFeed::fromIds("ids", text, {2, 5, 100});
  ASSERT_TRUE(static_cast<bool>(feed));
  feed->shuffle(7);
  std::set<int32_t> begins;
  for (int batch = 0; batch < 2000; ++batch) {
    std::vector<int32_t> ids = nextIds(*feed, 10);
    for (int row : {0, 5}) {
      begins.insert(ids[row]);
      for (int i = 1; i < 5; ++i)
        EXPECT_EQ(ids[row + i], ids[row] + i); // no window goes over the end
    }
  }
  EXPECT_EQ(begins.size(), 96u);
}

TEST(TokenFeed, ShufflesByTheSeedAndTheBatchAlone) {
  auto feed = TokenFeed::fromIds("ids", "1 2 3 4 5 6 7 8 9 10 11 12 13", {1, 3, 20});
  ASSERT_TRUE(static_cast<bool>(feed));
  feed->shuffle(1);
  std::vector<std::vector<int32_t>> first, other;
  for (int batch = 0; batch < 8; ++batch)
    first.push_back(nextIds(*feed, 3));
  feed->seek(5);
  EXPECT_EQ(nextIds(*feed, 3), first[5]);
  feed->seek(0);
  feed->shuffle(2);
  for (int batch = 0; batch < 8; ++batch)
    other.push_back(nextIds(*feed, 3));
  EXPECT_NE(other, first);
}

TEST(TokenFeed, TakesBytesAsTheyAreWhereTheVocabularyAllows) {
  auto feed = TokenFeed::fromText("text", llvm::MemoryBuffer::getMemBuffer("Az\xff!"), {1, 4, 256});
  ASSERT_TRUE(static_cast<bool>(feed));
  EXPECT_EQ(nextIds(*feed, 4), (std::vector<int32_t>{65, 122, 255, 33}));
}

TEST(TokenFeed, KeepsTheTextOfAFileThatIsCutOff) {
  llvm::SmallString<128> path;
  ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("llmmem-text", "txt", path));
  llvm::FileRemover remove(path);
  const std::string text(1 << 16, 'A');
  ASSERT_EQ(llvm::toString(writeTextFile(path, text)), "");
  auto feed = TokenFeed::fromText(path, llvm::cantFail(readTextFile(path, FileKind::Data)),
                                  {1, 1 << 16, 256});
  ASSERT_TRUE(static_cast<bool>(feed));
  ASSERT_EQ(truncate(path.c_str(), 0), 0);
  EXPECT_EQ(nextIds(*feed, text.size()), std::vector<int32_t>(text.size(), 'A'));
}

TEST(TokenFeed, RefusesANumberThatIsLongerThanAny) {
  auto feed = TokenFeed::fromIds("ids", std::string(40, '0') + "1 2 3 4", {1, 4, 20});
  EXPECT_EQ(llvm::toString(feed.takeError()), "ids:1: id 1, '" + std::string(40, '0') +
                                                  "', is not a number of at most 40 characters");
  EXPECT_TRUE(
      static_cast<bool>(TokenFeed::fromIds("ids", std::string(39, '0') + "1 2 3 4", {1, 4, 20})));
}

TEST(TokenFeed, HashesBytesIntoASmallVocabulary) {
  auto feed = TokenFeed::fromText("text", llvm::MemoryBuffer::getMemBuffer("abab"), {1, 4, 7});
  ASSERT_TRUE(static_cast<bool>(feed));
  std::vector<int32_t> ids = nextIds(*feed, 4);
  EXPECT_EQ(ids[0], ids[2]);
  EXPECT_NE(ids[0], ids[1]);
  for (int32_t id : ids)
    EXPECT_TRUE(id >= 0 && id < 7);
}

} // namespace
