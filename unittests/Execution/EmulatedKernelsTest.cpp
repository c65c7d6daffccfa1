//===- EmulatedKernelsTest.cpp - A GPU's kernels and the CPU's -------------===//

#include "Check.h"
#include "llmmem/Emulation/Emulator.h"
#include "llvm/ADT/bit.h"

using namespace llmmem;
using namespace llmmem::test;

namespace {

struct Kernel {
  const char *name;
  /// `A` stands for the type of %a, %b and the results.
  const char *text;
};

void PrintTo(const Kernel &kernel, std::ostream *os) { *os << kernel.name; }

// Elementwise kernels: an element depends on no other, so there is no order of a sum.
const Kernel kernels[] = {
    {"add", "%0 = llm.add %a, %b : A"},
    {"mul", "%0 = llm.mul %a, %b : A"},
    {"dropout",
     "%0 = llm.dropout %a, %s {p = 0.3 : f64, key = 5000000000 : i64} : A, tensor<2xi32>"},
    {"exact_gelu", "%0 = llm.gelu %a {exact} : A"},
    {"exact_gelu_grad", "%0 = llm.gelu_grad %a, %b {exact} : A"},
    {"scale", "%0 = llm.scale %a {factor = 3.0 : f64} : A"},
    {"softcap", "%0 = llm.softcap %a {cap = 0.5 : f64} : A"},
    {"softcap_grad", "%0 = llm.softcap_grad %a, %b {cap = 2.0 : f64} : A"},
    {"rope_part", "%0 = llm.rope %a {heads = 2 : i64, theta = 100.0 : f64, rotary = 2 : i64} : A"},
    {"rope", "%0 = llm.rope %a {heads = 2 : i64, theta = 100.0 : f64} : A"},
    {"rope_interleaved",
     "%0 = llm.rope %a {heads = 2 : i64, theta = 100.0 : f64, interleaved} : A"},
    {"rope_inverse", "%0 = llm.rope %a {heads = 2 : i64, theta = 100.0 : f64, inverse} : A"},
};

// In 16 bits a GPU has formulas of its own for these: EmulatedActivationTest below.
const Kernel activationsOfF32[] = {
    {"gelu", "%0 = llm.gelu %a : A"},
    {"gelu_grad", "%0 = llm.gelu_grad %a, %b : A"},
    {"silu", "%0 = llm.silu %a : A"},
    {"silu_grad", "%0 = llm.silu_grad %a, %b : A"},
};

class EmulatedKernelsTest
    : public ::testing::TestWithParam<std::tuple<Kernel, std::string, std::string>> {};

TEST_P(EmulatedKernelsTest, GivesTheBitsOfTheCpu) {
  if (!emulation::isEmulatorBuilt())
    GTEST_SKIP() << "built without the emulator";
  auto [kernel, shape, element] = GetParam();
  std::string text = std::string("func.func @step(%a: A, %b: A, %s: tensor<2xi32>) -> A { ") +
                     kernel.text + " return %0 : A }";
  std::string type = "tensor<" + shape + "x" + element + ">";
  for (size_t at; (at = text.find('A')) != std::string::npos;)
    text.replace(at, 1, type);
  int64_t count = 1, factor = 0;
  for (char c : shape + "x") {
    if (c == 'x')
      count *= std::exchange(factor, 0);
    else
      factor = factor * 10 + (c - '0');
  }
  Numbers a = someNumbers(count, 1), b = someNumbers(count, 2);
  for (double &value : a)
    value *= 8.0; // the tails of tanh and exp too
  std::vector<Numbers> arguments = {a, b, {123456, -7}};
  std::vector<Numbers> expected = runStep(text, arguments);
  std::vector<Numbers> found = runStep(text, arguments, {.emulate = true});
  ASSERT_EQ(expected.size(), 1u);
  EXPECT_EQ(found, expected);
}

std::string nameOf(const ::testing::TestParamInfo<EmulatedKernelsTest::ParamType> &info) {
  return std::string(std::get<0>(info.param).name) + "_" + std::get<1>(info.param) + "_" +
         std::get<2>(info.param);
}

// Whole vectors and blocks, and remainders of both.
INSTANTIATE_TEST_SUITE_P(Elements, EmulatedKernelsTest,
                         ::testing::Combine(::testing::ValuesIn(kernels),
                                            ::testing::Values("2x64x16", "3x11x12"),
                                            ::testing::Values("f32", "bf16")),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Activations, EmulatedKernelsTest,
                         ::testing::Combine(::testing::ValuesIn(activationsOfF32),
                                            ::testing::Values("2x64x16", "3x11x12"),
                                            ::testing::Values("f32")),
                         nameOf);

//===----------------------------------------------------------------------===//
// Activations of 16 bits, which have formulas of their own: every number of bf16
//===----------------------------------------------------------------------===//

struct Activation {
  const char *name, *text;
  /// The exact result, and the sum of its terms' absolute values.
  std::pair<double, double> (*exact)(double x);
};

void PrintTo(const Activation &activation, std::ostream *os) { *os << activation.name; }

double logistic(double x) { return 1.0 / (1.0 + std::exp(-x)); }

std::pair<double, double> activated(double x, double power) {
  double y = power < -700.0 ? 0.0 : x * logistic(power);
  return {y, std::abs(y)};
}
/// The derivative of x times the logistic function of `power`, whose slope is `slope`.
std::pair<double, double> slopeOf(double x, double power, double slope) {
  double s = logistic(power), other = std::abs(power) > 700.0 ? 0.0 : x * slope * s * (1.0 - s);
  return {s + other, s + std::abs(other)};
}

double geluPower(double x) { return 2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x); }

