//===- EpilogueKernelsTest.cpp - Products with what follows them -----------===//
//
// Fused and separate kernels have equal bits: the same code or library computes the matmul, and the
// epilogue works on the matmul rounded to its own type.
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "llmmem/Runtime/Gemm.h"

using namespace llmmem::test;

namespace {

class EpilogueKernels : public KernelTest {
protected:
  /// The emulator has its own library.
  static bool hasLibrary() {
    return llmmem_find_gemm_library() || std::getenv("LLMMEM_TEST_EMULATE");
  }

  /// The results of `apart`, and of `fused`, functions of these arguments, must be equal, with
  /// generated matmuls and with a library's.
  void expectEqualBits(const std::string &signature, const std::string &apart,
                       const std::string &fused, const std::vector<Numbers> &arguments) {
    for (bool library : {false, true}) {
      if (library && !hasLibrary())
        continue;
      RunOptions options{.libraryMatmuls = library};
      std::vector<Numbers> expected =
          run("func.func @step" + signature + apart + "}", arguments, options);
      std::vector<Numbers> found =
          run("func.func @step" + signature + fused + "}", arguments, options);
      ASSERT_FALSE(expected.empty());
      for (const Numbers &numbers : expected)
        for (double number : numbers)
          ASSERT_TRUE(std::isfinite(number));
      EXPECT_EQ(found, expected) << (library ? "by a library" : "by generated code");
    }
  }
};

// 133 rows: more than a block of C. 37 columns: remainders of every tile and of every vector.
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

// No plan places it so, as a library would overwrite what the epilogue reads; generated code
// supports it.
TEST_P(EpilogueKernels, InPlaceAndApart) {
  std::vector<Numbers> arguments = {someNumbers(960, 1), someNumbers(2304, 2),
                                    someNumbers(3840, 3)};
  EXPECT_EQ(run(gradientAt(0), arguments, {.plan = false}),
            run(gradientAt(32768), arguments, {.plan = false}));
}

// 150 rows: more than a block sums at a time. 37 columns: remainders of every vector.
TEST_P(EpilogueKernels, GradientsOfAWeightAndABias) {
  expectEqualBits("(%x: tensor<3x50x19xT>, %dy: tensor<3x50x37xT>, %w: tensor<19x37xT>, "
                  "%b: tensor<37xT>) -> (tensor<19x37xT>, tensor<37xT>) {",
                  R"(
    %dw = llm.linear_weight_grad %x, %dy into(%w) layout(in_out) : (tensor<3x50x19xT>, tensor<3x50x37xT>, tensor<19x37xT>) -> tensor<19x37xT>
    %db = llm.sum_rows %dy into(%b) : (tensor<3x50x37xT>, tensor<37xT>) -> tensor<37xT>
    return %dw, %db : tensor<19x37xT>, tensor<37xT>)",
                  R"(
    %dw, %db = llm.kernel(%i = %x, %d = %dy, %s = %w, %t = %b) : (tensor<3x50x19xT>, tensor<3x50x37xT>, tensor<19x37xT>, tensor<37xT>) -> (tensor<19x37xT>, tensor<37xT>) {
      %p = llm.linear_weight_grad %i, %d into(%s) layout(in_out) : (tensor<3x50x19xT>, tensor<3x50x37xT>, tensor<19x37xT>) -> tensor<19x37xT>
      %r = llm.sum_rows %d into(%t) : (tensor<3x50x37xT>, tensor<37xT>) -> tensor<37xT>
      llm.yield %p, %r : tensor<19x37xT>, tensor<37xT>
    }
    return %dw, %db : tensor<19x37xT>, tensor<37xT>)",
                  {someNumbers(150 * 19, 1), someNumbers(150 * 37, 2), someNumbers(19 * 37, 3),
                   someNumbers(37, 4)});
}

TEST_P(EpilogueKernels, GradientsThatAreNoSumsOfSeveral) {
  expectEqualBits(
      "(%x: tensor<40x24xT>, %dy: tensor<40x96xT>) -> (tensor<96x24xT>, tensor<96xT>) {",
      R"(
    %dw = llm.linear_weight_grad %x, %dy layout(out_in) : (tensor<40x24xT>, tensor<40x96xT>) -> tensor<96x24xT>
    %db = llm.sum_rows %dy : (tensor<40x96xT>) -> tensor<96xT>
    return %dw, %db : tensor<96x24xT>, tensor<96xT>)",
      R"(
    %dw, %db = llm.kernel(%i = %x, %d = %dy) : (tensor<40x24xT>, tensor<40x96xT>) -> (tensor<96x24xT>, tensor<96xT>) {
      %p = llm.linear_weight_grad %i, %d layout(out_in) : (tensor<40x24xT>, tensor<40x96xT>) -> tensor<96x24xT>
      %r = llm.sum_rows %d : (tensor<40x96xT>) -> tensor<96xT>
      llm.yield %p, %r : tensor<96x24xT>, tensor<96xT>
    }
    return %dw, %db : tensor<96x24xT>, tensor<96xT>)",
      {someNumbers(40 * 24, 1), someNumbers(40 * 96, 2)});
}

