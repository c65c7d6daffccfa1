//===- StartedTest.cpp - Calls that overlap with their rank ----------------===//

#include "llmmem/Runtime/Started.h"
#include "ThreadTransport.h"
#include "llmmem/Runtime/Collectives.h"
#include "gtest/gtest.h"
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace {

constexpr int64_t kCount = 37;

/// An all-reduce over both axes, and its buffers.
struct Sum {
  std::vector<float> x = std::vector<float>(kCount), sum = std::vector<float>(kCount),
                     workspace = std::vector<float>(kCount + 4);

  explicit Sum(float value) { std::fill(x.begin(), x.end(), value); }

  static void run(void *context, int64_t begin, int64_t end) {
    EXPECT_EQ(begin, 0);
    EXPECT_EQ(end, 1);
    Sum &self = **static_cast<Sum **>(context);
    llmmem_all_reduce(self.x.data(), self.sum.data(), self.workspace.data(), kCount,
                      LLMMEM_ELEMENT_F32, /*axes=*/3);
  }

  /// The context is a copy: the local one is gone when the call runs.
  void start() {
    Sum *context = this;
    llmmem_start(run, &context, sizeof context);
    context = nullptr;
  }
};

// More than the runtime keeps at a time, so some starts wait for room.
TEST(Started, GivesWhatDirectCallsGive) {
  constexpr int kCalls = 150;
  runAsRanks({2, 2}, [&](int rank) {
    std::vector<Sum> sums;
    for (int call = 0; call < kCalls; ++call)
      sums.emplace_back(static_cast<float>(10 * call + rank));
    for (Sum &sum : sums)
      sum.start();
    for (int call = 0; call < kCalls; ++call) {
      llmmem_wait();
      EXPECT_EQ(sums[call].sum, std::vector<float>(kCount, 40.0F * call + 6)) << "call " << call;
    }
  });
}

TEST(Started, RunsBesideItsRank) {
  runAsRanks({2}, [&](int) {
    std::atomic<bool> mayEnd = false;
    std::atomic<bool> *context = &mayEnd;
    auto waitForRank = [](void *flag, int64_t, int64_t) {
      while (!**static_cast<std::atomic<bool> **>(flag)) {
      }
    };
    llmmem_start(waitForRank, &context, sizeof context);
    mayEnd = true;
    llmmem_wait();
  });
}

// The transport is never called from two threads at once.
TEST(Started, IsDoneBeforeADirectCall) {
  runAsRanks({2, 2}, [&](int rank) {
    Sum sum(static_cast<float>(rank));
    sum.start();
    std::vector<float> all(4 * kCount);
    llmmem_all_gather(sum.sum.data(), all.data(), 0, LLMMEM_ELEMENT_F32, 3);
    EXPECT_EQ(sum.sum, std::vector<float>(kCount, 6));
    llmmem_wait();
  });
}

TEST(Started, RunsAtOnceWithoutAJob) {
  Sum sum(5);
  sum.start();
  EXPECT_EQ(sum.sum, std::vector<float>(kCount, 5));
  llmmem_wait();
}

TEST(StartedDeathTest, AWaitForNothingEndsTheJob) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(runAsRanks({1}, [](int) { llmmem_wait(); }), ::testing::ExitedWithCode(1),
              "rank 0: waits for a call that nobody started");
}

/// Rank 1 of 2, alone: the other one has a broken cable.
void startOverBrokenCable() {
  llmmem_transport transport = {};
  transport.rank = 1;
  transport.ranks = 2;
  transport.serialized = 1;
  transport.state = &transport;
  transport.open_group = [](void *, int32_t, int32_t, llmmem_group **) { return 0; };
  transport.scatter = [](void *state, llmmem_group *, const void *, llmmem_pieces, void *) {
    std::strcpy(static_cast<llmmem_transport *>(state)->message, "no cable");
    return 1;
  };
  transport.abort = [](void *, int32_t code) { std::_Exit(code); };
  char message[512];
  const int64_t sizes[] = {2, 1};
  ASSERT_EQ(llmmem_ranks_join(&transport, 2, sizes, message, sizeof message), 0) << message;
  Sum sum(1);
  sum.start();
  llmmem_wait();
}

TEST(StartedDeathTest, AFailureEndsTheJobWithTheRanksName) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(startOverBrokenCable(), ::testing::ExitedWithCode(1),
              "rank 1: all_reduce of 148 bytes over 2 ranks failed: no cable");
}

/// Rank 1 of 2 fails on its own thread while the other one is inside the transport, for as long as
/// `seconds` says.
void abortDuringACall(int seconds) {
  static std::atomic<bool> isInside;
  static int length;
  length = seconds;
  llmmem_transport transport = {};
  transport.rank = 1;
  transport.ranks = 2;
  transport.serialized = 1;
  transport.state = &transport;
  transport.open_group = [](void *, int32_t, int32_t, llmmem_group **) { return 0; };
  transport.scatter = [](void *, llmmem_group *, const void *, llmmem_pieces, void *) {
    isInside = true;
    std::this_thread::sleep_for(std::chrono::seconds(length));
    isInside = false;
    return 0;
  };
  transport.gather = [](void *, llmmem_group *, void *, llmmem_pieces) { return 0; };
  transport.abort = [](void *, int32_t code) { std::_Exit(isInside ? 99 : code); };
  char message[512];
  const int64_t sizes[] = {2, 1};
  ASSERT_EQ(llmmem_ranks_join(&transport, 2, sizes, message, sizeof message), 0) << message;
  Sum first(1), second(1);
  first.start();
  second.start();
  while (!isInside) {
  }
  llmmem_ranks_abort(7);
}

TEST(StartedDeathTest, AnAbortWaitsForTheOtherThread) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(abortDuringACall(1), ::testing::ExitedWithCode(7), "");
}

TEST(StartedDeathTest, AnAbortDoesNotWaitForEver) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(abortDuringACall(600), ::testing::ExitedWithCode(7), "");
}

} // namespace