const Activation activations[] = {
    {"gelu", "%0 = llm.gelu %a : A", [](double x) { return activated(x, geluPower(x)); }},
    {"silu", "%0 = llm.silu %a : A", [](double x) { return activated(x, x); }},
    {"steep_silu", "%0 = llm.silu %a {alpha = 1.702 : f64} : A",
     [](double x) { return activated(x, 1.702 * x); }},
    {"gelu_grad", "%0 = llm.gelu_grad %a, %b : A",
     [](double x) {
       return slopeOf(x, geluPower(x), 2 * std::sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x));
     }},
    {"silu_grad", "%0 = llm.silu_grad %a, %b : A", [](double x) { return slopeOf(x, x, 1.0); }},
};

class EmulatedActivationTest : public ::testing::TestWithParam<Activation> {};

TEST_P(EmulatedActivationTest, RoundsTheExactResult) {
  if (!emulation::isEmulatorBuilt())
    GTEST_SKIP() << "built without the emulator";
  std::string text =
      std::string("func.func @step(%a: A, %b: A) -> A { ") + GetParam().text + " return %0 : A }";
  for (size_t at; (at = text.find('A')) != std::string::npos;)
    text.replace(at, 1, "tensor<256x256xbf16>");
  Numbers all;
  for (uint32_t bits = 0; bits < 1 << 16; ++bits)
    all.push_back(llvm::bit_cast<float>(bits << 16));
  Numbers ones(all.size(), 1.0);
  auto run = [&](TensorCores tensorCores) {
    return runStep(text, {all, ones}, {.emulate = true, .tensorCores = tensorCores})[0];
  };
  // One computes by a reciprocal, the other by a division.
  Numbers found = run(TensorCores::Warpgroup), divided = run(TensorCores::Warp);
  for (size_t i = 0; i < all.size(); ++i) {
    if (std::isnan(all[i])) {
      ASSERT_TRUE(std::isnan(found[i]) && std::isnan(divided[i])) << "of NaN";
      continue;
    }
    ASSERT_EQ(found[i], divided[i]) << "of " << all[i];
    if (std::isinf(all[i]))
      continue;
    auto [exact, terms] = GetParam().exact(all[i]);
    double unit = std::ldexp(1.0, std::max(std::ilogb(std::max(terms, 1e-300)), -126) - 7);
    double ofResult = exact == 0 ? 0 : std::ldexp(1.0, std::max(std::ilogb(exact), -126) - 7);
    // Half a unit of the result for its rounding, a hundredth of a term's for what was rounded; and
    // of the tail where it has fallen to 2^-113.
    ASSERT_NEAR(found[i], exact, 0.5 * ofResult + 0.01 * unit + 1e-34) << "of " << all[i];
  }
}

