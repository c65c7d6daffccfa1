//===- LibraryEpiloguesTest.cpp - Products with what follows, by a library -===//
//
// Kernels of a matmul with an epilogue, planned for a library, compared with the CPU's kernels. The
// library rounds once where those round the matmul too, so bf16 may differ by two roundings.
//
//===----------------------------------------------------------------------===//

#include "Execution/Check.h"
#include "LibraryRunner.h"
#include "llvm/ADT/StringExtras.h"

using namespace llmmem;
using namespace llmmem::test;

namespace {

// 10 rows of 24 by 24 x 16 or 16 x 24: no matrix has the shape of its transposed one.
const std::string signature =
    "(%x: tensor<2x5x24xT>, %w: tensor<24x16xT>, %v: tensor<16x24xT>, %b: tensor<16xT>, "
    "%h: tensor<2x5x16xT>, %s: tensor<24x24xT>)";

const std::string x = "tensor<2x5x24xT>", w = "tensor<24x16xT>", v = "tensor<16x24xT>",
                  b = "tensor<16xT>", y = "tensor<2x5x16xT>", square = "tensor<24x24xT>";

struct Kernel {
  /// Operands of @step as the body calls them, `%i = %x, %m = %w`, and their types.
  std::string operands, types;
  std::string body;
  std::vector<std::string> yields;
  std::string result = y;
  /// The type of the second result, where it differs.
  std::string second = "";
};

std::string linear(const std::string &weight, const std::string &layout, bool bias,
                   const std::string &result = y) {
  return "%p = llm.linear %i, %m " + std::string(bias ? "bias(%c) " : "") + "layout(" + layout +
         ") : (" + x + ", " + weight + (bias ? ", " + b : "") + ") -> " + result + "\n";
}

Kernel activation(const std::vector<std::string> &yields) {
  return {"%i = %x, %m = %w, %c = %b", x + ", " + w + ", " + b,
          linear(w, "in_out", true) + "%g = llm.gelu %p : " + y, yields};
}
Kernel gradient() {
  return {"%i = %x, %m = %v, %a = %h",
          x + ", " + v + ", " + y,
          linear(v, "out_in", false) + "%g = llm.gelu_grad %a, %p : " + y,
          {"%g"}};
}
Kernel residual(bool bias) {
  return {"%i = %x, %m = %w, %a = %h" + std::string(bias ? ", %c = %b" : ""),
          x + ", " + w + ", " + y + (bias ? ", " + b : ""),
          linear(w, "in_out", bias) + "%g = llm.add %a, %p : " + y,
          {"%g"}};
}
/// Returns a kernel whose weight has the given layout.
Kernel squareResidual(const std::string &layout) {
  return {"%i = %x, %m = %s, %a = %x",
          x + ", " + square + ", " + x,
          linear(square, layout, false, x) + "%g = llm.add %p, %a : " + x,
          {"%g"},
          x};
}

/// The gradients of a weight and a bias: 10 rows of x and dy, whose sums are of 16 or 24.
Kernel gradients(const std::string &layout, bool soFar) {
  bool inOut = layout == "in_out";
  const std::string &dw = inOut ? w : v;
  return {"%i = %x, %d = %h" + (soFar ? ", %q = " + std::string(inOut ? "%w" : "%v") : ""),
          x + ", " + y + (soFar ? ", " + dw : ""),
          "%p = llm.linear_weight_grad %i, %d " + std::string(soFar ? "into(%q) " : "") +
              "layout(" + layout + ") : (" + x + ", " + y + (soFar ? ", " + dw : "") + ") -> " +
              dw + "\n%g = llm.sum_rows %d : (" + y + ") -> " + b,
          {"%p", "%g"},
          dw,
          b};
}

/// @step with the kernel alone; `forLibrary` as a plan for a library has it.
std::string stepWith(const Kernel &kernel, bool forLibrary) {
  size_t count = kernel.yields.size();
  std::vector<std::string> types(count, kernel.result), results;
  if (!kernel.second.empty())
    types[1] = kernel.second;
  for (size_t k = 0; k < count; ++k)
    results.push_back("%r#" + std::to_string(k));
  std::string all = llvm::join(types, ", ");
  return "func.func @step" + signature + " -> (" + all + ") {\n%r:" + std::to_string(count) +
         " = llm.kernel(" + kernel.operands + ") : (" + kernel.types + ") -> (" + all + ") {\n" +
         kernel.body + "\nllm.yield " + llvm::join(kernel.yields, ", ") + " : " + all + "\n}" +
         (forLibrary ? " attributes {llm.library_workspace = 256 : i64}" : "") + "\nreturn " +
         llvm::join(results, ", ") + " : " + all + "\n}";
}

class LibraryEpilogues : public testing::TestWithParam<std::string> {
protected:
  std::vector<Numbers> arguments = {someNumbers(240, 1), someNumbers(384, 2), someNumbers(384, 3),
                                    someNumbers(16, 4),  someNumbers(160, 5), someNumbers(576, 6)};

