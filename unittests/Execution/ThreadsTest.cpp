//===- ThreadsTest.cpp - Any number of threads gives the same bits ---------===//

#include "Check.h"
#include "llmmem/Runtime/Parallel.h"
#include <atomic>
#include <chrono>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace llmmem::test;

namespace {

/// Sets the number of threads for one test.
class Threads : public ::testing::Test {
protected:
  ~Threads() override { llmmem_set_threads(before); }
  int before = llmmem_threads();
};

/// More threads than the machine has cores, too.
constexpr int kThreads[] = {1, 2, 7};

struct Visits {
  explicit Visits(int64_t count) : counts(count) {}
  std::vector<std::atomic<int>> counts;

  void run() {
    llmmem_parallel_for(
        static_cast<int64_t>(counts.size()),
        [](void *context, int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            ++static_cast<Visits *>(context)->counts[i];
        },
        this);
  }

  /// Iterations that did not run `times` times.
  int64_t wrong(int times) const {
    return llvm::count_if(counts, [&](const std::atomic<int> &count) { return count != times; });
  }
};

TEST_F(Threads, EveryIterationRunsOnce) {
  for (int threads : kThreads) {
    llmmem_set_threads(threads);
    for (int64_t count : {0, 1, 2, 3, 31, 32, 33, 1000}) {
      Visits visits(count);
      visits.run();
      EXPECT_EQ(visits.wrong(1), 0) << count << " iterations on " << threads << " threads";
    }
  }
}

/// Each opens and closes before a thread that sleeps has woken.
TEST_F(Threads, ManyTinyLoopsRunOneAfterAnother) {
  for (int threads : kThreads) {
    llmmem_set_threads(threads);
    Visits visits(3);
    for (int loop = 0; loop < 20000; ++loop)
      visits.run();
    EXPECT_EQ(visits.wrong(20000), 0) << threads << " threads";
  }
}

/// Longer than threads wait awake, before a loop and at its end.
TEST_F(Threads, LoopsFindThreadsThatSleep) {
  for (int threads : kThreads) {
    llmmem_set_threads(threads);
    std::atomic<int> done = 0;
    for (int loop = 1; loop <= 10; ++loop) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      llmmem_parallel_for(
          4,
          [](void *context, int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
              std::this_thread::sleep_for(std::chrono::milliseconds(i));
              ++*static_cast<std::atomic<int> *>(context);
            }
          },
          &done);
      EXPECT_EQ(done, 4 * loop) << threads << " threads";
    }
  }
}

struct HeldUp {
  std::atomic<int> others = 0;
  bool sawAll = false;
};

/// The first iteration ends when all others have run: whoever divides them among threads beforehand
/// leaves some to the thread that waits.
TEST_F(Threads, AThreadThatIsHeldUpHoldsUpNoOtherIteration) {
  llmmem_set_threads(2);
  HeldUp heldUp;
  llmmem_parallel_for(
      32,
      [](void *context, int64_t begin, int64_t end) {
        auto &heldUp = *static_cast<HeldUp *>(context);
        auto giveUp = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        for (int64_t i = begin; i < end; ++i) {
          if (i > 0) {
            ++heldUp.others;
            continue;
          }
          while (heldUp.others < 31 && std::chrono::steady_clock::now() < giveUp)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          heldUp.sawAll = heldUp.others == 31;
        }
      },
      &heldUp);
  EXPECT_TRUE(heldUp.sawAll) << heldUp.others << " of 31 iterations ran next to the one held up";
}

/// A fork has the caller alone: threads that never come are not waited for.
TEST_F(Threads, ThreadsThatNeverBeginAreNotWaitedFor) {
  llmmem_set_threads(2);
  Visits(100).run();
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60); // a loop that waits ends the child
    Visits visits(100);
    visits.run();
    _exit(visits.wrong(1) == 0 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}

