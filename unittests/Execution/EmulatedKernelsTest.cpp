//===- EmulatedKernelsTest.cpp - A GPU's kernels beside the CPU's ----------===//

#include "Check.h"
#include "llmmem/Emulation/Emulator.h"

using namespace llmmem;
using namespace llmmem::test;

namespace {

struct Kernel {
  const char *name;
  /// `A` stands for the type of %a, %b and the results.
  const char *text;
};

void PrintTo(const Kernel &kernel, std::ostream *os) { *os << kernel.name; }

// Of elements: what one element becomes depends on no other, so no order of a sum is left to
// choose.
const Kernel kernels[] = {
    {"add", "%0 = llm.add %a, %b : A"},
    {"mul", "%0 = llm.mul %a, %b : A"},
    {"gelu", "%0 = llm.gelu %a : A"},
    {"gelu_grad", "%0 = llm.gelu_grad %a, %b : A"},
    {"silu", "%0 = llm.silu %a : A"},
    {"silu_grad", "%0 = llm.silu_grad %a, %b : A"},
    {"dropout",
     "%0 = llm.dropout %a, %s {p = 0.3 : f64, key = 5000000000 : i64} : A, tensor<2xi32>"},
    {"rope", "%0 = llm.rope %a {heads = 2 : i64, theta = 100.0 : f64} : A"},
    {"rope_inverse", "%0 = llm.rope %a {heads = 2 : i64, theta = 100.0 : f64, inverse} : A"},
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

// Whole vectors and blocks, and rests of both.
INSTANTIATE_TEST_SUITE_P(Elements, EmulatedKernelsTest,
                         ::testing::Combine(::testing::ValuesIn(kernels),
                                            ::testing::Values("2x64x16", "3x11x12"),
                                            ::testing::Values("f32", "bf16")),
                         nameOf);

} // namespace
