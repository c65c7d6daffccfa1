//===- RelativeKernelsTest.cpp - Biases by distance against plain C++ -----===//

#include "Check.h"
#include "llmmem/Dialect/RelativePositions.h"

using namespace llmmem::test;
using llmmem::llm::RelativePositions;

namespace {

/// Where the bucket changes, from distance -200 on, and to which.
std::vector<std::pair<int64_t, int64_t>> changes(RelativePositions positions) {
  std::vector<std::pair<int64_t, int64_t>> found;
  for (int64_t distance = -200; distance <= 200; ++distance)
    if (int64_t bucket = positions.bucketOf(distance);
        found.empty() || found.back().second != bucket)
      found.push_back({distance, bucket});
  return found;
}

// What transformers 5.23 gives (T5Attention._relative_position_bucket), in float32.
TEST(RelativePositions, BucketsAreThePublicOnes) {
  using Changes = std::vector<std::pair<int64_t, int64_t>>;
  EXPECT_EQ(changes({.buckets = 32, .maxDistance = 128, .bidirectional = true}),
            (Changes{{-200, 15}, {-90, 14}, {-63, 13}, {-45, 12}, {-31, 11}, {-22, 10}, {-15, 9},
                     {-11, 8},   {-7, 7},   {-6, 6},   {-5, 5},   {-4, 4},   {-3, 3},   {-2, 2},
                     {-1, 1},    {0, 0},    {1, 17},   {2, 18},   {3, 19},   {4, 20},   {5, 21},
                     {6, 22},    {7, 23},   {8, 24},   {12, 25},  {16, 26},  {23, 27},  {32, 28},
                     {46, 29},   {64, 30},  {91, 31}}));
  EXPECT_EQ(changes({.buckets = 32, .maxDistance = 128}),
            (Changes{{-200, 31}, {-112, 30}, {-98, 29}, {-86, 28}, {-76, 27}, {-66, 26}, {-58, 25},
                     {-51, 24},  {-45, 23},  {-39, 22}, {-34, 21}, {-30, 20}, {-26, 19}, {-23, 18},
                     {-20, 17},  {-18, 16},  {-15, 15}, {-14, 14}, {-13, 13}, {-12, 12}, {-11, 11},
                     {-10, 10},  {-9, 9},    {-8, 8},   {-7, 7},   {-6, 6},   {-5, 5},   {-4, 4},
                     {-3, 3},    {-2, 2},    {-1, 1},   {0, 0}}));
  EXPECT_EQ(changes({.buckets = 8, .maxDistance = 11}),
            (Changes{{-200, 7}, {-8, 6}, {-6, 5}, {-5, 4}, {-3, 3}, {-2, 2}, {-1, 1}, {0, 0}}));
}

TEST(RelativePositions, RangesAreOfNeighbours) {
  RelativePositions positions{
      .buckets = 8, .maxDistance = 11, .bidirectional = true, .queries = 6, .keys = 3};
  int64_t covered = 0;
  for (auto [bucket, range] : llvm::enumerate(positions.ranges())) {
    for (int64_t place = range.begin; place < range.end; ++place)
      EXPECT_EQ(positions.bucketOf(place - 5), static_cast<int64_t>(bucket));
    covered += range.end - range.begin;
  }
  EXPECT_EQ(covered, positions.distances());
}

class RelativeKernels : public KernelTest {
protected:
  static constexpr int kBatch = 2, kHeads = 3, kQueries = 21, kKeys = 37;
  static constexpr int kDistances = kQueries + kKeys - 1;
  RelativePositions positions{
      .buckets = 8, .maxDistance = 11, .bidirectional = true, .queries = kQueries, .keys = kKeys};
  Numbers scores = someNumbers(kBatch * kHeads * kQueries * kKeys, 1);

  static int place(int b, int h, int i, int j) {
    return ((b * kHeads + h) * kQueries + i) * kKeys + j;
  }
};

TEST_P(RelativeKernels, BiasesOfDistancesAndTheirTable) {
  Numbers table = someNumbers(8 * kHeads, 2), bias, into = someNumbers(8 * kHeads, 3), sums = into;
  for (int h = 0; h < kHeads; ++h)
    for (int d = 0; d < kDistances; ++d) {
      int64_t entry = positions.bucketOf(d - (kQueries - 1)) * kHeads + h;
      bias.push_back(table[entry]);
      sums[entry] += scores[h * kDistances + d];
    }
  Numbers dbias(scores.begin(), scores.begin() + kHeads * kDistances);
  std::vector<Numbers> r = run(
      R"(func.func @step(%t: tensor<8x3xT>, %d: tensor<3x57xT>, %i: tensor<8x3xT>) -> (tensor<3x57xT>, tensor<8x3xT>) {
    %0 = llm.relative_bias %t {queries = 21 : i64, keys = 37 : i64, max_distance = 11 : i64, bidirectional}
      : tensor<8x3xT> -> tensor<3x57xT>
    %1 = llm.relative_bias_grad %d into(%i) {queries = 21 : i64, keys = 37 : i64, max_distance = 11 : i64, bidirectional}
      : (tensor<3x57xT>, tensor<8x3xT>) -> tensor<8x3xT>
    return %0, %1 : tensor<3x57xT>, tensor<8x3xT>
  })",
      {table, dbias, into});
  EXPECT_EQ(r[0], bias);
  expectNear(r[1], sums, tolerance());
}

TEST_P(RelativeKernels, DiagonalsOfScores) {
  Numbers bias = someNumbers(kHeads * kDistances, 2), added = scores, sums(bias.size());
  for (int b = 0; b < kBatch; ++b)
    for (int h = 0; h < kHeads; ++h)
      for (int i = 0; i < kQueries; ++i)
        for (int j = 0; j < kKeys; ++j) {
          int distance = h * kDistances + j - i + kQueries - 1;
          added[place(b, h, i, j)] += bias[distance];
          sums[distance] += scores[place(b, h, i, j)];
        }
  std::vector<Numbers> r = run(
      R"(func.func @step(%s: tensor<2x3x21x37xT>, %b: tensor<3x57xT>) -> (tensor<2x3x21x37xT>, tensor<3x57xT>) {
    %0 = llm.add_relative_bias %s, %b : tensor<2x3x21x37xT>, tensor<3x57xT>
    %1 = llm.sum_diagonals %s : tensor<2x3x21x37xT> -> tensor<3x57xT>
    return %0, %1 : tensor<2x3x21x37xT>, tensor<3x57xT>
  })",
      {scores, bias});
  expectNear(r[0], added, tolerance());
  expectNear(r[1], sums, tolerance());
}

LLMMEM_ALL_ELEMENT_TYPES(RelativeKernels);

TEST(ShiftTokens, BehindTheStart) {
  Numbers labels = {7, 8, -100, 9, 1, -100, -100, 2};
  EXPECT_EQ(runStep(R"(func.func @step(%l: tensor<2x4xi32>) -> tensor<2x4xi32> {
    %ids = llm.shift_tokens %l {start = 5 : i64, padding = 3 : i64} : tensor<2x4xi32>
    return %ids : tensor<2x4xi32>
  })",
                    {labels})[0],
            (Numbers{5, 7, 8, 3, 5, 1, 3, 3}));
}

} // namespace
