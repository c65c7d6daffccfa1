//===- RowKernelsTest.cpp - Norms, sums, tables, loss against plain C++ ----===//

#include "Check.h"

using namespace llmmem::test;

namespace {

constexpr int kRows = 6, kWidth = 19; // [2, 3, 19]: a whole vector and a remainder

struct Norm {
  double mean = 0.0, rstd = 0.0;
};

class RowKernels : public KernelTest {
protected:
  Norm normOf(int row, bool centred) const {
    Norm norm;
    double square = 0.0;
    for (int j = 0; j < kWidth && centred; ++j)
      norm.mean += x[row * kWidth + j] / kWidth;
    for (int j = 0; j < kWidth; ++j)
      square += std::pow(x[row * kWidth + j] - norm.mean, 2) / kWidth;
    norm.rstd = 1.0 / std::sqrt(square + 1e-5);
    return norm;
  }

  /// The gradient of a norm's input, by its definition: the transposed Jacobian times g.
  Numbers normGrad(bool centred) const {
    Numbers dx;
    for (int row = 0; row < kRows; ++row) {
      Norm norm = normOf(row, centred);
      double meanG = 0.0, meanGN = 0.0;
      for (int j = 0; j < kWidth; ++j) {
        double g = dy[row * kWidth + j] * weight[j],
               n = (x[row * kWidth + j] - norm.mean) * norm.rstd;
        meanG += centred ? g / kWidth : 0.0;
        meanGN += g * n / kWidth;
      }
      for (int j = 0; j < kWidth; ++j) {
        double g = dy[row * kWidth + j] * weight[j],
               n = (x[row * kWidth + j] - norm.mean) * norm.rstd;
        dx.push_back(norm.rstd * (g - meanG - n * meanGN));
      }
    }
    return dx;
  }

  Numbers x = someNumbers(kRows * kWidth, 1), dy = someNumbers(kRows * kWidth, 2);
  Numbers weight = someNumbers(kWidth, 3), bias = someNumbers(kWidth, 4);
};

TEST_P(RowKernels, LayerNormAndItsGradients) {
  std::vector<Numbers> r = runWide(
      R"(func.func @step(%x: tensor<2x3x19xT>, %dy: tensor<2x3x19xT>, %w: tensor<19xT>, %b: tensor<19xT>)
      -> (tensor<2x3x19xT>, tensor<2x3xW>, tensor<2x3xW>, tensor<2x3x19xT>, tensor<19xT>) {
    %y, %mean, %rstd = llm.layer_norm %x, %w, %b {eps = 1.0e-5 : f64}
      : (tensor<2x3x19xT>, tensor<19xT>, tensor<19xT>) -> (tensor<2x3x19xT>, tensor<2x3xW>, tensor<2x3xW>)
    %dx = llm.layer_norm_grad %x, %mean, %rstd, %w, %dy
      : (tensor<2x3x19xT>, tensor<2x3xW>, tensor<2x3xW>, tensor<19xT>, tensor<2x3x19xT>) -> tensor<2x3x19xT>
    %dw = llm.norm_weight_grad %x, %dy, %rstd mean(%mean) into(%b)
      : (tensor<2x3x19xT>, tensor<2x3x19xT>, tensor<2x3xW>, tensor<2x3xW>, tensor<19xT>) -> tensor<19xT>
    return %y, %mean, %rstd, %dx, %dw : tensor<2x3x19xT>, tensor<2x3xW>, tensor<2x3xW>, tensor<2x3x19xT>, tensor<19xT>
  })",
      {x, dy, weight, bias});
  Numbers y, mean, rstd, dw = bias;
  for (int row = 0; row < kRows; ++row) {
    Norm norm = normOf(row, true);
    mean.push_back(norm.mean);
    rstd.push_back(norm.rstd);
    for (int j = 0; j < kWidth; ++j) {
      double n = (x[row * kWidth + j] - norm.mean) * norm.rstd;
      y.push_back(n * weight[j] + bias[j]);
      dw[j] += dy[row * kWidth + j] * n;
    }
  }
  double wideTolerance = toleranceOf(wide());
  expectNear(r[0], y, tolerance());
  expectNear(r[1], mean, wideTolerance);
  expectNear(r[2], rstd, wideTolerance);
  expectNear(r[3], normGrad(true), tolerance());
  expectNear(r[4], dw, tolerance());
}

