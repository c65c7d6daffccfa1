//===- HostCopiesTest.cpp - Copies that overlap with their step ------------===//

#include "llmmem/Runtime/HostCopies.h"
#include "gtest/gtest.h"
#include <array>
#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

namespace {

using Bytes = std::vector<unsigned char>;

Bytes numbers(size_t count) {
  Bytes bytes(count);
  std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(1));
  return bytes;
}

double secondsOf(void (*run)()) {
  auto begin = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TEST(HostCopies, BringsBackWhatLeft) {
  // More than the queue holds at a time.
  constexpr size_t count = 200, size = 100;
  Bytes device = numbers(count * size), host(count * size), back(count * size);
  for (size_t copy = 0; copy < count; ++copy)
    llmmem_copy_start(&host[copy * size], &device[copy * size], size, LLMMEM_COPY_TO_HOST);
  for (size_t copy = 0; copy < count; ++copy) {
    llmmem_copy_wait(LLMMEM_COPY_TO_HOST);
    llmmem_copy_start(&back[copy * size], &host[copy * size], size, LLMMEM_COPY_TO_DEVICE);
  }
  for (size_t copy = 0; copy < count; ++copy)
    llmmem_copy_wait(LLMMEM_COPY_TO_DEVICE);
  EXPECT_EQ(back, device);
}

TEST(HostCopies, AreDoneBeforeTheWaitReturns) {
  llmmem_throttle_copies(10'000);
  Bytes device = numbers(1000), host(1000);
  llmmem_copy_start(host.data(), device.data(), 1000, LLMMEM_COPY_TO_HOST); // a tenth of a second
  llmmem_copy_wait(LLMMEM_COPY_TO_HOST);
  llmmem_throttle_copies(0);
  EXPECT_EQ(host, device);
}

TEST(HostCopies, OfOneDirectionRunOneAfterAnother) {
  llmmem_throttle_copies(10'000);
  double seconds = secondsOf([] {
    Bytes from = numbers(500), to(1000);
    llmmem_copy_start(&to[0], &from[0], 500, LLMMEM_COPY_TO_HOST);
    llmmem_copy_start(&to[500], &from[0], 500, LLMMEM_COPY_TO_HOST);
    llmmem_copy_wait(LLMMEM_COPY_TO_HOST);
    llmmem_copy_wait(LLMMEM_COPY_TO_HOST);
  });
  llmmem_throttle_copies(0);
  EXPECT_GE(seconds, 0.1);
}

TEST(HostCopies, OfOtherThreadsAreTheirOwn) {
  Bytes from = numbers(64), mine(64), its(64);
  llmmem_copy_start(mine.data(), from.data(), 64, LLMMEM_COPY_TO_HOST);
  std::thread([&] {
    llmmem_copy_start(its.data(), from.data(), 64, LLMMEM_COPY_TO_HOST);
    llmmem_copy_wait(LLMMEM_COPY_TO_HOST);
    EXPECT_EQ(its, from);
  }).join();
  llmmem_copy_wait(LLMMEM_COPY_TO_HOST);
  EXPECT_EQ(mine, from);
}

struct Update {
  std::atomic<bool> isStarted = false;
  int number = 0;
  bool wasStarted = false;
};

/// Waits until its starter goes on, or for two seconds.
void addOne(void *context, int64_t, int64_t) {
  Update &update = **static_cast<Update **>(context);
  for (int k = 0; k < 200 && !update.isStarted; ++k)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  update.wasStarted = update.isStarted;
  ++update.number;
}

// The thread of updates has its own copy of what it is told.
TEST(HostUpdates, RunBesideTheirStep) {
  std::array<Update, 3> updates;
  for (Update &update : updates) {
    Update *told = &update;
    llmmem_update_start(addOne, static_cast<const void *>(&told), sizeof told);
    told = nullptr;
  }
  for (Update &update : updates)
    update.isStarted = true;
  for (Update &update : updates) {
    llmmem_update_wait();
    EXPECT_TRUE(update.wasStarted);
    EXPECT_EQ(update.number, 1);
  }
}

TEST(HostUpdatesDeathTest, AWaitForNothingEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(llmmem_update_wait(), testing::ExitedWithCode(1),
              "waits for an update that nobody started");
}

TEST(HostCopiesDeathTest, AWaitForNothingEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(llmmem_copy_wait(LLMMEM_COPY_TO_DEVICE), testing::ExitedWithCode(1),
              "waits for a copy that nobody started");
}

} // namespace