TEST_F(Threads, LoopsOfTwoCallersRunBesideEachOther) {
  auto callMany = [](Visits &visits) {
    llmmem_set_threads(2);
    for (int loop = 0; loop < 1000; ++loop)
      visits.run();
  };
  Visits ours(100), theirs(100);
  std::thread other([&] { callMany(theirs); });
  callMany(ours);
  other.join();
  EXPECT_EQ(ours.wrong(1000), 0);
  EXPECT_EQ(theirs.wrong(1000), 0);
}

TEST_F(Threads, AParallelLoopInsideAnotherRunsOnItsThread) {
  for (int threads : {2, 7}) {
    llmmem_set_threads(threads);
    std::atomic<int> nested = 0;
    llmmem_parallel_for(
        10,
        [](void *context, int64_t begin, int64_t end) {
          auto inner = [](void *context, int64_t begin, int64_t end) {
            // All in one piece: nothing was shared out.
            EXPECT_EQ(begin, 0);
            EXPECT_EQ(end, 5);
            *static_cast<std::atomic<int> *>(context) += 5;
          };
          for (int64_t i = begin; i < end; ++i)
            llmmem_parallel_for(5, inner, context);
        },
        &nested);
    EXPECT_EQ(nested, 50) << threads << " threads";
  }
}

/// Products inside of a loop are divided by this number, whichever thread computes them.
TEST_F(Threads, InsideALoopThereAreAsManyAsItHas) {
  for (int threads : kThreads) {
    llmmem_set_threads(threads);
    struct Context {
      int threads;
      std::atomic<int> equal = 0;
    } context{threads};
    llmmem_parallel_for(
        100,
        [](void *data, int64_t begin, int64_t end) {
          auto &context = *static_cast<Context *>(data);
          context.equal += llmmem_threads() == context.threads ? static_cast<int>(end - begin) : 0;
        },
        &context);
    EXPECT_EQ(context.equal, 100) << threads << " threads";
  }
}

TEST_F(Threads, NoNumberBelowOneIsTaken) {
  llmmem_set_threads(3);
  for (int threads : {0, -1}) {
    llmmem_set_threads(threads);
    EXPECT_EQ(llmmem_threads(), 3);
  }
  llmmem_set_threads(1 << 20);
  EXPECT_EQ(llmmem_threads(), 1024);
}

/// Enough elements for several pieces, and a rest that is no whole vector.
TEST_F(Threads, ElementsAndUpdatesHaveTheSameBits) {
  constexpr int64_t count = 100003;
  Numbers x = someNumbers(count, 1), dy = someNumbers(count, 2), small = someNumbers(count, 3);
  auto run = [&](int threads) {
    llmmem_set_threads(threads);
    return runStep(
        R"(func.func @step(%x: tensor<100003xf32>, %dy: tensor<100003xf32>, %m: tensor<100003xf32>,
                           %seed: tensor<2xi32>, %lr: tensor<f32>, %t: tensor<i32>)
      -> (tensor<100003xf32>, tensor<100003xf32>, tensor<100003xf32>, tensor<100003xf32>, tensor<100003xf32>) {
    %0 = llm.gelu %x : tensor<100003xf32>
    %1 = llm.gelu_grad %x, %dy : tensor<100003xf32>
    %2 = llm.dropout %1, %seed {p = 0.3 : f64, key = 5 : i64} : tensor<100003xf32>, tensor<2xi32>
    %3 = llm.mul %m, %m : tensor<100003xf32>
    %p, %m1, %v1 = llm.adamw %x, %2, %m, %3, %lr, %t
      {beta1 = 0.9 : f64, beta2 = 0.95 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64}
      : (tensor<100003xf32>, tensor<100003xf32>, tensor<100003xf32>, tensor<100003xf32>, tensor<f32>, tensor<i32>)
      -> (tensor<100003xf32>, tensor<100003xf32>, tensor<100003xf32>)
    return %0, %2, %p, %m1, %v1
      : tensor<100003xf32>, tensor<100003xf32>, tensor<100003xf32>, tensor<100003xf32>, tensor<100003xf32>
  })",
        {x, dy, small, {17, 4}, {1e-3}, {3}});
  };
  std::vector<Numbers> alone = run(1);
  EXPECT_EQ(run(2), alone);
  EXPECT_EQ(run(7), alone);
}

} // namespace