INSTANTIATE_TEST_SUITE_P(All, EmulatedActivationTest, ::testing::ValuesIn(activations),
                         [](const auto &info) { return info.param.name; });

#ifdef __x86_64__
// Machines without bf16 give the same bits.
TEST(EmulatedProductTest, HasTheSameBitsOnOtherMachines) {
  if (!emulation::isEmulatorBuilt())
    GTEST_SKIP() << "built without the emulator";
  std::string text = "func.func @step(%x: tensor<10x40xbf16>, %w: tensor<24x40xbf16>) -> "
                     "tensor<10x24xbf16> { %0 = llm.linear %x, %w layout(out_in) : "
                     "(tensor<10x40xbf16>, tensor<24x40xbf16>) -> tensor<10x24xbf16> "
                     "return %0 : tensor<10x24xbf16> }";
  std::vector<Numbers> arguments = {someNumbers(400, 1), someNumbers(960, 2)};
  std::vector<Numbers> here = runStep(text, arguments, {.emulate = true});
  for (const char *processor : {"x86-64-v3", "x86-64"})
    EXPECT_EQ(runStep(text, arguments, {.processor = processor, .emulate = true}), here)
        << processor;
}
#endif

//===----------------------------------------------------------------------===//
// The gradient of a table: both sum in the order of the tokens
//===----------------------------------------------------------------------===//

struct Lookups {
  const char *name;
  int64_t rows, tokens, width;
  /// The number of tokens in ten that look up row 1.
  int often;
};

void PrintTo(const Lookups &lookups, std::ostream *os) { *os << lookups.name; }

class EmulatedTableTest : public ::testing::TestWithParam<std::tuple<Lookups, bool, std::string>> {
};

TEST_P(EmulatedTableTest, GivesTheBitsOfTheCpu) {
  if (!emulation::isEmulatorBuilt())
    GTEST_SKIP() << "built without the emulator";
  auto [lookups, goesOn, element] = GetParam();
  std::string tokens = std::to_string(lookups.tokens), width = std::to_string(lookups.width);
  std::string ids = "tensor<1x" + tokens + "xi32>",
              terms = "tensor<1x" + tokens + "x" + width + "x" + element + ">",
              table = "tensor<" + std::to_string(lookups.rows) + "x" + width + "x" + element + ">";
  std::string text = "func.func @step(%i: " + ids + ", %a: " + terms + ", %t: " + table + ") -> " +
                     table + " { %0 = llm.embedding_grad %i, %a" + (goesOn ? " into(%t)" : "") +
                     " : (" + ids + ", " + terms + (goesOn ? ", " + table : "") + ") -> " + table +
                     " return %0 : " + table + " }";
  Numbers numbers;
  for (int i = 0; i < lookups.tokens; ++i)
    numbers.push_back(i % 10 < lookups.often ? 1 : (i * 7919 + i / 3) % (lookups.rows + 2) - 1);
  std::vector<Numbers> arguments = {numbers, someNumbers(lookups.tokens * lookups.width, 1),
                                    someNumbers(lookups.rows * lookups.width, 2)};
  std::vector<Numbers> expected = runStep(text, arguments);
  EXPECT_EQ(runStep(text, arguments, {.emulate = true}), expected);
}

// Blocks with unequally many rows; ids that occur once; a remainder of a row; more positions of one
// block than its list holds; a row that takes all threads of a block several times.
INSTANTIATE_TEST_SUITE_P(Tables, EmulatedTableTest,
                         ::testing::Combine(::testing::Values(Lookups{"rows", 131, 2050, 16, 3},
                                                              Lookups{"odd", 70, 37, 19, 0},
                                                              Lookups{"crowded", 70, 5003, 3, 9},
                                                              Lookups{"wide", 66, 70, 2568, 2}),
                                            ::testing::Bool(), ::testing::Values("f32", "bf16")),
                         [](const ::testing::TestParamInfo<EmulatedTableTest::ParamType> &info) {
                           return std::string(std::get<0>(info.param).name) +
                                  (std::get<1>(info.param) ? "_into_" : "_") +
                                  std::get<2>(info.param);
                         });

} // namespace