TEST_P(RowKernels, RmsNormAndItsGradients) {
  std::vector<Numbers> r =
      runWide(R"(func.func @step(%x: tensor<2x3x19xT>, %dy: tensor<2x3x19xT>, %w: tensor<19xT>)
      -> (tensor<2x3x19xT>, tensor<2x3xW>, tensor<2x3x19xT>, tensor<19xT>) {
    %y, %rstd = llm.rms_norm %x, %w {eps = 1.0e-5 : f64}
      : (tensor<2x3x19xT>, tensor<19xT>) -> (tensor<2x3x19xT>, tensor<2x3xW>)
    %dx = llm.rms_norm_grad %x, %rstd, %w, %dy
      : (tensor<2x3x19xT>, tensor<2x3xW>, tensor<19xT>, tensor<2x3x19xT>) -> tensor<2x3x19xT>
    %dw = llm.norm_weight_grad %x, %dy, %rstd : (tensor<2x3x19xT>, tensor<2x3x19xT>, tensor<2x3xW>) -> tensor<19xT>
    return %y, %rstd, %dx, %dw : tensor<2x3x19xT>, tensor<2x3xW>, tensor<2x3x19xT>, tensor<19xT>
  })",
              {x, dy, weight});
  Numbers y, rstd, dw(kWidth, 0.0);
  for (int row = 0; row < kRows; ++row) {
    rstd.push_back(normOf(row, false).rstd);
    for (int j = 0; j < kWidth; ++j) {
      double n = x[row * kWidth + j] * rstd.back();
      y.push_back(n * weight[j]);
      dw[j] += dy[row * kWidth + j] * n;
    }
  }
  expectNear(r[0], y, tolerance());
  expectNear(r[1], rstd, toleranceOf(wide()));
  expectNear(r[2], normGrad(false), tolerance());
  expectNear(r[3], dw, tolerance());
}

TEST_P(RowKernels, SumsOfRowsAndPositions) {
  std::vector<Numbers> r =
      run(R"(func.func @step(%dy: tensor<2x3x19xT>, %b: tensor<19xT>, %t: tensor<4x19xT>)
      -> (tensor<19xT>, tensor<19xT>, tensor<4x19xT>, tensor<4x19xT>) {
    %0 = llm.sum_rows %dy into(%b) : (tensor<2x3x19xT>, tensor<19xT>) -> tensor<19xT>
    %1 = llm.sum_rows %dy : (tensor<2x3x19xT>) -> tensor<19xT>
    %2 = llm.positions_grad %dy into(%t) : (tensor<2x3x19xT>, tensor<4x19xT>) -> tensor<4x19xT>
    %3 = llm.positions_grad %dy : (tensor<2x3x19xT>) -> tensor<4x19xT>
    return %0, %1, %2, %3 : tensor<19xT>, tensor<19xT>, tensor<4x19xT>, tensor<4x19xT>
  })",
          {dy, bias, someNumbers(4 * kWidth, 9)});
  Numbers sum = bias, plain(kWidth, 0.0), table = someNumbers(4 * kWidth, 9),
          plainTable(4 * kWidth, 0.0);
  for (int i = 0; i < kRows * kWidth; ++i) {
    sum[i % kWidth] += dy[i];
    plain[i % kWidth] += dy[i];
    table[i % (3 * kWidth)] += dy[i];
    plainTable[i % (3 * kWidth)] += dy[i];
  }
  expectNear(r[0], sum, tolerance());
  expectNear(r[1], plain, tolerance());
  expectNear(r[2], table, tolerance());
  expectNear(r[3], plainTable, tolerance());
}

TEST_P(RowKernels, SoftmaxAndItsGradient) {
  Numbers masked = x;
  masked[3] = -INFINITY;
  std::vector<Numbers> r =
      run(R"(func.func @step(%x: tensor<6x19xT>, %p: tensor<6x19xT>, %dy: tensor<6x19xT>)
      -> (tensor<6x19xT>, tensor<6x19xT>) {
    %y = llm.softmax %x : tensor<6x19xT>
    %dx = llm.softmax_grad %p, %dy : tensor<6x19xT>
    return %y, %dx : tensor<6x19xT>, tensor<6x19xT>
  })",
          {masked, x, dy});
  Numbers y, dx;
  for (int row = 0; row < kRows; ++row) {
    double sum = 0.0, inner = 0.0;
    for (int j = 0; j < kWidth; ++j) {
      sum += std::exp(masked[row * kWidth + j]);
      inner += x[row * kWidth + j] * dy[row * kWidth + j];
    }
    for (int j = 0; j < kWidth; ++j) {
      y.push_back(std::exp(masked[row * kWidth + j]) / sum);
      dx.push_back(x[row * kWidth + j] * (dy[row * kWidth + j] - inner));
    }
  }
  expectNear(r[0], y, tolerance());
  expectNear(r[1], dx, tolerance());
}

