//===- UpdateKernelsTest.cpp - Optimizer updates against plain C++ ---------===//

#include "Check.h"
#include <limits>

using namespace llmmem::test;

namespace {

class UpdateKernels : public KernelTest {
protected:
  static constexpr int kSize = 21;
  Numbers p = someNumbers(kSize, 1), g = someNumbers(kSize, 2), m = someNumbers(kSize, 3),
          v = someNumbers(kSize, 4);
  Numbers master = someNumbers(kSize, 5);
  UpdateKernels() {
    for (double &value : v)
      value = std::abs(value);
  }
};

struct AdamW {
  Numbers p, m, v;
};

AdamW adamw(Numbers p, Numbers g, Numbers m, Numbers v, double lr, int t, double clip) {
  for (size_t i = 0; i < p.size(); ++i) {
    double gradient = g[i] * clip;
    p[i] *= 1.0 - lr * 0.1;
    m[i] = 0.9 * m[i] + 0.1 * gradient;
    v[i] = 0.999 * v[i] + 0.001 * gradient * gradient;
    p[i] -= lr / (1.0 - std::pow(0.9, t)) * m[i] /
            (std::sqrt(v[i]) / std::sqrt(1.0 - std::pow(0.999, t)) + 1e-8);
  }
  return {p, m, v};
}

TEST_P(UpdateKernels, AdamWOnAParameterItself) {
  std::vector<Numbers> r = runWide(
      R"(func.func @step(%p: tensor<21xT>, %g: tensor<21xT>, %m: tensor<21xW>, %v: tensor<21xW>,
      %lr: tensor<W>, %t: tensor<i32>) -> (tensor<21xT>, tensor<21xW>, tensor<21xW>) {
    %0, %1, %2 = llm.adamw %p, %g, %m, %v, %lr, %t
      {beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64}
      : (tensor<21xT>, tensor<21xT>, tensor<21xW>, tensor<21xW>, tensor<W>, tensor<i32>) -> (tensor<21xT>, tensor<21xW>, tensor<21xW>)
    return %0, %1, %2 : tensor<21xT>, tensor<21xW>, tensor<21xW>
  })",
      {p, g, m, v, {0.0078125}, {3}});
  AdamW expected = adamw(p, g, m, v, 0.0078125, 3, 1.0);
  expectNear(r[0], expected.p, tolerance());
  expectNear(r[1], expected.m, toleranceOf(wide()));
  expectNear(r[2], expected.v, toleranceOf(wide()));
}

TEST_P(UpdateKernels, AdamWOnAMasterCopyClippedByANorm) {
  std::vector<Numbers> r = runWide(
      R"(func.func @step(%p: tensor<21xT>, %g: tensor<21xT>, %m: tensor<21xW>, %v: tensor<21xW>,
      %lr: tensor<W>, %t: tensor<i32>, %w: tensor<21xW>) -> (tensor<21xT>, tensor<21xW>, tensor<W>) {
    %n = llm.global_norm %g, %g : (tensor<21xT>, tensor<21xT>) -> tensor<W>
    %0, %1, %2, %3 = llm.adamw %p, %g, %m, %v, %lr, %t master(%w) norm(%n)
      {beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64, clip_norm = 0.5 : f64}
      : (tensor<21xT>, tensor<21xT>, tensor<21xW>, tensor<21xW>, tensor<W>, tensor<i32>, tensor<21xW>, tensor<W>)
      -> (tensor<21xT>, tensor<21xW>, tensor<21xW>, tensor<21xW>)
    return %0, %3, %n : tensor<21xT>, tensor<21xW>, tensor<W>
  })",
      {p, g, m, v, {0.0078125}, {3}, master});
  double square = 0.0;
  for (double value : g)
    square += 2.0 * value * value;
  AdamW expected = adamw(master, g, m, v, 0.0078125, 3, 0.5 / (std::sqrt(square) + 1e-6));
  expectNear(r[0], expected.p, tolerance());
  expectNear(r[1], expected.p, toleranceOf(wide()));
  expectNear(r[2], {std::sqrt(square)}, toleranceOf(wide()));
}

