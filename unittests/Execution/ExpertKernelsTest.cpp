//===- ExpertKernelsTest.cpp - Mixtures of experts against plain C++ -------===//

#include "Check.h"

using namespace llmmem::test;

namespace {

class ExpertKernels : public KernelTest {};

TEST_P(ExpertKernels, RouteTakesTheLowestOfEqualLogits) {
  // All alike; the best last; the two best alike; one apart and then two alike.
  Numbers logits = {0.5, 0.5, 0.5, 0.5, 0, 0, 0, 2, -1, 1, 1, 0, 1, 2, 1, 0};
  std::vector<Numbers> r = runWide(R"(
    func.func @step(%l: tensor<1x4x4xT>) -> (tensor<1x4x2xT>, tensor<1x4x2xi32>, tensor<1x4xW>) {
      %w, %e, %lse = llm.route %l {normalized}
        : (tensor<1x4x4xT>) -> (tensor<1x4x2xT>, tensor<1x4x2xi32>, tensor<1x4xW>)
      return %w, %e, %lse : tensor<1x4x2xT>, tensor<1x4x2xi32>, tensor<1x4xW>
    })",
                                   {logits});
  ASSERT_EQ(r.size(), 3u);
  EXPECT_EQ(r[1], (Numbers{0, 1, 3, 0, 1, 2, 1, 0}));
  double first = std::exp(2.0) / (std::exp(2.0) + 1), second = std::exp(1.0) / (std::exp(1.0) + 1);
  expectNear(r[0], {0.5, 0.5, first, 1 - first, 0.5, 0.5, second, 1 - second}, tolerance());
  Numbers lse;
  for (int token = 0; token < 4; ++token) {
    double sum = 0;
    for (int e = 0; e < 4; ++e)
      sum += std::exp(logits[token * 4 + e]);
    lse.push_back(std::log(sum));
  }
  expectNear(r[2], lse, wide() == "f64" ? 1e-12 : 2e-6);
}

TEST_P(ExpertKernels, RouteNeverChoosesNaN) {
  double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<Numbers> r = runWide(R"(
    func.func @step(%l: tensor<1x2x4xT>) -> tensor<1x2x2xi32> {
      %w, %e, %lse = llm.route %l : (tensor<1x2x4xT>) -> (tensor<1x2x2xT>, tensor<1x2x2xi32>, tensor<1x2xW>)
      return %e : tensor<1x2x2xi32>
    })",
                                   {{nan, 1, nan, 2, nan, nan, nan, -1}});
  ASSERT_EQ(r.size(), 1u);
  EXPECT_EQ(r[0], (Numbers{3, 1, 3, 0}));
}

TEST_P(ExpertKernels, RouteChoosesAmongTheBestGroups) {
  // Groups of two, of which two are kept: the second best expert is in a group with none better.
  // Then two groups alike, of which the lower is kept.
  std::vector<Numbers> r = runWide(R"(
    func.func @step(%l: tensor<1x2x6xT>) -> tensor<1x2x3xi32> {
      %w, %e, %lse = llm.route %l {groups = 3 : i64, kept_groups = 2 : i64}
        : (tensor<1x2x6xT>) -> (tensor<1x2x3xT>, tensor<1x2x3xi32>, tensor<1x2xW>)
      return %e : tensor<1x2x3xi32>
    })",
                                   {{0, 4, 3, 2.5, 5, -1, 1, 0, 2, 0.5, 0.75, 1}});
  ASSERT_EQ(r.size(), 1u);
  EXPECT_EQ(r[0], (Numbers{4, 1, 0, 2, 0, 3}));
}

TEST_P(ExpertKernels, RouteKeepsTheGroupsWhoseTwoBestAddUpToTheMost) {
  // Groups of three: the best expert of all is in the group with the smallest sum of two.
  std::vector<Numbers> r = runWide(R"(
    func.func @step(%l: tensor<1x1x9xT>) -> tensor<1x1x3xi32> {
      %w, %e, %lse = llm.route %l {group_best = 2 : i64, groups = 3 : i64, kept_groups = 2 : i64}
        : (tensor<1x1x9xT>) -> (tensor<1x1x3xT>, tensor<1x1x3xi32>, tensor<1x1xW>)
      return %e : tensor<1x1x3xi32>
    })",
                                   {{5, -4, -3, 2, 1, 0, 0.5, 0.5, 3}});
  ASSERT_EQ(r.size(), 1u);
  EXPECT_EQ(r[0], (Numbers{8, 3, 4}));
}

