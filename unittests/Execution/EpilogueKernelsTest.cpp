//===- EpilogueKernelsTest.cpp - Products with what follows them -----------===//
//
// In one kernel and apart the bits are equal: what follows works on the product rounded to its own
// type.
//
//===----------------------------------------------------------------------===//

#include "Check.h"

using namespace llmmem::test;

namespace {

class EpilogueKernels : public KernelTest {
protected:
  /// The results of `apart`, and of `fused`, functions of these arguments, must be equal.
  void expectEqualBits(const std::string &signature, const std::string &apart,
                       const std::string &fused, const std::vector<Numbers> &arguments) {
    std::vector<Numbers> expected = run("func.func @step" + signature + apart + "}", arguments);
    std::vector<Numbers> found = run("func.func @step" + signature + fused + "}", arguments);
    ASSERT_FALSE(expected.empty());
    for (const Numbers &numbers : expected)
      for (double number : numbers)
        ASSERT_TRUE(std::isfinite(number));
    EXPECT_EQ(found, expected);
  }
};

// 133 rows: more than a block of C. 37 columns: rests of every tile and of every vector.
TEST_P(EpilogueKernels, ActivationWithItsInput) {
  expectEqualBits("(%x: tensor<133x70xT>, %w: tensor<70x37xT>, %b: tensor<37xT>) "
                  "-> (tensor<133x37xT>, tensor<133x37xT>) {",
                  R"(
    %h = llm.linear %x, %w bias(%b) layout(in_out) : (tensor<133x70xT>, tensor<70x37xT>, tensor<37xT>) -> tensor<133x37xT>
    %a = llm.gelu %h : tensor<133x37xT>
    return %h, %a : tensor<133x37xT>, tensor<133x37xT>)",
                  R"(
    %h, %a = llm.kernel(%i = %x, %m = %w, %v = %b) : (tensor<133x70xT>, tensor<70x37xT>, tensor<37xT>) -> (tensor<133x37xT>, tensor<133x37xT>) {
      %p = llm.linear %i, %m bias(%v) layout(in_out) : (tensor<133x70xT>, tensor<70x37xT>, tensor<37xT>) -> tensor<133x37xT>
      %g = llm.gelu %p : tensor<133x37xT>
      llm.yield %p, %g : tensor<133x37xT>, tensor<133x37xT>
    }
    return %h, %a : tensor<133x37xT>, tensor<133x37xT>)",
                  {someNumbers(133 * 70, 1), someNumbers(70 * 37, 2), someNumbers(37, 3)});
}

// 288 columns are two blocks of C, and whole vectors.
TEST_P(EpilogueKernels, GradientOfAnActivation) {
  expectEqualBits(
      "(%dy: tensor<40x24xT>, %w: tensor<288x24xT>, %h: tensor<40x288xT>) -> tensor<40x288xT> {",
      R"(
    %da = llm.linear %dy, %w layout(out_in) : (tensor<40x24xT>, tensor<288x24xT>) -> tensor<40x288xT>
    %dh = llm.gelu_grad %h, %da : tensor<40x288xT>
    return %dh : tensor<40x288xT>)",
      R"(
    %dh = llm.kernel(%i = %dy, %m = %w, %v = %h) : (tensor<40x24xT>, tensor<288x24xT>, tensor<40x288xT>) -> tensor<40x288xT> {
      %p = llm.linear %i, %m layout(out_in) : (tensor<40x24xT>, tensor<288x24xT>) -> tensor<40x288xT>
      %g = llm.gelu_grad %v, %p : tensor<40x288xT>
      llm.yield %g : tensor<40x288xT>
    }
    return %dh : tensor<40x288xT>)",
      {someNumbers(40 * 24, 1), someNumbers(288 * 24, 2), someNumbers(40 * 288, 3)});
}

TEST_P(EpilogueKernels, GateAndResidualSum) {
  expectEqualBits("(%x: tensor<2x9x16xT>, %w: tensor<16x16xT>, %g: tensor<2x9x16xT>) "
                  "-> (tensor<2x9x16xT>, tensor<2x9x16xT>) {",
                  R"(
    %up = llm.linear %x, %w layout(in_out) : (tensor<2x9x16xT>, tensor<16x16xT>) -> tensor<2x9x16xT>
    %s = llm.silu %g : tensor<2x9x16xT>
    %y = llm.mul %s, %up : tensor<2x9x16xT>
    %sum = llm.add %x, %y : tensor<2x9x16xT>
    return %up, %sum : tensor<2x9x16xT>, tensor<2x9x16xT>)",
                  R"(
    %up, %sum = llm.kernel(%i = %x, %m = %w, %v = %g) : (tensor<2x9x16xT>, tensor<16x16xT>, tensor<2x9x16xT>) -> (tensor<2x9x16xT>, tensor<2x9x16xT>) {
      %p = llm.linear %i, %m layout(in_out) : (tensor<2x9x16xT>, tensor<16x16xT>) -> tensor<2x9x16xT>
      %s = llm.silu %v : tensor<2x9x16xT>
      %y = llm.mul %s, %p : tensor<2x9x16xT>
      %z = llm.add %i, %y : tensor<2x9x16xT>
      llm.yield %p, %z : tensor<2x9x16xT>, tensor<2x9x16xT>
    }
    return %up, %sum : tensor<2x9x16xT>, tensor<2x9x16xT>)",
                  {someNumbers(288, 1), someNumbers(256, 2), someNumbers(288, 3)});
}