/// 300 pieces of 4096, more than there are turns, and a rest.
TEST_P(UpdateKernels, NormOfManyPieces) {
  Numbers x = someNumbers(300 * 4096 + 7, 5);
  double square = 0.0;
  for (double value : x)
    square += value * value;
  expectNear(runWide(R"(func.func @step(%x: tensor<1228807xT>) -> tensor<W> {
    %n = llm.global_norm %x : (tensor<1228807xT>) -> tensor<W>
    return %n : tensor<W>
  })",
                     {x})[0],
             {std::sqrt(square)}, toleranceOf(wide()));
}

TEST_P(UpdateKernels, SGD) {
  Numbers expected;
  for (int i = 0; i < kSize; ++i)
    expected.push_back(p[i] - 0.25 * (g[i] + 0.5 * p[i]));
  expectNear(
      runWide(
          R"(func.func @step(%p: tensor<21xT>, %g: tensor<21xT>, %lr: tensor<W>) -> tensor<21xT> {
    %0 = llm.sgd %p, %g, %lr {weight_decay = 0.5 : f64} : (tensor<21xT>, tensor<21xT>, tensor<W>) -> tensor<21xT>
    return %0 : tensor<21xT>
  })",
          {p, g, {0.25}})[0],
      expected, tolerance());
}

TEST_P(UpdateKernels, SGDWithMomentumLooksAhead) {
  Numbers after = p, average = m;
  for (int i = 0; i < kSize; ++i) {
    double gradient = g[i] + 0.5 * p[i];
    average[i] = 0.75 * m[i] + gradient;
    after[i] = p[i] - 0.25 * (gradient + 0.75 * average[i]);
  }
  std::vector<Numbers> r = runWide(
      R"(func.func @step(%p: tensor<21xT>, %g: tensor<21xT>, %lr: tensor<W>, %b: tensor<21xW>) -> (tensor<21xT>, tensor<21xW>) {
    %0, %1 = llm.sgd %p, %g, %lr state(%b) {momentum = 0.75 : f64, nesterov, weight_decay = 0.5 : f64}
      : (tensor<21xT>, tensor<21xT>, tensor<W>, tensor<21xW>) -> (tensor<21xT>, tensor<21xW>)
    return %0, %1 : tensor<21xT>, tensor<21xW>
  })",
      {p, g, {0.25}, m});
  expectNear(r[0], after, tolerance());
  expectNear(r[1], average, toleranceOf(wide()));
}

/// The sign of 0 is 0, and the master copy is what is updated.
TEST_P(UpdateKernels, LionOnAMasterCopy) {
  g[3] = m[3] = 0.0;
  Numbers after = master, average = m;
  for (int i = 0; i < kSize; ++i) {
    double c = 0.5 * m[i] + 0.5 * g[i];
    after[i] = master[i] * (1.0 - 0.25 * 0.5) - 0.25 * (c > 0 ? 1 : c < 0 ? -1 : 0);
    average[i] = 0.75 * m[i] + 0.25 * g[i];
  }
  std::vector<Numbers> r = runWide(
      R"(func.func @step(%p: tensor<21xT>, %g: tensor<21xT>, %lr: tensor<W>, %m: tensor<21xW>, %w: tensor<21xW>)
      -> (tensor<21xT>, tensor<21xW>, tensor<21xW>) {
    %0:3 = llm.lion %p, %g, %lr state(%m, %w) {beta1 = 0.5 : f64, beta2 = 0.75 : f64, weight_decay = 0.5 : f64}
      : (tensor<21xT>, tensor<21xT>, tensor<W>, tensor<21xW>, tensor<21xW>) -> (tensor<21xT>, tensor<21xW>, tensor<21xW>)
    return %0#0, %0#1, %0#2 : tensor<21xT>, tensor<21xW>, tensor<21xW>
  })",
      {p, g, {0.25}, m, master});
  expectNear(r[0], after, tolerance());
  expectNear(r[1], average, toleranceOf(wide()));
  expectNear(r[2], after, toleranceOf(wide()));
}