TEST_P(ExpertKernels, RouteByScoreAndBiasWeighsByScore) {
  std::vector<Numbers> r = runWide(R"(
    func.func @step(%l: tensor<1x1x3xT>, %b: tensor<3xW>) -> (tensor<1x1x2xT>, tensor<1x1x2xi32>) {
      %w, %e, %lse = llm.route %l bias(%b) {logistic, factor = 2.0 : f64}
        : (tensor<1x1x3xT>, tensor<3xW>) -> (tensor<1x1x2xT>, tensor<1x1x2xi32>, tensor<1x1xW>)
      return %w, %e : tensor<1x1x2xT>, tensor<1x1x2xi32>
    })",
                                   {{2, 0, -1}, {0, 1, 0.5}});
  ASSERT_EQ(r.size(), 2u);
  EXPECT_EQ(r[1], (Numbers{1, 0}));
  expectNear(r[0], {1.0, 2 / (1 + std::exp(-2.0))}, tolerance());
}

// Two sequences of four tokens with two choices each, among four experts with two places each.
// Expert 0 overflows in the first sequence, expert 2 in the second, and expert 3 is empty.
const Numbers kExperts = {0, 1, 0, 2, 1, 0, 0, 2, 2, 0, 2, 1, 1, 2, 2, 0};
const Numbers kPlaces = {0, 2, 1, 4, 3, -1, -1, 5, 4, 0, 5, 2, 3, -1, -1, 1};
const Numbers kChoices = {0, 2, 1, 7, 1, 4, 3, 4, 3, 7, 0, 2, -1, -1, -1, -1};

TEST_P(ExpertKernels, PlacesAreTakenInOrderAndDropsCounted) {
  std::vector<Numbers> r = runWide(R"(
    func.func @step(%e: tensor<2x4x2xi32>, %x: tensor<1xT>)
        -> (tensor<2x4x2xi32>, tensor<4x2x2xi32>, tensor<i32>) {
      %p, %c = llm.assign_places %e : tensor<2x4x2xi32> -> (tensor<2x4x2xi32>, tensor<4x2x2xi32>)
      %d = llm.count_dropped %p, %p : tensor<2x4x2xi32>, tensor<2x4x2xi32> -> tensor<i32>
      return %p, %c, %d : tensor<2x4x2xi32>, tensor<4x2x2xi32>, tensor<i32>
    })",
                                   {kExperts, {0}});
  ASSERT_EQ(r.size(), 3u);
  EXPECT_EQ(r[0], kPlaces);
  EXPECT_EQ(r[1], kChoices);
  EXPECT_EQ(r[2], (Numbers{8})); // four in each of the two tensors
}