  std::optional<std::vector<Numbers>> byLibrary(const Kernel &kernel, bool forLibrary = true) {
    return runByLibrary(withElement(stepWith(kernel, forLibrary), GetParam()), arguments);
  }
  std::vector<Numbers> byCpu(const Kernel &kernel) {
    return runStep(withElement(stepWith(kernel, false), GetParam()), arguments);
  }
  double tolerance() { return 2 * toleranceOf(GetParam()); }

  void expectAgree(const Kernel &kernel) {
    std::optional<std::vector<Numbers>> results = byLibrary(kernel);
    ASSERT_TRUE(results);
    std::vector<Numbers> expected = byCpu(kernel);
    ASSERT_EQ(results->size(), expected.size());
    for (auto [result, reference] : llvm::zip_equal(*results, expected))
      expectNear(result, reference, tolerance());
  }

  /// Returns whether the library's results of `wrong` could pass for those of `kernel`.
  bool isTakenFor(const Kernel &wrong, const Kernel &kernel) {
    std::optional<std::vector<Numbers>> results = byLibrary(wrong);
    if (!results)
      ADD_FAILURE() << "the library does not compute it";
    Numbers expected = byCpu(kernel)[0], found = results ? (*results)[0] : Numbers();
    for (size_t k = 0; k < expected.size() && k < found.size(); ++k)
      if (std::abs(expected[k] - found[k]) > 0.1)
        return false;
    return true;
  }
};

TEST_P(LibraryEpilogues, ActivationAlone) { expectAgree(activation({"%g"})); }
TEST_P(LibraryEpilogues, ActivationWithItsInput) { expectAgree(activation({"%p", "%g"})); }
TEST_P(LibraryEpilogues, GradientOfAnActivation) { expectAgree(gradient()); }
TEST_P(LibraryEpilogues, ResidualSum) { expectAgree(residual(false)); }
TEST_P(LibraryEpilogues, ResidualSumOfWhatHasABias) { expectAgree(residual(true)); }
TEST_P(LibraryEpilogues, ResidualSumWhereRowsAreColumns) { expectAgree(squareResidual("out_in")); }

TEST_P(LibraryEpilogues, GradientsOfAWeightAndABias) {
  for (bool soFar : {false, true}) {
    expectAgree(gradients("in_out", soFar));
    expectAgree(gradients("out_in", soFar));
  }
}

// These tests can tell a wrong epilogue, layout or role from the right one.
TEST_P(LibraryEpilogues, PlantedMistakesShow) {
  Kernel right = activation({"%p", "%g"}), swapped = activation({"%g", "%p"});
  EXPECT_FALSE(isTakenFor(swapped, right)) << "aux and C";
  EXPECT_FALSE(isTakenFor(residual(true), activation({"%g"}))) << "a sum and an activation";
  EXPECT_FALSE(isTakenFor(residual(false), residual(true))) << "no bias and a bias";
  EXPECT_FALSE(isTakenFor(residual(false), gradient())) << "a sum and a gradient";
  EXPECT_FALSE(isTakenFor(squareResidual("in_out"), squareResidual("out_in"))) << "rows, columns";
}

// A kernel that was not planned for a library is not a single call: a launch follows the matmul.
TEST_P(LibraryEpilogues, AreThePlansToGive) {
  EXPECT_FALSE(byLibrary(activation({"%p", "%g"}), /*forLibrary=*/false));
}

INSTANTIATE_TEST_SUITE_P(Types, LibraryEpilogues, testing::Values("f32", "bf16"),
                         [](const auto &info) { return info.param; });

} // namespace
