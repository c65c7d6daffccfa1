//===- ArenaPoolTest.cpp - Device memory at the places of a plan -----------===//
//
// Against a driver whose memory is the host's. No GPU is needed.
//
//===----------------------------------------------------------------------===//

#include "llmmem/Runtime/ArenaPool.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

void *const kStream = reinterpret_cast<void *>(0x10);
void *const kOther = reinterpret_cast<void *>(0x20);

/// Step 0 writes a value of 1,024 bytes, which step 2 reads; steps 1 and 2 write values of 512 and
/// 2,048, the latter in the bytes of step 1's.
const int32_t kSteps[] = {0, 1, 2};
const int64_t kSizes[] = {1024, 512, 2048}, kOffsets[] = {0, 1024, 1536};
constexpr int64_t kArena = 4096;

class ArenaPool : public testing::Test {
protected:
  void SetUp() override {
    unsetenv("LLMMEM_FAKE_CUDA_LOG");
    unsetenv("LLMMEM_FAKE_CUDA_FAIL");
    unsetenv("LLMMEM_FAKE_CUDA_FREE");
    char message[512] = "";
    pool = llmmem_pool_open(LLMMEM_FAKE_CUDA, 0, message, sizeof message);
    ASSERT_NE(pool, nullptr) << message;
  }
  void TearDown() override { llmmem_pool_close(pool); }

  int add(llmmem_pool_plan plan, char (&message)[512]) {
    return llmmem_pool_add_plan(pool, &plan, message, sizeof message);
  }
  int addPlan() {
    char message[512] = "";
    int plan = add({kArena, 3, kSteps, kSizes, kOffsets}, message);
    EXPECT_EQ(std::string(message), "");
    return plan;
  }
  std::string refuse(int64_t arena, std::vector<int32_t> steps, std::vector<int64_t> sizes,
                     std::vector<int64_t> offsets) {
    char message[512] = "";
    EXPECT_EQ(
        add({arena, (int64_t)steps.size(), steps.data(), sizes.data(), offsets.data()}, message),
        -1);
    return message;
  }
  llmmem_pool_usage usage() {
    llmmem_pool_usage found = {};
    found.size = sizeof found;
    llmmem_pool_get_usage(pool, &found);
    return found;
  }
  uint64_t allocate(int64_t bytes, void *stream = kStream) {
    return llmmem_pool_allocate(pool, bytes, stream);
  }

  llmmem_pool *pool = nullptr;
};

TEST_F(ArenaPool, ServesThePlacesOfThePlan) {
  int plan = addPlan();
  ASSERT_EQ(llmmem_pool_begin(pool, plan, 0, 3, kStream), 0);
  uint64_t first = allocate(1000), second = allocate(512), third = allocate(2048);
  EXPECT_EQ(second - first, 1024u);
  EXPECT_EQ(third - first, 1536u);
  llmmem_pool_end(pool);
  EXPECT_EQ(usage().planned, 3);
  EXPECT_EQ(usage().reserved, kArena);
  EXPECT_EQ(usage().most_reserved, kArena);
  EXPECT_EQ(usage().arenas, kArena);
  EXPECT_EQ(usage().allocated, 3584);
  EXPECT_EQ(usage().unused, 0);
}

TEST_F(ArenaPool, ServesEachRunTheSameAddresses) {
  int plan = addPlan();
  std::vector<uint64_t> runs[2];
  for (auto &run : runs) {
    llmmem_pool_begin(pool, plan, 0, 3, kStream);
    for (int64_t size : kSizes)
      run.push_back(allocate(size));
    for (uint64_t address : run)
      llmmem_pool_free(pool, address);
    llmmem_pool_end(pool);
  }
  EXPECT_EQ(runs[0], runs[1]);
  EXPECT_EQ(usage().most_reserved, kArena);
}

TEST_F(ArenaPool, ServesWhatAStepAllocatesInAnyOrder) {
  const int32_t steps[] = {0, 0};
  const int64_t sizes[] = {512, 1024}, offsets[] = {0, 512};
  char message[512];
  int plan = add({2048, 2, steps, sizes, offsets}, message);
  llmmem_pool_begin(pool, plan, 0, 2, kStream);
  uint64_t larger = allocate(1024), smaller = allocate(512);
  EXPECT_EQ(larger - smaller, 512u);
  EXPECT_EQ(usage().planned, 2);
}