/// 3 rows of 7, which no vector divides.
TEST_P(UpdateKernels, AdafactorOfAMatrixOfOddWidth) {
  constexpr int kRows = 3, kColumns = 7;
  Numbers rows = {0.5, 0.25, 1.0}, columns(kColumns, 0.5);
  double weight = std::pow(2.0, -0.8), rate = std::min(0.25, 1.0 / std::sqrt(2.0)), mean = 0.0;
  for (int i = 0; i < kRows; ++i) {
    double square = 0.0;
    for (int j = 0; j < kColumns; ++j)
      square += g[i * kColumns + j] * g[i * kColumns + j];
    rows[i] += weight * (square / kColumns - rows[i]);
    mean += rows[i] / kRows;
  }
  for (int j = 0; j < kColumns; ++j) {
    double square = 0.0;
    for (int i = 0; i < kRows; ++i)
      square += g[i * kColumns + j] * g[i * kColumns + j];
    columns[j] += weight * (square / kRows - columns[j]);
  }
  Numbers update(kSize), after(kSize);
  double ofParameter = 0.0, ofUpdate = 0.0;
  for (int i = 0; i < kSize; ++i) {
    update[i] = g[i] / std::sqrt(rows[i / kColumns] * columns[i % kColumns] / mean);
    ofParameter += p[i] * p[i] / kSize;
    ofUpdate += update[i] * update[i] / kSize;
  }
  double size = std::sqrt(ofParameter) * rate / std::max(1.0, std::sqrt(ofUpdate));
  for (int i = 0; i < kSize; ++i)
    after[i] = p[i] * (1.0 - 0.25 * 0.5) - size * update[i];
  std::vector<Numbers> r = runWide(
      R"(func.func @step(%p: tensor<3x7xT>, %g: tensor<3x7xT>, %lr: tensor<W>, %t: tensor<i32>, %r: tensor<3xW>, %c: tensor<7xW>)
      -> (tensor<3x7xT>, tensor<3xW>, tensor<7xW>) {
    %0:3 = llm.adafactor %p, %g, %lr step(%t) state(%r, %c) {beta2_decay = -0.8 : f64, eps = 1.0e-7 : f64, weight_decay = 0.5 : f64}
      : (tensor<3x7xT>, tensor<3x7xT>, tensor<W>, tensor<i32>, tensor<3xW>, tensor<7xW>) -> (tensor<3x7xT>, tensor<3xW>, tensor<7xW>)
    return %0#0, %0#1, %0#2 : tensor<3x7xT>, tensor<3xW>, tensor<7xW>
  })",
      {p, g, {0.25}, {2}, {0.5, 0.25, 1.0}, Numbers(kColumns, 0.5)});
  expectNear(r[0], after, tolerance());
  expectNear(r[1], rows, toleranceOf(wide()));
  expectNear(r[2], columns, toleranceOf(wide()));
}

/// 0.9 + 0.1 * 1.0078125 lies a tenth of the way from 1 to the next bf16: the mean of many
/// roundings is near to it, which that of the nearest, 1, is not.
TEST(UpdateKernelsOfBf16, MomentsAreRoundedStochastically) {
  constexpr int kSize = 4096;
  Numbers p, ones(kSize, 1.0), g(kSize, 1.0078125);
  for (int i = 0; i < kSize; ++i)
    p.push_back(i / 64.0);
  std::vector<Numbers> r = runStep(
      R"(func.func @step(%p: tensor<4096xf32>, %g: tensor<4096xf32>, %m: tensor<4096xbf16>, %v: tensor<4096xbf16>,
      %lr: tensor<f32>, %t: tensor<i32>) -> (tensor<4096xf32>, tensor<4096xbf16>, tensor<4096xbf16>) {
    %0, %1, %2 = llm.adamw %p, %g, %m, %v, %lr, %t
      {beta1 = 0.9 : f64, beta2 = 0.9 : f64, eps = 1.0e-8 : f64, weight_decay = 0.0 : f64}
      : (tensor<4096xf32>, tensor<4096xf32>, tensor<4096xbf16>, tensor<4096xbf16>, tensor<f32>, tensor<i32>)
      -> (tensor<4096xf32>, tensor<4096xbf16>, tensor<4096xbf16>)
    return %0, %1, %2 : tensor<4096xf32>, tensor<4096xbf16>, tensor<4096xbf16>
  })",
      {p, g, ones, ones, {0.0}, {3}});
  double first = 0.0, second = 0.0;
  for (int i = 0; i < kSize; ++i) {
    EXPECT_TRUE(r[1][i] == 1.0 || r[1][i] == 1.0078125) << r[1][i];
    first += r[1][i] / kSize;
    second += r[2][i] / kSize;
  }
  EXPECT_NEAR(first, 0.9 + 0.1 * 1.0078125, 2e-4);
  EXPECT_NEAR(second, 0.9 + 0.1 * 1.0078125 * 1.0078125, 2e-4);
  EXPECT_NE(r[1], r[2]);
}

