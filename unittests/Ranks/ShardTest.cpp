//===- ShardTest.cpp - Which elements of a whole a rank holds --------------===//

#include "llmmem/Execution/Shard.h"
#include "gtest/gtest.h"
#include <algorithm>

using namespace llmmem;

namespace {

/// The numbers of the elements of a position, -1 for padding.
std::vector<int64_t> elementsOf(const Shard &shard, int64_t position) {
  std::vector<int64_t> elements(shard.partElements(), -1);
  shard.forEachRun(position, [&](Shard::Run run) {
    for (int64_t i = 0; i < run.count; ++i)
      elements[run.part + i] = run.whole + i;
  });
  return elements;
}

Shard parsed(llvm::StringRef text, llvm::ArrayRef<int64_t> shape) {
  llvm::Expected<Shard> shard = Shard::parse(text, shape);
  EXPECT_TRUE(static_cast<bool>(shard)) << llvm::toString(shard.takeError());
  EXPECT_EQ(shard->toText(), text);
  return *shard;
}

using Elements = std::vector<int64_t>;

TEST(Shard, IsEqualPartsInRowMajorOrder) {
  Shard shard = parsed("2@-", {3, 2});
  EXPECT_TRUE(shard.areInOrder());
  EXPECT_EQ(elementsOf(shard, 1), Elements({3, 4, 5}));
}

TEST(Shard, IsColumns) {
  Shard shard = parsed("2@1", {2, 4});
  EXPECT_FALSE(shard.areInOrder());
  EXPECT_EQ(elementsOf(shard, 0), Elements({0, 1, 4, 5}));
  EXPECT_EQ(elementsOf(shard, 1), Elements({2, 3, 6, 7}));
}

TEST(Shard, IsColumnsOfEachPiece) {
  Shard shard = parsed("2@1:4+2+2", {2, 8});
  EXPECT_EQ(elementsOf(shard, 1), Elements({2, 3, 5, 7, 10, 11, 13, 15}));
}

TEST(Shard, PadsTheLastParts) {
  Shard shard = parsed("2@0", {3, 2});
  EXPECT_EQ(elementsOf(shard, 0), Elements({0, 1, 2, 3}));
  EXPECT_EQ(elementsOf(shard, 1), Elements({4, 5, -1, -1}));
  EXPECT_EQ(elementsOf(parsed("4@0", {5}), 3), Elements({-1, -1}));
}

// The order of axes is the mesh's, the last the fastest.
TEST(Shard, IsAPartOfAShard) {
  Shard tensorFirst = parsed("2@1 2@-", {2, 4}), dataFirst = parsed("2@- 2@1", {2, 4});
  EXPECT_EQ(elementsOf(tensorFirst, 1), Elements({4, 5}));
  EXPECT_EQ(elementsOf(dataFirst, 1), Elements({2, 3}));
  EXPECT_EQ(elementsOf(dataFirst, 3), elementsOf(tensorFirst, 3));
}

// Every element is in one part.
TEST(Shard, PartsMakeTheWhole) {
  for (llvm::StringRef text : {"2@1:6+3+3 3@-", "3@0 2@1", "5@0 2@-", "2@0 2@0 3@1"}) {
    Shard shard = parsed(text, {6, 12});
    Elements all;
    for (int64_t position = 0; position < shard.parts; ++position)
      for (int64_t element : elementsOf(shard, position))
        if (element >= 0)
          all.push_back(element);
    std::sort(all.begin(), all.end());
    Elements expected(72);
    for (int64_t element = 0; element < 72; ++element)
      expected[element] = element;
    EXPECT_EQ(all, expected) << text.str();
  }
}

TEST(Shard, RefusesTextsThatAreNoSplit) {
  for (llvm::StringRef text : {"", "2", "0@1", "2@2", "2@-1", "x@0", "2@1:3+3", "2@1:0+4", "2@-:4",
                               "3@-", "2@1 ", "99999999999@0", "65536@0 65536@0"}) {
    llvm::Expected<Shard> shard = Shard::parse(text, {2, 4});
    EXPECT_FALSE(static_cast<bool>(shard)) << text.str();
    llvm::consumeError(shard.takeError());
  }
}

} // namespace