TEST_F(ArenaPool, GivesUnknownAllocationsMemoryElsewhere) {
  int plan = addPlan();
  llmmem_pool_begin(pool, plan, 0, 3, kStream);
  uint64_t first = allocate(1024), unknown = allocate(4096), second = allocate(512);
  EXPECT_EQ(second - first, 1024u);
  EXPECT_TRUE(unknown < first || unknown >= first + kArena);
  EXPECT_EQ(usage().unknown, 1);
  EXPECT_EQ(usage().most_elsewhere, 4096);
  EXPECT_EQ(usage().reserved, kArena + 4096);
  llmmem_pool_free(pool, unknown);
  EXPECT_EQ(usage().allocated, 1536);
}

TEST_F(ArenaPool, LeavesAloneWhatIsHeldLongerThanPlanned) {
  int plan = addPlan();
  llmmem_pool_begin(pool, plan, 0, 3, kStream);
  uint64_t held = allocate(1024);
  memset(reinterpret_cast<void *>(held), 7, 1024);
  llmmem_pool_end(pool);
  llmmem_pool_begin(pool, plan, 0, 3, kStream);
  uint64_t again = allocate(1024);
  ASSERT_NE(again, held);
  memset(reinterpret_cast<void *>(again), 9, 1024);
  EXPECT_EQ(*reinterpret_cast<char *>(held), 7);
  EXPECT_EQ(usage().taken, 1);
  EXPECT_EQ(allocate(512) - held, 1024u);
}

TEST_F(ArenaPool, GoesOnAfterAnAllocationThatDoesNotCome) {
  int plan = addPlan();
  llmmem_pool_begin(pool, plan, 0, 3, kStream);
  uint64_t first = allocate(1024), third = allocate(2048);
  EXPECT_EQ(third - first, 1536u);
  // Its step is over.
  uint64_t late = allocate(512);
  EXPECT_TRUE(late < first || late >= first + kArena);
  llmmem_pool_end(pool);
  EXPECT_EQ(usage().unused, 1);
  EXPECT_EQ(usage().unknown, 1);
}

TEST_F(ArenaPool, ServesOtherStreamsElsewhere) {
  int plan = addPlan();
  llmmem_pool_begin(pool, plan, 0, 3, kStream);
  uint64_t other = allocate(1024, kOther), first = allocate(1024);
  EXPECT_TRUE(other < first || other >= first + kArena);
  EXPECT_EQ(usage().unknown, 0);
}

TEST_F(ArenaPool, ServesPartsOfAPlanOneAfterTheOther) {
  int plan = addPlan();
  llmmem_pool_begin(pool, plan, 0, 1, kStream);
  uint64_t first = allocate(1024);
  llmmem_pool_begin(pool, plan, 1, 3, kStream);
  EXPECT_EQ(allocate(512) - first, 1024u);
  EXPECT_EQ(llmmem_pool_begin(pool, plan, 1, 4, kStream), 1);
  EXPECT_EQ(llmmem_pool_begin(pool, 5, 0, 0, kStream), 1);
}

TEST_F(ArenaPool, KeepsWhatIsFreedElsewhereForItsStream) {
  uint64_t first = allocate(1 << 20);
  llmmem_pool_free(pool, first);
  EXPECT_NE(allocate(1 << 20, kOther), first);
  EXPECT_EQ(allocate(1 << 20), first);
  EXPECT_EQ(usage().reserved, 2 << 20);
}

TEST_F(ArenaPool, ReturnsWhatItKeepsBeforeMemoryRunsOut) {
  llmmem_pool_close(pool);
  setenv("LLMMEM_FAKE_CUDA_FREE", "1048576", 1);
  char message[512];
  pool = llmmem_pool_open(LLMMEM_FAKE_CUDA, 0, message, sizeof message);
  uint64_t first = allocate(1 << 19);
  llmmem_pool_free(pool, first);
  EXPECT_NE(allocate((1 << 20) - 4096), 0u);
  EXPECT_EQ(usage().reserved, (1 << 20) - 4096);
  EXPECT_EQ(allocate(8192), 0u);
  EXPECT_EQ(add({kArena * 2, 3, kSteps, kSizes, kOffsets}, message), -1);
  EXPECT_EQ(std::string(message), "the device has no 8192 bytes for the plan's arena");
  unsetenv("LLMMEM_FAKE_CUDA_FREE");
}