TEST_P(ExpertKernels, DispatchAndCombine) {
  constexpr int kWidth = 19; // a whole vector and a remainder
  Numbers x = someNumbers(8 * kWidth, 1), z = someNumbers(16 * kWidth, 2), w = someNumbers(16, 3),
          dy = someNumbers(8 * kWidth, 4);
  std::vector<Numbers> r = runWide(R"(
    func.func @step(%x: tensor<2x4x19xT>, %z: tensor<4x2x2x19xT>, %w: tensor<2x4x2xT>, %dy: tensor<2x4x19xT>,
                    %p: tensor<2x4x2xi32>, %c: tensor<4x2x2xi32>)
        -> (tensor<4x2x2x19xT>, tensor<2x4x19xT>, tensor<2x4x2xT>, tensor<4x2x2x19xT>, tensor<2x4x19xT>) {
      %0 = llm.dispatch %x, %p, %c
        : (tensor<2x4x19xT>, tensor<2x4x2xi32>, tensor<4x2x2xi32>) -> tensor<4x2x2x19xT>
      %1 = llm.combine %z, %p, %c weights(%w)
        : (tensor<4x2x2x19xT>, tensor<2x4x2xi32>, tensor<4x2x2xi32>, tensor<2x4x2xT>) -> tensor<2x4x19xT>
      %2 = llm.combine_weights_grad %z, %p, %dy
        : (tensor<4x2x2x19xT>, tensor<2x4x2xi32>, tensor<2x4x19xT>) -> tensor<2x4x2xT>
      %3 = llm.dispatch %dy, %p, %c weights(%w)
        : (tensor<2x4x19xT>, tensor<2x4x2xi32>, tensor<4x2x2xi32>, tensor<2x4x2xT>) -> tensor<4x2x2x19xT>
      %4 = llm.combine %z, %p, %c
        : (tensor<4x2x2x19xT>, tensor<2x4x2xi32>, tensor<4x2x2xi32>) -> tensor<2x4x19xT>
      return %0, %1, %2, %3, %4
        : tensor<4x2x2x19xT>, tensor<2x4x19xT>, tensor<2x4x2xT>, tensor<4x2x2x19xT>, tensor<2x4x19xT>
    })",
                                   {x, z, w, dy, kPlaces, kChoices});
  ASSERT_EQ(r.size(), 5u);
  Numbers sent(16 * kWidth), given(8 * kWidth), dw(16), dz(16 * kWidth), sum(8 * kWidth);
  for (int choice = 0; choice < 16; ++choice) {
    int place = static_cast<int>(kPlaces[choice]), token = choice / 2, sequence = token / 4;
    if (place < 0)
      continue;
    int row = (place / 2 * 2 + sequence) * 2 + place % 2;
    for (int i = 0; i < kWidth; ++i) {
      sent[row * kWidth + i] = x[token * kWidth + i];
      given[token * kWidth + i] += w[choice] * z[row * kWidth + i];
      sum[token * kWidth + i] += z[row * kWidth + i];
      dw[choice] += dy[token * kWidth + i] * z[row * kWidth + i];
      dz[row * kWidth + i] = w[choice] * dy[token * kWidth + i];
    }
  }
  EXPECT_EQ(r[0], sent);
  expectNear(r[1], given, tolerance());
  expectNear(r[2], dw, tolerance());
  expectNear(r[3], dz, tolerance());
  expectNear(r[4], sum, tolerance());
}

TEST_P(ExpertKernels, GroupsWithoutChoicesAreZerosWhateverTheirWeightIs) {
  Numbers x = {0, 0, 1, 2, 0, 0}, w = {1, 2, 3, 4, 5, 6};
  w[4] = std::numeric_limits<double>::quiet_NaN(), w[0] = std::numeric_limits<double>::infinity();
  std::vector<Numbers> r = run(R"(
    func.func @step(%x: tensor<3x1x2xT>, %w: tensor<3x1x2xT>, %c: tensor<3x1xi32>) -> tensor<3x1x1xT> {
      %y = llm.grouped_linear %x, %w choices(%c) layout(out_in)
        : (tensor<3x1x2xT>, tensor<3x1x2xT>, tensor<3x1xi32>) -> tensor<3x1x1xT>
      return %y : tensor<3x1x1xT>
    })",
                               {x, w, {-1, 0, -1}});
  EXPECT_EQ(r[0], (Numbers{0, 11, 0}));
}