TEST_P(RowKernels, CrossEntropyIgnoresTargets) {
  Numbers targets = {3, -100, 18, 0, 7, -100};
  std::vector<Numbers> r =
      runWide(R"(func.func @step(%x: tensor<2x3x19xT>, %t: tensor<2x3xi32>, %d: tensor<W>)
      -> (tensor<W>, tensor<2x3xW>, tensor<2x3x19xT>) {
    %loss, %lse = llm.cross_entropy %x, %t : (tensor<2x3x19xT>, tensor<2x3xi32>) -> (tensor<W>, tensor<2x3xW>)
    %dx = llm.cross_entropy_grad %x, %lse, %t, %d
      : (tensor<2x3x19xT>, tensor<2x3xW>, tensor<2x3xi32>, tensor<W>) -> tensor<2x3x19xT>
    return %loss, %lse, %dx : tensor<W>, tensor<2x3xW>, tensor<2x3x19xT>
  })",
              {x, targets, {2.0}});
  double loss = 0.0;
  Numbers lse, dx;
  for (int row = 0; row < kRows; ++row) {
    double sum = 0.0;
    for (int j = 0; j < kWidth; ++j)
      sum += std::exp(x[row * kWidth + j]);
    lse.push_back(std::log(sum));
    bool counts = targets[row] >= 0;
    loss += counts ? (lse.back() - x[row * kWidth + targets[row]]) / 4.0 : 0.0;
    for (int j = 0; j < kWidth; ++j)
      dx.push_back(counts ? 2.0 / 4.0 * (std::exp(x[row * kWidth + j]) / sum - (j == targets[row]))
                          : 0.0);
  }
  expectNear(r[0], {loss}, toleranceOf(wide()));
  expectNear(r[1], lse, toleranceOf(wide()));
  expectNear(r[2], dx, tolerance());
}

TEST_P(RowKernels, EmbeddingClampsIdsAndSumsItsGradient) {
  Numbers ids = {2, 0, 2, -5, 99, 2}, table = someNumbers(4 * kWidth, 5);
  std::vector<Numbers> r =
      run(R"(func.func @step(%i: tensor<2x3xi32>, %t: tensor<4x19xT>, %dy: tensor<2x3x19xT>)
      -> (tensor<2x3x19xT>, tensor<4x19xT>, tensor<4x19xT>) {
    %y = llm.embedding %i, %t : (tensor<2x3xi32>, tensor<4x19xT>) -> tensor<2x3x19xT>
    %0 = llm.embedding_grad %i, %dy into(%t) : (tensor<2x3xi32>, tensor<2x3x19xT>, tensor<4x19xT>) -> tensor<4x19xT>
    %1 = llm.embedding_grad %i, %dy : (tensor<2x3xi32>, tensor<2x3x19xT>) -> tensor<4x19xT>
    return %y, %0, %1 : tensor<2x3x19xT>, tensor<4x19xT>, tensor<4x19xT>
  })",
          {ids, table, dy});
  Numbers y, sum = table, plain(4 * kWidth, 0.0);
  for (int i = 0; i < kRows * kWidth; ++i) {
    int row = std::min(std::max(static_cast<int>(ids[i / kWidth]), 0), 3),
        place = row * kWidth + i % kWidth;
    y.push_back(table[place]);
    sum[place] += dy[i];
    plain[place] += dy[i];
  }
  EXPECT_EQ(r[0], y);
  expectNear(r[1], sum, tolerance());
  expectNear(r[2], plain, tolerance());
}