TEST_F(ArenaPool, RemovesAPlanOnceNothingOfItIsInUse) {
  int plan = addPlan();
  llmmem_pool_begin(pool, plan, 0, 3, kStream);
  uint64_t first = allocate(1024);
  llmmem_pool_end(pool);
  EXPECT_EQ(llmmem_pool_remove_plan(pool, plan), 1);
  llmmem_pool_free(pool, first);
  EXPECT_EQ(llmmem_pool_remove_plan(pool, plan), 0);
  EXPECT_EQ(usage().reserved, 0);
  EXPECT_EQ(llmmem_pool_begin(pool, plan, 0, 3, kStream), 1);
}

TEST_F(ArenaPool, RefusesPlansThatHaveNoPlace) {
  EXPECT_EQ(
      refuse(4096, {0, 1}, {512, 512}, {0, 4096}),
      "allocation 1 of the plan has no place in an arena of 4096 bytes: sizes and offsets are "
      "multiples of 512, and steps do not descend");
  for (auto &why : {refuse(4096, {0}, {100}, {0}), refuse(4096, {0}, {512}, {-512}),
                    refuse(4096, {1, 0}, {512, 512}, {0, 512}), refuse(0, {}, {}, {}),
                    refuse(4096, {0}, {INT64_MAX / 512 * 512}, {512})})
    EXPECT_NE(why.find("has no place"), std::string::npos);
}

TEST_F(ArenaPool, IgnoresAddressesThatItHasNotGiven) {
  addPlan();
  uint64_t first = allocate(512);
  llmmem_pool_free(pool, first + 8);
  llmmem_pool_free(pool, first);
  llmmem_pool_free(pool, first);
  EXPECT_EQ(usage().allocated, 0);
  EXPECT_EQ(allocate(0), 0u);
  EXPECT_EQ(allocate(-1), 0u);
}

TEST_F(ArenaPool, WritesNoMoreUsageThanItsCallerKnows) {
  allocate(512);
  struct {
    llmmem_pool_usage usage;
  } earlier;
  memset(&earlier, 1, sizeof earlier);
  earlier.usage.size = offsetof(llmmem_pool_usage, most_allocated);
  llmmem_pool_get_usage(pool, &earlier.usage);
  EXPECT_EQ(earlier.usage.allocated, 512);
  EXPECT_EQ(earlier.usage.reserved, 0x0101010101010101);
}

/// Whatever is asked for and in which order, no two allocations in use share a byte.
TEST_F(ArenaPool, NeverGivesBytesTwice) {
  std::mt19937 random(7);
  int plans[] = {addPlan(), addPlan()};
  std::map<uint64_t, uint64_t> live; // Begins to ends.
  for (int k = 0; k < 1500; ++k) {
    unsigned choice = random() % 10;
    if (choice == 0) {
      llmmem_pool_begin(pool, plans[random() % 2], 0, 3, kStream);
    } else if (choice < 5 && !live.empty()) {
      auto chosen = std::next(live.begin(), random() % live.size());
      llmmem_pool_free(pool, chosen->first);
      live.erase(chosen);
    } else if (live.size() < 40) {
      int64_t size = kSizes[random() % 3];
      uint64_t begin = allocate(size, random() % 4 ? kStream : kOther);
      ASSERT_NE(begin, 0u);
      auto after = live.lower_bound(begin);
      ASSERT_TRUE(after == live.end() || begin + size <= after->first);
      ASSERT_TRUE(after == live.begin() || std::prev(after)->second <= begin);
      live[begin] = begin + size;
    }
  }
  EXPECT_GT(usage().planned, 50);
  EXPECT_GT(usage().taken, 50);
}

TEST_F(ArenaPool, IsUsedByThreads) {
  int plan = addPlan();
  llmmem_pool_begin(pool, plan, 0, 3, kStream);
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; ++k)
    threads.emplace_back([this, k] {
      for (int j = 0; j < 200; ++j)
        llmmem_pool_free(pool, allocate(512 << (j % 3), k % 2 ? kStream : kOther));
    });
  for (auto &thread : threads)
    thread.join();
  EXPECT_EQ(usage().allocated, 0);
}

TEST(ArenaPoolDriver, SaysWhyItDoesNotOpen) {
  char message[512];
  EXPECT_EQ(llmmem_pool_open("libno-such-driver.so", 0, message, sizeof message), nullptr);
  EXPECT_NE(std::string(message).find("found no CUDA driver"), std::string::npos);
}

} // namespace
