//===- ArenaMemoryTest.cpp - What a run has touched, without its plan ------===//

#include "llmmem/Execution/ArenaMemory.h"
#include "gtest/gtest.h"
#include <cstring>

using namespace llmmem;

namespace {

char *baseOf(ArenaMemory &arena) { return static_cast<char *>(arena.base()); }

TEST(ArenaMemory, MeasuresTheHighestByteThatChanged) {
  auto arena = ArenaMemory::allocate(1 << 20);
  ASSERT_TRUE(static_cast<bool>(arena));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(arena->base()) % 256, 0u);
  EXPECT_EQ(arena->measureHighWater(), 0);
  baseOf(*arena)[1000] = 1;
  EXPECT_EQ(arena->measureHighWater(), 1024);
  baseOf(*arena)[500000] = 1;
  EXPECT_EQ(arena->measureHighWater(), 500224);
  baseOf(*arena)[(1 << 20) - 1] = 0;
  EXPECT_EQ(arena->measureHighWater(), 1 << 20);
}

TEST(ArenaMemory, CountsAPageOfWrittenZeros) {
  auto arena = ArenaMemory::allocate(1 << 20);
  ASSERT_TRUE(static_cast<bool>(arena));
  std::memset(baseOf(*arena) + 8192, 0, 4096);
  EXPECT_EQ(arena->measureHighWater(), 12288);
}

TEST(ArenaMemory, HasMemoryOnlyBehindWhatWasTouched) {
  auto arena = ArenaMemory::allocate(int64_t(1) << 36); // more than a small machine has
  ASSERT_TRUE(static_cast<bool>(arena));
  std::memset(baseOf(*arena), 1, 100000);
  EXPECT_LE(arena->measureTouchedPages(), 100000 + 3 * 4096);
}

TEST(ArenaMemory, ShowsAWriteIntoTheSlackBeyondIt) {
  auto arena = ArenaMemory::allocate(1000);
  ASSERT_TRUE(static_cast<bool>(arena));
  std::memset(arena->base(), 1, 1000);
  EXPECT_EQ(arena->measureHighWater(), 1000);
  baseOf(*arena)[1010] = 1;
  EXPECT_EQ(arena->measureHighWater(), 1011);
}

TEST(ArenaMemoryDeathTest, EndsTheProcessWhereAWriteLeavesIt) {
  auto arena = ArenaMemory::allocate(4096);
  ASSERT_TRUE(static_cast<bool>(arena));
  EXPECT_DEATH(static_cast<volatile char *>(arena->base())[4096] = 1, "");
}

TEST(ArenaMemory, RefusesWhatCannotBe) {
  auto arena = ArenaMemory::allocate(-1);
  EXPECT_FALSE(static_cast<bool>(arena));
  llvm::consumeError(arena.takeError());
}

} // namespace