/// On a GPU a thread loads several rows at once, then some by themselves; terms nearly cancel.
TEST_P(RowKernels, SumsOverManyRows) {
  constexpr int rows = 2601, width = 24;
  Numbers a = someNumbers(rows * width, 7), sum(width, 0.0);
  for (int i = 0; i < rows * width; ++i) {
    double big = i / width == 0 ? 4096.0 : i / width == rows - 1 ? -4096.0 : 0.0;
    a[i] = big != 0.0 ? big : a[i] * 0.25;
    sum[i % width] += a[i];
  }
  std::vector<Numbers> r = run(R"(func.func @step(%a: tensor<1x2601x24xT>) -> tensor<24xT> {
    %0 = llm.sum_rows %a : (tensor<1x2601x24xT>) -> tensor<24xT>
    return %0 : tensor<24xT>
  })",
                               {a});
  expectNear(r[0], sum, tolerance());
}

/// 83 columns: a block of vectors, a vector, and a remainder.
TEST_P(RowKernels, SumsOverManyColumns) {
  constexpr int rows = 5, width = 83;
  Numbers a = someNumbers(rows * width, 7), sum(width, 0.0);
  for (int i = 0; i < rows * width; ++i)
    sum[i % width] += a[i];
  std::vector<Numbers> r =
      run(R"(func.func @step(%a: tensor<1x5x83xT>) -> (tensor<83xT>, tensor<7x83xT>) {
    %0 = llm.sum_rows %a : (tensor<1x5x83xT>) -> tensor<83xT>
    %1 = llm.positions_grad %a : (tensor<1x5x83xT>) -> tensor<7x83xT>
    return %0, %1 : tensor<83xT>, tensor<7x83xT>
  })",
          {a});
  expectNear(r[0], sum, tolerance());
  Numbers table = a;
  table.resize(7 * width, 0.0);
  EXPECT_EQ(r[1], table);
}

/// More ids than lanes: rows that occur once, often, and only at the last few positions.
TEST_P(RowKernels, EmbeddingGradOfManyIds) {
  constexpr int count = 45, rows = 9, width = 3;
  Numbers ids, a = someNumbers(count * width, 8), sum(rows * width, 0.0);
  for (int i = 0; i < count; ++i)
    ids.push_back(i == 17 ? 5 : i >= 43 ? 7 : i * i % 5);
  for (int i = 0; i < count * width; ++i)
    sum[static_cast<int>(ids[i / width]) * width + i % width] += a[i];
  std::vector<Numbers> r = run(
      R"(func.func @step(%i: tensor<1x45xi32>, %a: tensor<1x45x3xT>) -> tensor<9x3xT> {
    %0 = llm.embedding_grad %i, %a : (tensor<1x45xi32>, tensor<1x45x3xT>) -> tensor<9x3xT>
    return %0 : tensor<9x3xT>
  })",
      {ids, a});
  expectNear(r[0], sum, tolerance());
}

TEST_P(RowKernels, SplitAndConcat) {
  std::vector<Numbers> r =
      run(R"(func.func @step(%x: tensor<2x3x19xT>) -> (tensor<2x3x2xT>, tensor<2x3x19xT>) {
    %a, %b = llm.split %x : (tensor<2x3x19xT>) -> (tensor<2x3x17xT>, tensor<2x3x2xT>)
    %y = llm.concat %b, %a : (tensor<2x3x2xT>, tensor<2x3x17xT>) -> tensor<2x3x19xT>
    return %b, %y : tensor<2x3x2xT>, tensor<2x3x19xT>
  })",
          {x});
  Numbers end, turned;
  for (int row = 0; row < kRows; ++row) {
    for (int j = 17; j < kWidth; ++j)
      end.push_back(x[row * kWidth + j]);
    for (int j = 0; j < kWidth; ++j)
      turned.push_back(x[row * kWidth + (j + 17) % kWidth]);
  }
  EXPECT_EQ(r[0], end);
  EXPECT_EQ(r[1], turned);
}

/// Equal parts, which a GPU copies in one launch.
TEST_P(RowKernels, SplitAndConcatOfEqualParts) {
  Numbers x = someNumbers(7 * 60, 5);
  std::vector<Numbers> r =
      run(R"(func.func @step(%x: tensor<7x60xT>) -> (tensor<7x20xT>, tensor<7x60xT>) {
    %a, %b, %c = llm.split %x : (tensor<7x60xT>) -> (tensor<7x20xT>, tensor<7x20xT>, tensor<7x20xT>)
    %y = llm.concat %c, %a, %b : (tensor<7x20xT>, tensor<7x20xT>, tensor<7x20xT>) -> tensor<7x60xT>
    return %b, %y : tensor<7x20xT>, tensor<7x60xT>
  })",
          {x});
  Numbers middle, turned;
  for (int i = 0; i < 7 * 60; ++i) {
    if (i % 60 / 20 == 1)
      middle.push_back(x[i]);
    turned.push_back(x[i / 60 * 60 + (i % 60 + 40) % 60]);
  }
  EXPECT_EQ(r[0], middle);
  EXPECT_EQ(r[1], turned);
}

