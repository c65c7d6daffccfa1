//===- ProductPartsTest.cpp - Products that a library computes in parts ----===//

#include "ProductParts.h"
#include "llmmem/Runtime/Gemm.h"
#include "llmmem/Runtime/Parallel.h"
#include "gtest/gtest.h"
#include <atomic>
#include <cmath>
#include <dlfcn.h>
#include <mutex>
#include <numeric>
#include <tuple>
#include <vector>

namespace {

/// Sets the number of threads for one test.
class ProductParts : public ::testing::Test {
protected:
  ~ProductParts() override { llmmem_set_threads(before); }
  int before = llmmem_threads();
};

using Part = std::tuple<int64_t, int64_t, int64_t, int64_t>;

struct Parts {
  std::mutex lock;
  std::vector<Part> all;
};

std::vector<Part> partsOf(int64_t rows, int64_t columns) {
  Parts parts;
  llmmem_for_product_parts(
      rows, columns,
      [](void *context, const llmmem_part *part) {
        auto &parts = *static_cast<Parts *>(context);
        std::lock_guard<std::mutex> guard(parts.lock);
        parts.all.emplace_back(part->row, part->rows, part->column, part->columns);
      },
      &parts);
  std::sort(parts.all.begin(), parts.all.end());
  return parts.all;
}

constexpr std::pair<int64_t, int64_t> kSizes[] = {
    {1, 1},     {1, 1000}, {1000, 1},  {7, 5},     {64, 96},    {65, 97},     {256, 768},
    {257, 769}, {300, 50}, {768, 768}, {768, 800}, {256, 3072}, {256, 50257}, {3072, 768},
};

TEST_F(ProductParts, CoverEachElementOnce) {
  for (int threads : {1, 2, 7, 64})
    for (auto [rows, columns] : kSizes) {
      llmmem_set_threads(threads);
      std::vector<int> times(rows * columns);
      for (auto [row, height, column, width] : partsOf(rows, columns))
        for (int64_t i = row; i < row + height; ++i)
          for (int64_t j = column; j < column + width; ++j)
            ++times.at(i * columns + j);
      EXPECT_EQ(std::count(times.begin(), times.end(), 1), rows * columns)
          << rows << " x " << columns << " on " << threads << " threads";
    }
}

TEST_F(ProductParts, EmptyProductsHaveNone) {
  EXPECT_TRUE(partsOf(0, 10).empty());
  EXPECT_TRUE(partsOf(10, 0).empty());
}

/// Two for each thread, where the product is large enough for that: one that is held up keeps half
/// of its share at most.
TEST_F(ProductParts, AreMoreThanThreads) {
  for (int threads : {2, 4, 8}) {
    llmmem_set_threads(threads);
    for (auto [rows, columns] : {std::pair<int64_t, int64_t>{256, 768}, {768, 768}, {256, 50257}})
      EXPECT_GE(partsOf(rows, columns).size(), 2u * threads) << rows << " x " << columns;
  }
}

/// Whatever runs concurrently, and inside of another loop, where one thread computes all of them.
TEST_F(ProductParts, DependOnSizesAndThreadsAlone) {
  llmmem_set_threads(3);
  std::vector<Part> parts = partsOf(300, 1000);
  struct Context {
    std::vector<Part> expected;
    std::atomic<int> equal = 0;
  } context{parts};
  llmmem_parallel_for(
      20,
      [](void *data, int64_t begin, int64_t end) {
        auto &context = *static_cast<Context *>(data);
        for (int64_t i = begin; i < end; ++i)
          context.equal += partsOf(300, 1000) == context.expected;
      },
      &context);
  EXPECT_EQ(context.equal, 20);
}

/// A program's own number stays, and each part is computed with one.
TEST_F(ProductParts, OpenMPHasOneThreadMeanwhile) {
  int (*max)() = nullptr;
  void (*set)(int) = nullptr;
  if (!llmmem_find_gemm_library())
    GTEST_SKIP() << llmmem_why_no_gemm_library();
  void *openmp = dlopen("libgomp.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (!openmp)
    GTEST_SKIP() << "the library of products has not loaded GNU's OpenMP";
  *reinterpret_cast<void **>(&max) = dlsym(openmp, "omp_get_max_threads");
  *reinterpret_cast<void **>(&set) = dlsym(openmp, "omp_set_num_threads");
  int own = max();
  set(5);
  llmmem_set_threads(2);
  struct Context {
    int (*max)();
    std::atomic<int> parts = 0, alone = 0;
  } context{max};
  llmmem_for_product_parts(
      1000, 1000,
      [](void *data, const llmmem_part *) {
        auto &context = *static_cast<Context *>(data);
        ++context.parts;
        context.alone += context.max() == 1;
      },
      &context);
  EXPECT_EQ(context.alone, context.parts);
  EXPECT_EQ(max(), 5);
  set(own);
}

//===----------------------------------------------------------------------===//
// The library
//===----------------------------------------------------------------------===//

constexpr int64_t kRows = 150, kColumns = 401, kInner = 70, kTerms = 2;

struct Operands {
  std::vector<float> a, b, initial;
  bool aTransposed, bTransposed;

  Operands(bool aTransposed, bool bTransposed)
      : a(kTerms * kRows * kInner), b(kTerms * kInner * kColumns), initial(kRows * kColumns),
        aTransposed(aTransposed), bTransposed(bTransposed) {
    auto fill = [](std::vector<float> &numbers, int64_t factor) {
      for (size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = static_cast<float>(static_cast<int64_t>(i) * factor % 101) / 101.0f - 0.5f;
    };
    fill(a, 37);
    fill(b, 53);
    fill(initial, 29);
  }

  std::vector<float> multiply() const {
    std::vector<float> c(kRows * kColumns, NAN);
    const llmmem_gemm_form form = {.a = {.pitch = aTransposed ? kRows : kInner,
                                         .transposed = aTransposed,
                                         .step = kRows * kInner},
                                   .b = {.pitch = bTransposed ? kInner : kColumns,
                                         .transposed = bTransposed,
                                         .step = kInner * kColumns},
                                   .initial_pitch = kColumns,
                                   .c_pitch = kColumns,
                                   .c_bytes = sizeof(float),
                                   .rows = kRows,
                                   .columns = kColumns,
                                   .inner = kInner,
                                   .terms = kTerms};
    llmmem_find_gemm_library()->f32(&form, a.data(), b.data(), initial.data(), c.data(), 0.5);
    return c;
  }

  /// An element of the exact product.
  double exact(int64_t i, int64_t j) const {
    double sum = 0;
    for (int64_t t = 0; t < kTerms; ++t)
      for (int64_t k = 0; k < kInner; ++k)
        sum += static_cast<double>(
                   a[t * kRows * kInner + (aTransposed ? k * kRows + i : i * kInner + k)]) *
               b[t * kInner * kColumns + (bTransposed ? j * kInner + k : k * kColumns + j)];
    return 0.5 * sum + initial[i * kColumns + j];
  }
};

TEST_F(ProductParts, OfALibraryAreTheProduct) {
  if (!llmmem_find_gemm_library())
    GTEST_SKIP() << llmmem_why_no_gemm_library();
  for (int threads : {1, 2, 7})
    for (int form = 0; form < 4; ++form) {
      llmmem_set_threads(threads);
      Operands operands(form & 1, form & 2);
      std::vector<float> c = operands.multiply();
      double error = 0;
      for (int64_t i = 0; i < kRows; ++i)
        for (int64_t j = 0; j < kColumns; ++j)
          error = std::max(error, std::abs(c[i * kColumns + j] - operands.exact(i, j)));
      EXPECT_LT(error, 1e-4) << "form " << form << " on " << threads << " threads";
    }
}

TEST_F(ProductParts, OfALibraryHaveTheSameBitsInEveryRun) {
  if (!llmmem_find_gemm_library())
    GTEST_SKIP() << llmmem_why_no_gemm_library();
  for (int threads : {1, 2, 7}) {
    llmmem_set_threads(threads);
    Operands operands(false, true);
    std::vector<float> first = operands.multiply();
    for (int run = 0; run < 50; ++run)
      EXPECT_EQ(operands.multiply(), first) << threads << " threads";
  }
}

} // namespace