TEST_P(ExpertKernels, GroupsWithAChoiceAnywhereAreMultiplied) {
  // Of three groups the second has a choice, for its last row, of which all but the last number are
  // zeros. 40 rows are more than a warp has threads.
  for (int64_t rows : {2, 40}) {
    constexpr int64_t in = 64, out = 3;
    // A kernel may read the weights of groups of many rows.
    Numbers x(3 * rows * in), choices(3 * rows, -1),
        w(3 * out * in, rows == 2 ? std::numeric_limits<double>::quiet_NaN() : 1.0);
    choices[2 * rows - 1] = 0;
    x[2 * rows * in - 1] = 2;
    for (int64_t i = out * in; i < 2 * out * in; ++i)
      w[i] = static_cast<double>(i / in);
    std::string text = R"(
      func.func @step(%x: tensor<3x$x1x64xT>, %w: tensor<3x3x64xT>, %c: tensor<3x$x1xi32>) -> tensor<3x$x1x3xT> {
        %y = llm.grouped_linear %x, %w choices(%c) layout(out_in)
          : (tensor<3x$x1x64xT>, tensor<3x3x64xT>, tensor<3x$x1xi32>) -> tensor<3x$x1x3xT>
        return %y : tensor<3x$x1x3xT>
      })";
    for (size_t at; (at = text.find('$')) != std::string::npos;)
      text.replace(at, 1, std::to_string(rows));
    Numbers expected(3 * rows * out);
    for (int64_t o = 0; o < out; ++o)
      expected[(2 * rows - 1) * out + o] = static_cast<double>(2 * (out + o));
    EXPECT_EQ(run(text, {x, w, choices})[0], expected) << rows << " rows";
  }
}

TEST_P(ExpertKernels, GroupedProducts) {
  constexpr int kGroups = 3, kRows = 10, kIn = 21, kOut = 13;
  Numbers x = someNumbers(kGroups * kRows * kIn, 1), w = someNumbers(kGroups * kOut * kIn, 2),
          dy = someNumbers(kGroups * kRows * kOut, 3), into = someNumbers(kGroups * kOut * kIn, 4);
  std::vector<Numbers> r = runWide(R"(
    func.func @step(%x: tensor<3x2x5x21xT>, %w: tensor<3x13x21xT>, %dy: tensor<3x2x5x13xT>, %acc: tensor<3x13x21xT>)
        -> (tensor<3x2x5x13xT>, tensor<3x2x5x21xT>, tensor<3x13x21xT>) {
      %y = llm.grouped_linear %x, %w layout(out_in)
        : (tensor<3x2x5x21xT>, tensor<3x13x21xT>) -> tensor<3x2x5x13xT>
      %dx = llm.grouped_linear %dy, %w layout(in_out)
        : (tensor<3x2x5x13xT>, tensor<3x13x21xT>) -> tensor<3x2x5x21xT>
      %dw = llm.grouped_weight_grad %x, %dy into(%acc) layout(out_in)
        : (tensor<3x2x5x21xT>, tensor<3x2x5x13xT>, tensor<3x13x21xT>) -> tensor<3x13x21xT>
      return %y, %dx, %dw : tensor<3x2x5x13xT>, tensor<3x2x5x21xT>, tensor<3x13x21xT>
    })",
                                   {x, w, dy, into});
  ASSERT_EQ(r.size(), 3u);
  Numbers y(kGroups * kRows * kOut), dx(kGroups * kRows * kIn), dw = into;
  for (int g = 0; g < kGroups; ++g)
    for (int row = g * kRows; row < (g + 1) * kRows; ++row)
      for (int o = 0; o < kOut; ++o)
        for (int i = 0; i < kIn; ++i) {
          int ofWeight = (g * kOut + o) * kIn + i;
          y[row * kOut + o] += x[row * kIn + i] * w[ofWeight];
          dx[row * kIn + i] += dy[row * kOut + o] * w[ofWeight];
          dw[ofWeight] += x[row * kIn + i] * dy[row * kOut + o];
        }
  expectNear(r[0], y, tolerance());
  expectNear(r[1], dx, tolerance());
  expectNear(r[2], dw, tolerance());
}