/// Compares with torch.amp.GradScaler: each line has a norm, a scale and counts of one step.
TEST_P(UpdateKernels, LossScaleFollowsTheNorm) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  struct Step {
    double norm, scale, good, updates;            // before
    double factor, newScale, newGood, newUpdates; // after; a factor of 0 stands for NaN
  };
  const Step steps[] = {{1.0, 8.0, 0.0, 4.0, 0.125, 8.0, 1.0, 5.0},
                        {1.0, 8.0, 2.0, 4.0, 0.125, 16.0, 0.0, 5.0},
                        {48.0, 8.0, 0.0, 4.0, 0.0625, 8.0, 1.0, 5.0}, // clipped: 3 / 6
                        {kInfinity, 8.0, 2.0, 4.0, 0.0, 4.0, 0.0, 4.0},
                        {std::nan(""), 8.0, 1.0, 0.0, 0.0, 4.0, 0.0, 0.0}};
  for (const Step &step : steps) {
    std::vector<Numbers> r = runWide(
        R"(func.func @step(%n: tensor<W>, %s: tensor<W>, %g: tensor<W>, %u: tensor<W>)
        -> (tensor<W>, tensor<W>, tensor<W>, tensor<W>, tensor<i32>) {
      %f, %s1, %g1, %u1, %t = llm.adjust_loss_scale %n, %s, %g, %u
        {growth = 2.0 : f64, backoff = 0.5 : f64, interval = 3 : i64, clip_norm = 3.0 : f64}
        : (tensor<W>, tensor<W>, tensor<W>, tensor<W>) -> (tensor<W>, tensor<W>, tensor<W>, tensor<W>, tensor<i32>)
      return %f, %s1, %g1, %u1, %t : tensor<W>, tensor<W>, tensor<W>, tensor<W>, tensor<i32>
    })",
        {{step.norm}, {step.scale}, {step.good}, {step.updates}});
    if (step.factor == 0.0)
      EXPECT_TRUE(std::isnan(r[0][0]));
    else
      EXPECT_NEAR(r[0][0], step.factor, 1e-6);
    EXPECT_EQ(r[1][0], step.newScale);
    EXPECT_EQ(r[2][0], step.newGood);
    EXPECT_EQ(r[3][0], step.newUpdates);
    EXPECT_EQ(r[4][0], step.newUpdates);
  }
}

