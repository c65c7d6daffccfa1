//===- WarpgroupKernelsTest.cpp - wgmma against mma.sync -------------------===//
//
// An element's sum has one order, in steps of 16 terms, whatever the instructions; so on the
// emulator, where both are chains of fused multiply-adds, the bits must be equal.
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "llmmem/Emulation/Emulator.h"

using namespace llmmem::test;
using llmmem::TensorCores;

namespace {

class WarpgroupKernels : public KernelTest {
protected:
  void SetUp() override {
    if (!llmmem::emulation::isEmulatorBuilt())
      GTEST_SKIP() << "built without the emulator";
  }

  /// Runs `text` by wgmma and by mma.sync, and expects equal bits.
  void expectSameBits(const std::string &text, const std::vector<Numbers> &arguments) {
    std::vector<Numbers> found =
        run(text, arguments, {.emulate = true, .tensorCores = TensorCores::Warpgroup});
    std::vector<Numbers> expected =
        run(text, arguments, {.emulate = true, .tensorCores = TensorCores::Warp});
    ASSERT_FALSE(found.empty());
    EXPECT_TRUE(found == expected);
  }
};

/// Rows that begin at multiples of 16 bytes, several tiles of both matrices with a rest, more steps
/// than there are stages, and a bias, a scale and a sum so far.
TEST_P(WarpgroupKernels, AllLayouts) {
  expectSameBits(
      R"(func.func @step(%x: tensor<200x328xT>, %w: tensor<328x264xT>, %t: tensor<264x328xT>, %b: tensor<264xT>,
                         %d: tensor<200x264xT>, %s: tensor<328x264xT>)
      -> (tensor<200x264xT>, tensor<200x264xT>, tensor<328x264xT>, tensor<264x328xT>) {
    %0 = llm.linear %x, %w bias(%b) layout(in_out) : (tensor<200x328xT>, tensor<328x264xT>, tensor<264xT>) -> tensor<200x264xT>
    %1 = llm.linear %x, %t layout(out_in) : (tensor<200x328xT>, tensor<264x328xT>) -> tensor<200x264xT>
    %2 = llm.linear_weight_grad %x, %d into(%s) layout(in_out)
      : (tensor<200x328xT>, tensor<200x264xT>, tensor<328x264xT>) -> tensor<328x264xT>
    %3 = llm.linear_weight_grad %x, %d layout(out_in) : (tensor<200x328xT>, tensor<200x264xT>) -> tensor<264x328xT>
    return %0, %1, %2, %3 : tensor<200x264xT>, tensor<200x264xT>, tensor<328x264xT>, tensor<264x328xT>
  })",
      {someNumbers(200 * 328, 1), someNumbers(328 * 264, 2), someNumbers(264 * 328, 3),
       someNumbers(264, 4), someNumbers(200 * 264, 5), someNumbers(328 * 264, 6)});
}

/// What is copied element by element.
TEST_P(WarpgroupKernels, OddRows) {
  expectSameBits(
      R"(func.func @step(%x: tensor<67x131xT>, %w: tensor<131x67xT>, %t: tensor<67x131xT>) -> (tensor<67x67xT>, tensor<67x67xT>) {
    %0 = llm.linear %x, %w layout(in_out) : (tensor<67x131xT>, tensor<131x67xT>) -> tensor<67x67xT>
    %1 = llm.linear %x, %t layout(out_in) : (tensor<67x131xT>, tensor<67x131xT>) -> tensor<67x67xT>
    return %0, %1 : tensor<67x67xT>, tensor<67x67xT>
  })",
      {someNumbers(67 * 131, 1), someNumbers(131 * 67, 2), someNumbers(67 * 131, 3)});
}

INSTANTIATE_TEST_SUITE_P(Types, WarpgroupKernels, ::testing::Values("bf16", "f16"),
                         [](const auto &info) { return info.param; });

} // namespace