/// The gradient of an activation on the bytes of the activation's input, at arena byte `offset`.
std::string gradientAt(int offset) {
  return "func.func @step(%dy: tensor<40x24xT>, %w: tensor<96x24xT>, %x: tensor<40x96xT>) -> "
         "tensor<40x96xT> attributes {llm.arena = 65536 : i64} {"
         "%h = llm.cast %x {llm.offsets = array<i64: 0>} : tensor<40x96xT> -> tensor<40x96xT>"
         "%dh = llm.kernel(%i = %dy, %m = %w, %v = %h) : (tensor<40x24xT>, tensor<96x24xT>, "
         "tensor<40x96xT>) -> tensor<40x96xT> {"
         "%p = llm.linear %i, %m layout(out_in) : (tensor<40x24xT>, tensor<96x24xT>) -> "
         "tensor<40x96xT>"
         "%g = llm.gelu_grad %v, %p : tensor<40x96xT>"
         "llm.yield %g : tensor<40x96xT> } attributes {llm.offsets = array<i64: " +
         std::to_string(offset) +
         ">}"
         "return %dh : tensor<40x96xT> }";
}

TEST_P(EpilogueKernels, InPlaceAndApart) {
  std::vector<Numbers> arguments = {someNumbers(960, 1), someNumbers(2304, 2),
                                    someNumbers(3840, 3)};
  EXPECT_EQ(run(gradientAt(0), arguments, {.plan = false}),
            run(gradientAt(32768), arguments, {.plan = false}));
}

/// What nobody reads is not written, and what is read does not change.
TEST_P(EpilogueKernels, WithoutTheInput) {
  expectEqualBits("(%x: tensor<20x24xT>, %w: tensor<24x48xT>) -> tensor<20x48xT> {", R"(
    %h = llm.linear %x, %w layout(in_out) : (tensor<20x24xT>, tensor<24x48xT>) -> tensor<20x48xT>
    %a = llm.gelu %h : tensor<20x48xT>
    return %a : tensor<20x48xT>)",
                  R"(
    %h, %a = llm.kernel(%i = %x, %m = %w) : (tensor<20x24xT>, tensor<24x48xT>) -> (tensor<20x48xT>, tensor<20x48xT>) {
      %p = llm.linear %i, %m layout(in_out) : (tensor<20x24xT>, tensor<24x48xT>) -> tensor<20x48xT>
      %g = llm.gelu %p : tensor<20x48xT>
      llm.yield %p, %g : tensor<20x48xT>, tensor<20x48xT>
    }
    return %a : tensor<20x48xT>)",
                  {someNumbers(480, 1), someNumbers(1152, 2)});
}

#ifdef __x86_64__
// Processors without bf16 of their own, for which LLVM calls a function to round to it.
TEST_P(EpilogueKernels, HaveTheSameBitsOnOtherMachines) {
  std::string text = R"(
  func.func @step(%x: tensor<133x70xT>, %w: tensor<70x37xT>) -> (tensor<133x37xT>, tensor<133x37xT>) {
    %h, %a = llm.kernel(%i = %x, %m = %w) : (tensor<133x70xT>, tensor<70x37xT>) -> (tensor<133x37xT>, tensor<133x37xT>) {
      %p = llm.linear %i, %m layout(in_out) : (tensor<133x70xT>, tensor<70x37xT>) -> tensor<133x37xT>
      %g = llm.gelu %p : tensor<133x37xT>
      llm.yield %p, %g : tensor<133x37xT>, tensor<133x37xT>
    }
    return %h, %a : tensor<133x37xT>, tensor<133x37xT>
  })";
  std::vector<Numbers> arguments = {someNumbers(133 * 70, 1), someNumbers(70 * 37, 2)};
  std::vector<Numbers> here = run(text, arguments);
  ASSERT_EQ(here.size(), 2u);
  for (const char *processor : {"x86-64-v3", "x86-64"})
    EXPECT_EQ(run(text, arguments, {.processor = processor}), here) << processor;
}
#endif

LLMMEM_ALL_ELEMENT_TYPES(EpilogueKernels);

} // namespace
