//===- ElementKernelsTest.cpp - Element-wise kernels against plain C++ -----===//

#include "Check.h"

using namespace llmmem::test;

namespace {

class ElementKernels : public KernelTest {
protected:
  /// Runs %y = `op` on tensors of 37 elements (two whole vectors and a rest).
  Numbers apply(const std::string &op, unsigned operands, const std::string &attributes = "") {
    std::vector<Numbers> arguments = {x, dy};
    arguments.resize(operands);
    std::string names = operands == 1 ? "%a: tensor<37xT>" : "%a: tensor<37xT>, %b: tensor<37xT>";
    std::string text = "func.func @step(" + names + ") -> tensor<37xT> { %y = llm." + op +
                       (operands == 1 ? " %a" : " %a, %b") + attributes +
                       " : tensor<37xT>\n return %y : tensor<37xT> }";
    return run(text, arguments)[0];
  }

  template <typename Formula>
  Numbers expected(Formula formula) {
    Numbers numbers;
    for (size_t i = 0; i < x.size(); ++i)
      numbers.push_back(formula(x[i], dy[i]));
    return numbers;
  }

  ElementKernels() {
    for (double &value : x)
      value *= 8.0; // the tails of tanh and exp too
  }

  Numbers x = someNumbers(37, 1), dy = someNumbers(37, 2);
};

double gelu(double x) {
  return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x)));
}
double exactGelu(double x) { return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0))); }
double silu(double x) { return x / (1.0 + std::exp(-x)); }
double steepSilu(double x) { return x / (1.0 + std::exp(-1.5 * x)); }
/// Returns a central difference that is good to about 1e-10.
template <typename Formula>
double slope(Formula formula, double x) {
  double h = 1e-4;
  return (8.0 * (formula(x + h) - formula(x - h)) - (formula(x + 2 * h) - formula(x - 2 * h))) /
         (12.0 * h);
}

TEST_P(ElementKernels, Add) {
  expectNear(apply("add", 2), expected([](double a, double b) { return a + b; }), tolerance());
}
TEST_P(ElementKernels, Mul) {
  expectNear(apply("mul", 2), expected([](double a, double b) { return a * b; }), tolerance());
}
TEST_P(ElementKernels, Gelu) {
  expectNear(apply("gelu", 1), expected([](double a, double) { return gelu(a); }), tolerance());
}
TEST_P(ElementKernels, Silu) {
  expectNear(apply("silu", 1), expected([](double a, double) { return silu(a); }), tolerance());
}
TEST_P(ElementKernels, GeluGrad) {
  expectNear(apply("gelu_grad", 2), expected([](double a, double b) { return b * slope(gelu, a); }),
             std::max(tolerance(), 1e-9));
}
TEST_P(ElementKernels, ExactGelu) {
  expectNear(apply("gelu", 1, " {exact}"), expected([](double a, double) { return exactGelu(a); }),
             tolerance());
}
TEST_P(ElementKernels, ExactGeluGrad) {
  expectNear(apply("gelu_grad", 2, " {exact}"),
             expected([](double a, double b) { return b * slope(exactGelu, a); }),
             std::max(tolerance(), 1e-9));
}
TEST_P(ElementKernels, Scale) {
  expectNear(apply("scale", 1, " {factor = 2.5 : f64}"),
             expected([](double a, double) { return 2.5 * a; }), tolerance());
}
TEST_P(ElementKernels, Softcap) {
  expectNear(apply("softcap", 1, " {cap = 1.5 : f64}"),
             expected([](double a, double) { return 1.5 * std::tanh(a / 1.5); }), tolerance());
}
TEST_P(ElementKernels, SiluGrad) {
  expectNear(apply("silu_grad", 2), expected([](double a, double b) { return b * slope(silu, a); }),
             std::max(tolerance(), 1e-9));
}