/// Runs of 19 elements that move with their row, and elements that move by themselves.
TEST_P(RowKernels, Transposes) {
  std::vector<Numbers> r =
      run(R"(func.func @step(%x: tensor<2x3x19xT>) -> (tensor<3x2x19xT>, tensor<19x2x3xT>) {
    %a = llm.transpose %x {order = array<i64: 1, 0, 2>} : tensor<2x3x19xT> -> tensor<3x2x19xT>
    %b = llm.transpose %x {order = array<i64: 2, 0, 1>} : tensor<2x3x19xT> -> tensor<19x2x3xT>
    return %a, %b : tensor<3x2x19xT>, tensor<19x2x3xT>
  })",
          {x});
  Numbers runs, elements;
  for (int row : {0, 3, 1, 4, 2, 5})
    for (int j = 0; j < kWidth; ++j)
      runs.push_back(x[row * kWidth + j]);
  for (int j = 0; j < kWidth; ++j)
    for (int row = 0; row < kRows; ++row)
      elements.push_back(x[row * kWidth + j]);
  EXPECT_EQ(r[0], runs);
  EXPECT_EQ(r[1], elements);
}

TEST_P(RowKernels, SliceAndPad) {
  std::vector<Numbers> r =
      run(R"(func.func @step(%x: tensor<2x3x19xT>) -> (tensor<2x3x4xT>, tensor<2x3x9xT>) {
    %a = llm.slice %x {begin = 15 : i64} : tensor<2x3x19xT> -> tensor<2x3x4xT>
    %b = llm.pad %a {begin = 2 : i64} : tensor<2x3x4xT> -> tensor<2x3x9xT>
    return %a, %b : tensor<2x3x4xT>, tensor<2x3x9xT>
  })",
          {x});
  Numbers end, padded(kRows * 9, 0.0);
  for (int row = 0; row < kRows; ++row)
    for (int j = 0; j < 4; ++j) {
      end.push_back(x[row * kWidth + 15 + j]);
      padded[row * 9 + 2 + j] = end.back();
    }
  EXPECT_EQ(r[0], end);
  EXPECT_EQ(r[1], padded);
}

LLMMEM_ALL_ELEMENT_TYPES(RowKernels);

/// With lse 0 and one row, the gradient of the logits is exp itself everywhere except at the
/// target.
TEST(Exp, IsGoodToAUnitInTheLastPlace) {
  constexpr int count = 40000;
  Numbers x = {0.0}, zero = {0.0};
  for (int i = 1; i < count - 4; ++i)
    x.push_back(static_cast<float>(-103.0 + 191.5 * i / count));
  x.insert(x.end(), {-INFINITY, INFINITY, NAN, -200.0});
  Numbers y = runStep(
      R"(func.func @step(%x: tensor<1x40000xf32>, %l: tensor<1xf32>, %t: tensor<1xi32>, %d: tensor<f32>)
      -> tensor<1x40000xf32> {
    %y = llm.cross_entropy_grad %x, %l, %t, %d
      : (tensor<1x40000xf32>, tensor<1xf32>, tensor<1xi32>, tensor<f32>) -> tensor<1x40000xf32>
    return %y : tensor<1x40000xf32>
  })",
      {x, {0.0}, {0}, {1.0}})[0];
  double worst = 0.0;
  for (int i = 1; i < count - 4; ++i)
    if (x[i] > -87.0)
      worst = std::max(worst, std::abs(y[i] / std::exp(x[i]) - 1.0));
    else
      EXPECT_NEAR(y[i], std::exp(x[i]), 1.2e-38) << x[i]; // the polynomial has no denormal results
  EXPECT_LT(worst, std::ldexp(1.0, -23));
  EXPECT_EQ(y[count - 4], 0.0);
  EXPECT_EQ(y[count - 3], INFINITY);
  EXPECT_TRUE(std::isnan(y[count - 2]));
  EXPECT_EQ(y[count - 1], 0.0);
}

} // namespace