/// A NaN factor changes nothing, whatever the gradients are; by 1/4 they are those of a fourth.
TEST_P(UpdateKernels, FactorScalesOrSkips) {
  const std::string text =
      R"(func.func @step(%p: tensor<21xT>, %g: tensor<21xT>, %m: tensor<21xW>, %v: tensor<21xW>,
      %lr: tensor<W>, %t: tensor<i32>, %f: tensor<W>, %q: tensor<4x8xT>, %h: tensor<4x8xT>, %b: tensor<4x8xW>,
      %r: tensor<4xW>, %c: tensor<8xW>) -> (tensor<21xT>, tensor<21xW>, tensor<21xW>, tensor<21xT>, tensor<21xW>,
      tensor<21xT>, tensor<21xW>, tensor<4x8xT>, tensor<4xW>, tensor<8xW>, tensor<4x8xT>, tensor<4x8xW>) {
    %0:3 = llm.adamw %p, %g, %m, %v, %lr, %t factor(%f)
      {beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64}
      : (tensor<21xT>, tensor<21xT>, tensor<21xW>, tensor<21xW>, tensor<W>, tensor<i32>, tensor<W>)
      -> (tensor<21xT>, tensor<21xW>, tensor<21xW>)
    %1:2 = llm.sgd %p, %g, %lr state(%m) factor(%f) {momentum = 0.75 : f64, weight_decay = 0.5 : f64}
      : (tensor<21xT>, tensor<21xT>, tensor<W>, tensor<21xW>, tensor<W>) -> (tensor<21xT>, tensor<21xW>)
    %2:2 = llm.lion %p, %g, %lr state(%m) factor(%f) {beta1 = 0.5 : f64, beta2 = 0.75 : f64, weight_decay = 0.5 : f64}
      : (tensor<21xT>, tensor<21xT>, tensor<W>, tensor<21xW>, tensor<W>) -> (tensor<21xT>, tensor<21xW>)
    %3:3 = llm.adafactor %q, %h, %lr step(%t) state(%r, %c) factor(%f)
      {beta2_decay = -0.8 : f64, eps = 1.0e-7 : f64, weight_decay = 0.1 : f64}
      : (tensor<4x8xT>, tensor<4x8xT>, tensor<W>, tensor<i32>, tensor<4xW>, tensor<8xW>, tensor<W>)
      -> (tensor<4x8xT>, tensor<4xW>, tensor<8xW>)
    %4:2 = llm.muon %q, %h, %lr state(%b) factor(%f) {momentum = 0.95 : f64, nesterov, weight_decay = 0.1 : f64}
      : (tensor<4x8xT>, tensor<4x8xT>, tensor<W>, tensor<4x8xW>, tensor<W>) -> (tensor<4x8xT>, tensor<4x8xW>)
    return %0#0, %0#1, %0#2, %1#0, %1#1, %2#0, %2#1, %3#0, %3#1, %3#2, %4#0, %4#1 : tensor<21xT>, tensor<21xW>,
      tensor<21xW>, tensor<21xT>, tensor<21xW>, tensor<21xT>, tensor<21xW>, tensor<4x8xT>, tensor<4xW>, tensor<8xW>,
      tensor<4x8xT>, tensor<4x8xW>
  })";
  Numbers rows(4, 0.5), columns(8, 0.25);
  Numbers matrix = someNumbers(32, 6), ofMatrix = someNumbers(32, 7), average = someNumbers(32, 8);
  auto runBy = [&](double factor, double times, double step) {
    Numbers gradient = g, gradientOfMatrix = ofMatrix;
    for (Numbers *numbers : {&gradient, &gradientOfMatrix})
      for (double &x : *numbers)
        x *= times;
    return runWide(text, {p,
                          gradient,
                          m,
                          v,
                          {0.0078125},
                          {step},
                          {factor},
                          matrix,
                          gradientOfMatrix,
                          average,
                          rows,
                          columns});
  };
  // A first step that is skipped has the number 0.
  std::vector<Numbers> skipped = runBy(std::nan(""), std::numeric_limits<double>::infinity(), 0);
  const Numbers *before[] = {&p, &m,      &v,    &p,       &m,      &p,
                             &m, &matrix, &rows, &columns, &matrix, &average};
  for (auto [after, old] : llvm::zip_equal(skipped, before))
    EXPECT_EQ(after, *old);
  EXPECT_EQ(runBy(0.25, 4.0, 3), runBy(1.0, 1.0, 3));
}

/// Of 3 x 9 elements no part of Muon's workspace but the first begins at a multiple of 16 bytes of
/// itself; a step of the transposed matrix is transposed.
TEST_P(UpdateKernels, MuonOfOddSizesIsThatOfTheTransposed) {
  auto step = [&](int rows, const Numbers &param, const Numbers &gradient, const Numbers &average) {
    std::string shape = std::to_string(rows) + "x" + std::to_string(27 / rows);
    std::string p = "tensor<" + shape + "xT>", m = "tensor<" + shape + "xW>";
    return runWide("func.func @step(%p: " + p + ", %g: " + p + ", %m: " + m +
                       ", %lr: tensor<W>) -> (" + p + ", " + m +
                       ") {\n  %0:2 = llm.muon %p, %g, %lr state(%m) {momentum = 0.95 : f64, "
                       "nesterov, weight_decay = 0.1 : f64} : (" +
                       p + ", " + p + ", tensor<W>, " + m + ") -> (" + p + ", " + m +
                       ")\n  return %0#0, %0#1 : " + p + ", " + m + "\n}\n",
                   {param, gradient, average, {0.0078125}});
  };
  auto transposed = [](const Numbers &x) {
    Numbers t(27);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 9; ++j)
        t[j * 3 + i] = x[i * 9 + j];
    return t;
  };
  Numbers param = someNumbers(27, 6), gradient = someNumbers(27, 7), average = someNumbers(27, 8);
  std::vector<Numbers> wide = step(3, param, gradient, average),
                       tall = step(9, transposed(param), transposed(gradient), transposed(average));
  for (int result : {0, 1}) {
    EXPECT_NE(wide[result], result == 0 ? param : average);
    expectNear(tall[result], transposed(wide[result]), tolerance());
  }
}

LLMMEM_ALL_ELEMENT_TYPES(UpdateKernels);

} // namespace