TEST_P(ExpertKernels, BiasesOfGroups) {
  // A width of whole vectors, and one whose rows begin anywhere.
  for (int width : {32, 13}) {
    constexpr int kGroups = 3, kRows = 10;
    Numbers x = someNumbers(kGroups * kRows * width, 1), bias = someNumbers(kGroups * width, 2),
            into = someNumbers(kGroups * width, 3);
    std::string text = R"(
      func.func @step(%x: tensor<3x2x5x$xT>, %b: tensor<3x$xT>, %acc: tensor<3x$xT>)
          -> (tensor<3x2x5x$xT>, tensor<3x$xT>, tensor<3x$xT>) {
        %y = llm.add_group_bias %x, %b : (tensor<3x2x5x$xT>, tensor<3x$xT>) -> tensor<3x2x5x$xT>
        %d = llm.sum_group_rows %x : (tensor<3x2x5x$xT>) -> tensor<3x$xT>
        %e = llm.sum_group_rows %x into(%acc) : (tensor<3x2x5x$xT>, tensor<3x$xT>) -> tensor<3x$xT>
        return %y, %d, %e : tensor<3x2x5x$xT>, tensor<3x$xT>, tensor<3x$xT>
      })";
    for (size_t at; (at = text.find('$')) != std::string::npos;)
      text.replace(at, 1, std::to_string(width));
    std::vector<Numbers> r = runWide(text, {x, bias, into});
    ASSERT_EQ(r.size(), 3u);
    Numbers y = x, sums(kGroups * width), sumsInto = into;
    for (int row = 0; row < kGroups * kRows; ++row)
      for (int i = 0; i < width; ++i) {
        int column = row / kRows * width + i;
        y[row * width + i] += bias[column];
        sums[column] += x[row * width + i];
        sumsInto[column] += x[row * width + i];
      }
    expectNear(r[0], y, tolerance());
    expectNear(r[1], sums, tolerance());
    expectNear(r[2], sumsInto, tolerance());
  }
}

TEST_P(ExpertKernels, BiasesOfRowsWithAChoice) {
  constexpr int kWidth = 16;
  Numbers x = someNumbers(6 * kWidth, 1), bias = someNumbers(3 * kWidth, 2),
          choices = {-1, 0, -1, -1, 5, 0};
  std::vector<Numbers> r = runWide(R"(
    func.func @step(%x: tensor<3x2x16xT>, %b: tensor<3x16xT>, %c: tensor<3x2xi32>) -> tensor<3x2x16xT> {
      %y = llm.add_group_bias %x, %b choices(%c)
        : (tensor<3x2x16xT>, tensor<3x16xT>, tensor<3x2xi32>) -> tensor<3x2x16xT>
      return %y : tensor<3x2x16xT>
    })",
                                   {x, bias, choices});
  Numbers y = x;
  for (int row = 0; row < 6; ++row)
    for (int i = 0; i < kWidth && choices[row] >= 0; ++i)
      y[row * kWidth + i] += bias[row / 2 * kWidth + i];
  expectNear(r[0], y, tolerance());
}

TEST_P(ExpertKernels, BalanceOfUnequalLoads) {
  // Expert 1 is chosen by all tokens, expert 2 by none.
  Numbers logits = {0, 2, -1, 1, 1, -2, 0.5, 3, 0}, experts = {1, 0, 1};
  std::vector<Numbers> r = runWide(R"(
    func.func @step(%l: tensor<1x3x3xT>, %e: tensor<1x3x1xi32>, %lse: tensor<1x3xW>)
        -> (tensor<3xW>, tensor<3xW>, tensor<W>) {
      %c, %s = llm.router_load %l, %e, %lse
        : (tensor<1x3x3xT>, tensor<1x3x1xi32>, tensor<1x3xW>) -> (tensor<3xW>, tensor<3xW>)
      %y = llm.balance_loss %c, %s {coefficient = 0.5 : f64, tokens = 3 : i64}
        : (tensor<3xW>, tensor<3xW>) -> tensor<W>
      return %c, %s, %y : tensor<3xW>, tensor<3xW>, tensor<W>
    })",
                                   {logits, experts, {1, 2, 3}});
  ASSERT_EQ(r.size(), 3u);
  Numbers counts = {1, 2, 0}, sums(3);
  double loss = 0;
  for (int e = 0; e < 3; ++e) {
    for (int token = 0; token < 3; ++token)
      sums[e] += std::exp(logits[token * 3 + e] - (token + 1));
    loss += 0.5 * 3 * counts[e] * sums[e] / 9;
  }
  double precise = wide() == "f64" ? 1e-12 : 2e-6;
  EXPECT_EQ(r[0], counts);
  expectNear(r[1], sums, precise);
  expectNear(r[2], {loss}, precise);
}

LLMMEM_ALL_ELEMENT_TYPES(ExpertKernels);

} // namespace