TEST_P(ElementKernels, SteepSilu) {
  expectNear(apply("silu", 1, " {alpha = 1.5 : f64}"),
             expected([](double a, double) { return steepSilu(a); }), tolerance());
}
TEST_P(ElementKernels, SteepSiluGrad) {
  expectNear(apply("silu_grad", 2, " {alpha = 1.5 : f64}"),
             expected([](double a, double b) { return b * slope(steepSilu, a); }),
             std::max(tolerance(), 1e-9));
}
TEST_P(ElementKernels, Logistic) {
  expectNear(apply("logistic", 1),
             expected([](double a, double) { return 1 / (1 + std::exp(-a)); }), tolerance());
}
// Where exp(x) overflows, the result is x.
TEST_P(ElementKernels, Softplus) {
  x[0] = 1000.0, x[1] = -1000.0;
  expectNear(apply("softplus", 1),
             expected([](double a, double) { return a > 100 ? a : std::log1p(std::exp(a)); }),
             tolerance());
}
TEST_P(ElementKernels, Exp) {
  expectNear(apply("exp", 1), expected([](double a, double) { return std::exp(a); }), tolerance());
}
// Numbers on a bound are within it.
TEST_P(ElementKernels, Clamp) {
  x[0] = -2.0, x[1] = 3.0;
  expectNear(apply("clamp", 1, " {high = 3.0 : f64, low = -2.0 : f64}"),
             expected([](double a, double) { return std::min(std::max(a, -2.0), 3.0); }),
             tolerance());
  expectNear(apply("clamp", 1, " {high = 3.0 : f64}"),
             expected([](double a, double) { return std::min(a, 3.0); }), tolerance());
}
TEST_P(ElementKernels, ClampGrad) {
  x[0] = -2.0, x[1] = 3.0;
  expectNear(apply("clamp_grad", 2, " {high = 3.0 : f64, low = -2.0 : f64}"),
             expected([](double a, double b) { return a >= -2.0 && a <= 3.0 ? b : 0.0; }),
             tolerance());
  expectNear(apply("clamp_grad", 2, " {low = -2.0 : f64}"),
             expected([](double a, double b) { return a >= -2.0 ? b : 0.0; }), tolerance());
}

TEST_P(ElementKernels, FillsAndReshapes) {
  Numbers y = run(R"(func.func @step() -> tensor<3x2xT> {
    %y = llm.fill {value = 1.5 : f64} : tensor<6xT>
    %z = llm.reshape %y : tensor<6xT> -> tensor<3x2xT>
    return %z : tensor<3x2xT>
  })",
                  {})[0];
  EXPECT_EQ(y, Numbers(6, 1.5));
}

TEST_P(ElementKernels, AddPositions) {
  Numbers table = someNumbers(5 * 6, 3), x = someNumbers(2 * 4 * 6, 4), expected;
  for (int i = 0; i < 2 * 4 * 6; ++i)
    expected.push_back(x[i] + table[i % (4 * 6)]);
  expectNear(run(R"(func.func @step(%x: tensor<2x4x6xT>, %t: tensor<5x6xT>) -> tensor<2x4x6xT> {
    %y = llm.add_positions %x, %t : (tensor<2x4x6xT>, tensor<5x6xT>) -> tensor<2x4x6xT>
    return %y : tensor<2x4x6xT>
  })",
                 {x, table})[0],
             expected, tolerance());
}

TEST_P(ElementKernels, CausalMaskWithWindow) {
  Numbers x = someNumbers(2 * 3 * 5 * 5, 5), expected = x;
  for (int m = 0; m < 6; ++m)
    for (int i = 0; i < 5; ++i)
      for (int j = 0; j < 5; ++j)
        if (j > i || j <= i - 2)
          expected[(m * 5 + i) * 5 + j] = -INFINITY;
  EXPECT_EQ(run(R"(func.func @step(%x: tensor<2x3x5x5xT>) -> tensor<2x3x5x5xT> {
    %y = llm.causal_mask %x {fill = 0xFFF0000000000000 : f64, window = 2 : i64} : tensor<2x3x5x5xT>
    return %y : tensor<2x3x5x5xT>
  })",
                {x})[0],
            expected);
}

