//===- ThreadsTest.cpp - Any number of threads gives the same bits ---------===//

#include "llmmem/Runtime/Parallel.h"
#include "Check.h"
#include <atomic>

using namespace llmmem::test;

namespace {

/// Sets the number of threads for one test.
class Threads : public ::testing::Test {
protected:
  ~Threads() override { llmmem_set_threads(before); }
  int before = llmmem_threads();
};

struct Visits {
  std::vector<std::atomic<int>> turns = std::vector<std::atomic<int>>(1000);
  std::atomic<int> nested = 0;
};

TEST_F(Threads, EveryTurnRunsOnce) {
  for (int threads : {1, 2, 7}) {
    llmmem_set_threads(threads);
    Visits visits;
    llmmem_parallel_for(
        1000,
        [](void *context, int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            ++static_cast<Visits *>(context)->turns[i];
        },
        &visits);
    for (std::atomic<int> &count : visits.turns)
      EXPECT_EQ(count, 1);
  }
}

TEST_F(Threads, AParallelLoopInsideAnotherRunsOnItsThread) {
  llmmem_set_threads(2);
  Visits visits;
  llmmem_parallel_for(
      10,
      [](void *context, int64_t begin, int64_t end) {
        auto inner = [](void *context, int64_t begin, int64_t end) {
          // All in one piece: nothing was shared out.
          EXPECT_EQ(begin, 0);
          EXPECT_EQ(end, 5);
          static_cast<Visits *>(context)->nested += 5;
        };
        for (int64_t i = begin; i < end; ++i)
          llmmem_parallel_for(5, inner, context);
      },
      &visits);
  EXPECT_EQ(visits.nested, 50);
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
  EXPECT_EQ(run(5), alone);
}

} // namespace
