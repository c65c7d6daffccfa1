//===- AccessHistoryTest.cpp - Which accesses are races --------------------===//

#include "AccessHistory.h"
#include "gtest/gtest.h"
#include <array>

using namespace llmmem::emulation;

namespace {

/// One byte, and threads that touch it. Times: a launch, its blocks, their barriers.
class AccessHistoryTest : public ::testing::Test {
protected:
  AccessHistoryTest() : history(1) { nextLaunch(); }

  void nextLaunch() {
    now.launch = ++time;
    nextBlock();
  }
  void nextBlock() { now.block = now.epoch = ++time; }
  void barrier() { now.epoch = ++time; }

  bool read(uint32_t thread, uint32_t warpBarriers = 0) {
    return history.read(0, 1, AccessRecord::of(now.epoch, warpBarriers, thread), now, race);
  }
  bool write(uint32_t thread, uint32_t warpBarriers = 0) {
    return history.write(0, 1, AccessRecord::of(now.epoch, warpBarriers, thread), now, race);
  }

  AccessHistory history;
  AccessHistory::Race race;
  Now now;
  uint32_t time = 0;
};

TEST_F(AccessHistoryTest, OneThreadIsInOrder) { EXPECT_TRUE(write(5) && read(5) && write(5)); }

TEST_F(AccessHistoryTest, ReadsAloneAreNoRace) {
  EXPECT_TRUE(read(1) && read(2) && read(40));
  nextBlock();
  EXPECT_TRUE(read(1));
}

TEST_F(AccessHistoryTest, WriteThenReadOfAnother) {
  EXPECT_TRUE(write(1));
  EXPECT_FALSE(read(2));
  EXPECT_TRUE(race.otherWrites);
  EXPECT_EQ(race.other.thread(), 1u);
}

TEST_F(AccessHistoryTest, ReadThenWriteOfAnother) {
  EXPECT_TRUE(read(1));
  EXPECT_FALSE(write(2));
  EXPECT_FALSE(race.otherWrites);
}

TEST_F(AccessHistoryTest, AReadBeforeAnothersReadIsRemembered) {
  EXPECT_TRUE(read(1) && read(2));
  EXPECT_FALSE(write(2)); // thread 1 has read it too
}

TEST_F(AccessHistoryTest, BarriersOrderABlock) {
  EXPECT_TRUE(write(1));
  barrier();
  EXPECT_TRUE(read(2) && read(70));
  barrier();
  EXPECT_TRUE(write(3));
}

TEST_F(AccessHistoryTest, BarriersDoNotOrderBlocks) {
  EXPECT_TRUE(read(1));
  nextBlock();
  barrier();
  EXPECT_FALSE(write(1));
}

TEST_F(AccessHistoryTest, ReadsOfSeveralBlocksAreRemembered) {
  EXPECT_TRUE(read(1));
  nextBlock();
  EXPECT_TRUE(read(1));
  barrier();
  EXPECT_FALSE(write(1));
}

TEST_F(AccessHistoryTest, LaunchesAreInOrder) {
  EXPECT_TRUE(write(1));
  nextLaunch();
  EXPECT_TRUE(read(2));
  nextLaunch();
  EXPECT_TRUE(write(3));
}

TEST_F(AccessHistoryTest, WarpBarriersOrderTheirWarp) {
  EXPECT_TRUE(write(1, 0) && read(2, 1) && read(3, 1));
  EXPECT_FALSE(write(2, 1)); // lane 3 has read it too
}

TEST_F(AccessHistoryTest, WarpBarriersOrderReadsBeforeWrites) {
  EXPECT_TRUE(read(2, 0) && read(3, 0) && write(4, 1));
}

TEST_F(AccessHistoryTest, WarpBarriersDoNotOrderOtherWarps) {
  EXPECT_TRUE(write(1, 0));
  EXPECT_FALSE(read(33, 5));
}

TEST_F(AccessHistoryTest, ReadsOfSeveralWarpsAreRemembered) {
  EXPECT_TRUE(read(1, 0) && read(33, 0) && read(33, 1));
  EXPECT_FALSE(write(33, 2)); // no barrier of a warp orders lane 1 of the other
}

/// Two blocks of a cluster, which take turns.
class ClusterHistoryTest : public ::testing::Test {
protected:
  ClusterHistoryTest() : history(1) { beginCluster(); }

  void beginCluster() {
    uint32_t begin = time + 1;
    for (int32_t rank : {0, 1}) {
      blocks[rank] = {times.begin, begin, next(rank), /*met=*/0, &times, rank};
    }
  }
  void barrier(int32_t rank) { blocks[rank].epoch = next(rank); }
  void meet() {
    uint32_t met = time + 1;
    for (int32_t rank : {0, 1}) {
      blocks[rank].met = met;
      barrier(rank);
    }
  }
  bool read(int32_t rank, uint32_t thread = 0) {
    return history.read(0, 1, AccessRecord::of(blocks[rank].epoch, 0, thread), blocks[rank], race);
  }
  bool write(int32_t rank, uint32_t thread = 0) {
    return history.write(0, 1, AccessRecord::of(blocks[rank].epoch, 0, thread), blocks[rank], race);
  }

private:
  uint32_t next(int32_t rank) {
    times.blocks.push_back(rank);
    return ++time;
  }

protected:
  AccessHistory history;
  AccessHistory::Race race;
  BlocksByTime times = {1, {-1}};
  std::array<Now, 2> blocks;
  uint32_t time = 1;
};

TEST_F(ClusterHistoryTest, BlocksAreNotOrderedByTheirOwnBarriers) {
  EXPECT_TRUE(write(1));
  barrier(0);
  barrier(1);
  EXPECT_FALSE(read(0));
  EXPECT_TRUE(read(1));
}

TEST_F(ClusterHistoryTest, BlocksAreOrderedWhereTheyMeet) {
  EXPECT_TRUE(write(1));
  meet();
  EXPECT_TRUE(read(0) && read(1));
  meet();
  EXPECT_TRUE(write(0));
  barrier(0);
  EXPECT_TRUE(write(0, 5));
  EXPECT_FALSE(write(1));
}

TEST_F(ClusterHistoryTest, ReadsOfBothBlocksAreRemembered) {
  meet();
  EXPECT_TRUE(read(0) && read(1));
  barrier(1);
  EXPECT_TRUE(read(1));
  EXPECT_FALSE(write(1));
  EXPECT_TRUE(race.other.has(AccessRecord::kSeveralOfCluster));
  meet();
  EXPECT_TRUE(write(1));
}

TEST_F(ClusterHistoryTest, OtherClustersAreNotOrdered) {
  EXPECT_TRUE(write(0));
  meet();
  beginCluster();
  EXPECT_FALSE(read(0));
  meet();
  EXPECT_FALSE(read(1));
}

TEST_F(AccessHistoryTest, KnowsWhatNobodyWrote) {
  AccessHistory bytes(4);
  bytes.write(1, 2, AccessRecord::of(now.epoch, 0, 0), now, race);
  EXPECT_EQ(bytes.firstUnwritten(1, 2, now.launch), -1);
  EXPECT_EQ(bytes.firstUnwritten(0, 4, now.launch), 0);
  EXPECT_EQ(bytes.firstUnwritten(1, 3, now.launch), 3);
  nextLaunch();
  EXPECT_EQ(bytes.firstUnwritten(1, 2, now.launch), 1);
}

} // namespace
