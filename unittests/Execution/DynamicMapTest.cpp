//===- DynamicMapTest.cpp - AdamW's moments in 8 bits, element by element --===//

#include "Check.h"
#include "llmmem/Emulation/Emulator.h"
#include <algorithm>

using namespace llmmem;
using namespace llmmem::test;

namespace {

/// The map as its authors make it: linspace(0.1, 1) in 2^i parts, their middles, for each decade.
Numbers mapOf(bool isSigned) {
  Numbers numbers = {0.0, 1.0};
  for (int decade = 0; decade < 7; ++decade) {
    int parts = isSigned ? 1 << decade : 2 << decade;
    for (int part = 0; part < parts; ++part) {
      double number = std::pow(10.0, decade - 6) * (0.1 + 0.9 * (part + 0.5) / parts);
      numbers.push_back(number);
      if (isSigned)
        numbers.push_back(-number);
    }
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

const Numbers mapOfFirst = mapOf(true), mapOfSecond = mapOf(false);

constexpr int kSize = 700, kBlock = 256, kBlocks = 3; // the last block has 188 elements
const char *const kStep = R"(
  func.func @step(%p: tensor<700xf32>, %g: tensor<700xf32>, %m: tensor<700xi8>, %v: tensor<700xi8>, %lr: tensor<f32>, %t: tensor<i32>,
      %a: tensor<3xf32>, %b: tensor<3xf32>, %f: tensor<f32>)
      -> (tensor<700xf32>, tensor<700xi8>, tensor<700xi8>, tensor<3xf32>, tensor<3xf32>) {
    %0:5 = llm.adamw %p, %g, %m, %v, %lr, %t factor(%f) scales(%a, %b)
      {beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64}
      : (tensor<700xf32>, tensor<700xf32>, tensor<700xi8>, tensor<700xi8>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<3xf32>, tensor<3xf32>)
      -> (tensor<700xf32>, tensor<700xi8>, tensor<700xi8>, tensor<3xf32>, tensor<3xf32>)
    return %0#0, %0#1, %0#2, %0#3, %0#4 : tensor<700xf32>, tensor<700xi8>, tensor<700xi8>, tensor<3xf32>, tensor<3xf32>
  })";

/// The number of a byte, which tensors of i8 give with a sign.
int placeOf(double byte) { return static_cast<int>(byte) & 255; }

class DynamicMapTest : public ::testing::TestWithParam<bool> {
protected:
  Numbers p = someNumbers(kSize, 1), g = someNumbers(kSize, 2), m, v, a, b, factor = {1};

  void SetUp() override {
    if (GetParam() && !emulation::isEmulatorBuilt())
      GTEST_SKIP() << "built without the emulator";
  }

  /// Every byte at least twice, and gradients of many magnitudes.
  DynamicMapTest() {
    for (int i = 0; i < kSize; ++i) {
      m.push_back(static_cast<int8_t>(i * 37 % 256));
      v.push_back(static_cast<int8_t>(i * 91 % 256));
      g[i] = static_cast<float>(g[i] * std::pow(10.0, -(i % 9)));
    }
    a = {0.5f, 0.001f, 0.0f};
    b = {0.25f, 1e-7f, 0.0f};
  }

  std::vector<Numbers> step() const {
    return runStep(kStep, {p, g, m, v, {0.0078125}, {3}, a, b, factor}, {.emulate = GetParam()});
  }

  double oldFirst(int i) const { return mapOfFirst[placeOf(m[i])] * a[i / kBlock]; }
  double oldSecond(int i) const { return mapOfSecond[placeOf(v[i])] * b[i / kBlock]; }
  double newFirst(int i) const { return 0.9 * oldFirst(i) + 0.1 * g[i]; }
  double newSecond(int i) const { return 0.999 * oldSecond(i) + 0.001 * g[i] * g[i]; }
};

/// No number of the map may be nearer to what was rounded, but for the errors of f32.
void expectNearest(const Numbers &map, const Numbers &bytes, const Numbers &scales,
                   llvm::function_ref<double(int)> moment) {
  for (int i = 0; i < kSize; ++i) {
    double scale = scales[i / kBlock], exact = moment(i) / scale, least = 2;
    for (double number : map)
      least = std::min(least, std::abs(number - exact));
    double error = std::abs(map[placeOf(bytes[i])] - exact);
    EXPECT_LE(error, least + 1e-6 * std::abs(exact) + 1e-12) << "element " << i;
  }
}

TEST_P(DynamicMapTest, HoldsTheNearestNumbersOfTheMap) {
  std::vector<Numbers> r = step();
  Numbers largest(kBlocks), largestSquare(kBlocks), updated(kSize);
  for (int i = 0; i < kSize; ++i) {
    largest[i / kBlock] = std::max(largest[i / kBlock], std::abs(newFirst(i)));
    largestSquare[i / kBlock] = std::max(largestSquare[i / kBlock], newSecond(i));
    updated[i] = p[i] * (1 - 0.0078125 * 0.1) -
                 0.0078125 / (1 - std::pow(0.9, 3)) * newFirst(i) /
                     (std::sqrt(newSecond(i)) / std::sqrt(1 - std::pow(0.999, 3)) + 1e-8);
  }
  expectNear(r[0], updated, toleranceOf("f32"));
  for (int block = 0; block < kBlocks; ++block) {
    EXPECT_NEAR(r[3][block], largest[block], 1e-6 * largest[block]);
    EXPECT_NEAR(r[4][block], largestSquare[block], 1e-6 * largestSquare[block]);
  }
  expectNearest(mapOfFirst, r[1], r[3], [&](int i) { return newFirst(i); });
  expectNearest(mapOfSecond, r[2], r[4], [&](int i) { return newSecond(i); });
}

TEST_P(DynamicMapTest, StaysZeroWhereNothingMoves) {
  g.assign(kSize, 0.0);
  a.assign(kBlocks, 0.0);
  b.assign(kBlocks, 0.0);
  std::vector<Numbers> r = step();
  EXPECT_EQ(r[3], a);
  EXPECT_EQ(r[4], b);
  for (int i = 0; i < kSize; ++i) {
    EXPECT_EQ(mapOfFirst[placeOf(r[1][i])], 0.0) << "element " << i;
    EXPECT_EQ(mapOfSecond[placeOf(r[2][i])], 0.0) << "element " << i;
  }
}

TEST_P(DynamicMapTest, KeepsAllBitsOfASkippedStep) {
  factor = {std::nan("")};
  std::vector<Numbers> r = step();
  EXPECT_EQ(r[0], p);
  EXPECT_EQ(r[1], m);
  EXPECT_EQ(r[2], v);
  EXPECT_EQ(r[3], a);
  EXPECT_EQ(r[4], b);
}

INSTANTIATE_TEST_SUITE_P(Targets, DynamicMapTest, ::testing::Bool(),
                         [](const auto &info) { return info.param ? "Emulated" : "Cpu"; });

} // namespace