LLMMEM_ALL_ELEMENT_TYPES(ElementKernels);

TEST(CastKernel, RoundsToNearestEvenOnce) {
  // 1 + 2^-8 lies between two bf16 numbers; a little more than it must go up, even from f64.
  Numbers x = {1.0 + std::ldexp(1.0, -8),
               1.0 + std::ldexp(1.0, -8) + std::ldexp(1.0, -40),
               1.0 + 3.0 * std::ldexp(1.0, -8),
               -1.0 - std::ldexp(1.0, -8) - std::ldexp(1.0, -40),
               0.0,
               1e30};
  Numbers y = runStep(R"(func.func @step(%x: tensor<6xf64>) -> tensor<6xbf16> {
    %y = llm.cast %x : tensor<6xf64> -> tensor<6xbf16>
    return %y : tensor<6xbf16>
  })",
                      {x})[0];
  EXPECT_EQ(y[0], 1.0);
  EXPECT_EQ(y[1], 1.0 + std::ldexp(1.0, -7));
  EXPECT_EQ(y[2], 1.0 + std::ldexp(1.0, -6));
  EXPECT_EQ(y[3], -1.0 - std::ldexp(1.0, -7));
  EXPECT_EQ(y[4], 0.0);
  EXPECT_NEAR(y[5], 1e30, 4e27);
}

//===----------------------------------------------------------------------===//
// Dropout
//===----------------------------------------------------------------------===//

using Block = std::array<uint32_t, 4>;

/// Computes Philox4x32-10, written from the paper (Salmon et al. 2011).
Block philox(Block counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t left = 0xD2511F53ull * counter[0], right = 0xCD9E8D57ull * counter[2];
    counter = {
        static_cast<uint32_t>(right >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(right),
        static_cast<uint32_t>(left >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(left)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

TEST(DropoutKernel, ReferenceGivesTheKnownAnswers) {
  // These are from the known-answer file of Random123.
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(DropoutKernel, DrawsPhilox) {
  std::vector<Numbers> y = runStep(
      R"(func.func @step(%x: tensor<1003xf32>, %s: tensor<2xi32>)
      -> (tensor<1003xf32>, tensor<1003xf32>, tensor<1003xi8>, tensor<1003xf32>) {
    %a = llm.dropout %x, %s {p = 0.3 : f64, key = 5000000000 : i64} : tensor<1003xf32>, tensor<2xi32>
    %b, %m = llm.stored_dropout %x, %s {p = 0.3 : f64, key = 5000000000 : i64}
      : (tensor<1003xf32>, tensor<2xi32>) -> (tensor<1003xf32>, tensor<1003xi8>)
    %c = llm.apply_mask %x, %m {p = 0.3 : f64} : tensor<1003xf32>, tensor<1003xi8>
    return %a, %b, %m, %c : tensor<1003xf32>, tensor<1003xf32>, tensor<1003xi8>, tensor<1003xf32>
  })",
      {Numbers(1003, 1.0), {static_cast<double>(static_cast<int32_t>(0xa4093822u)), 0x299f31d0}});
  for (uint64_t i = 0; i < 1003; ++i) {
    uint64_t key = 5000000000ull;
    Block block = philox({static_cast<uint32_t>(i / 4), 0, static_cast<uint32_t>(key),
                          static_cast<uint32_t>(key >> 32)},
                         {0xa4093822u, 0x299f31d0u});
    bool stays = std::ldexp(static_cast<double>(block[i % 4]), -32) >= 0.3;
    EXPECT_EQ(y[2][i], stays ? 1.0 : 0.0) << i;
    EXPECT_EQ(y[0][i], stays ? static_cast<double>(1.0f / 0.7f) : 0.0) << i;
  }
  EXPECT_EQ(y[0], y[1]);
  EXPECT_EQ(y[0], y[3]);
}

} // namespace