/// The gradients of a weight and a bias, at these bytes of the arena, and their accumulators at 0
/// and 8192.
std::string gradientsAt(const std::string &offsets) {
  return "func.func @step(%x: tensor<40x24xT>, %dy: tensor<40x16xT>, %w: tensor<24x16xT>, "
         "%b: tensor<16xT>) -> (tensor<24x16xT>, tensor<16xT>) "
         "attributes {llm.arena = 65536 : i64} {"
         "%g = llm.cast %w {llm.offsets = array<i64: 0>} : tensor<24x16xT> -> tensor<24x16xT>"
         "%h = llm.cast %b {llm.offsets = array<i64: 8192>} : tensor<16xT> -> tensor<16xT>"
         "%dw, %db = llm.kernel(%i = %x, %d = %dy, %s = %g, %t = %h) : (tensor<40x24xT>, "
         "tensor<40x16xT>, tensor<24x16xT>, tensor<16xT>) -> (tensor<24x16xT>, tensor<16xT>) {"
         "%p = llm.linear_weight_grad %i, %d into(%s) layout(in_out) : (tensor<40x24xT>, "
         "tensor<40x16xT>, tensor<24x16xT>) -> tensor<24x16xT>"
         "%r = llm.sum_rows %d into(%t) : (tensor<40x16xT>, tensor<16xT>) -> tensor<16xT>"
         "llm.yield %p, %r : tensor<24x16xT>, tensor<16xT> } attributes {llm.offsets = "
         "array<i64: " +
         offsets +
         ">}"
         "return %dw, %db : tensor<24x16xT>, tensor<16xT> }";
}

TEST_P(EpilogueKernels, GradientsInPlaceAndApart) {
  std::vector<Numbers> arguments = {someNumbers(960, 1), someNumbers(640, 2), someNumbers(384, 3),
                                    someNumbers(16, 4)};
  EXPECT_EQ(run(gradientsAt("0, 8192"), arguments, {.plan = false}),
            run(gradientsAt("16384, 32768"), arguments, {.plan = false}));
}

// The gradient of a weight is a matmul like others: it may have an elementwise epilogue.
TEST_P(EpilogueKernels, WhatFollowsTheGradientOfAWeight) {
  expectEqualBits("(%x: tensor<50x19xT>, %dy: tensor<50x37xT>, %w: tensor<19x37xT>, "
                  "%a: tensor<19x37xT>) -> tensor<19x37xT> {",
                  R"(
    %dw = llm.linear_weight_grad %x, %dy into(%w) layout(in_out) : (tensor<50x19xT>, tensor<50x37xT>, tensor<19x37xT>) -> tensor<19x37xT>
    %s = llm.mul %a, %dw : tensor<19x37xT>
    return %s : tensor<19x37xT>)",
                  R"(
    %s = llm.kernel(%i = %x, %d = %dy, %v = %w, %o = %a) : (tensor<50x19xT>, tensor<50x37xT>, tensor<19x37xT>, tensor<19x37xT>) -> tensor<19x37xT> {
      %p = llm.linear_weight_grad %i, %d into(%v) layout(in_out) : (tensor<50x19xT>, tensor<50x37xT>, tensor<19x37xT>) -> tensor<19x37xT>
      %z = llm.mul %o, %p : tensor<19x37xT>
      llm.yield %z : tensor<19x37xT>
    }
    return %s : tensor<19x37xT>)",
                  {someNumbers(50 * 19, 1), someNumbers(50 * 37, 2), someNumbers(19 * 37, 3),
                   someNumbers(19 * 37, 4)});
}

// No result has the matmul's type: its bytes are a workspace.
TEST_P(EpilogueKernels, CastToAnotherType) {
  std::string wider = GetParam() == "f64" ? "f32" : "f64";
  auto inWider = [&](std::string text) {
    for (size_t at; (at = text.find("xU>")) != std::string::npos;)
      text.replace(at + 1, 1, wider);
    return text;
  };
  expectEqualBits("(%x: tensor<40x24xT>, %w: tensor<24x96xT>) -> tensor<40x96x" + wider + "> {",
                  inWider(R"(
    %h = llm.linear %x, %w layout(in_out) : (tensor<40x24xT>, tensor<24x96xT>) -> tensor<40x96xT>
    %c = llm.cast %h : tensor<40x96xT> -> tensor<40x96xU>
    return %c : tensor<40x96xU>)"),
                  inWider(R"(
    %c = llm.kernel(%i = %x, %m = %w) : (tensor<40x24xT>, tensor<24x96xT>) -> tensor<40x96xU> {
      %p = llm.linear %i, %m layout(in_out) : (tensor<40x24xT>, tensor<24x96xT>) -> tensor<40x96xT>
      %g = llm.cast %p : tensor<40x96xT> -> tensor<40x96xU>
      llm.yield %g : tensor<40x96xU>
    }
    return %c : tensor<40x96xU>)"),
                  {someNumbers(960, 1), someNumbers(2304, 2)});
}

/// Results without a use are not written, and the others do not change.
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
// Processors without bf16 of their own.
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
