//===- TargetsTest.cpp - What the dialect says with and without targets ----===//

#include "llmmem/Targets/Targets.h"
#include "TestDialect.h"
#include "llmmem/Targets/LossHeadWorkspace.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {

constexpr StringLiteral kText = R"(
  func.func @f(%x: tensor<16x8xbf16>, %w: tensor<8x8xbf16>, %b: tensor<8xbf16>, %t: tensor<16xi32>) {
    %y = llm.kernel(%i = %x, %m = %w, %n = %b) : (tensor<16x8xbf16>, tensor<8x8xbf16>, tensor<8xbf16>) -> tensor<16x8xbf16> {
      %p = llm.linear %i, %m bias(%n) layout(in_out)
         : (tensor<16x8xbf16>, tensor<8x8xbf16>, tensor<8xbf16>) -> tensor<16x8xbf16>
      %g = llm.gelu %p : tensor<16x8xbf16>
      llm.yield %g : tensor<16x8xbf16>
    }
    %loss, %dx, %dw = llm.loss_head %x, %w, %t layout(in_out) {chunk = 8 : i64, granule = 8 : i64}
       : (tensor<16x8xbf16>, tensor<8x8xbf16>, tensor<16xi32>) -> (tensor<f32>, tensor<16x8xbf16>, tensor<8x8xbf16>)
    return
  })";

/// Returns whether a library computes the group, and the bytes of the loss head's workspace.
std::pair<bool, int64_t> answers(bool withTargets) {
  DialectRegistry registry;
  registry.insert<LlmDialect, func::FuncDialect>();
  if (withTargets)
    registerTargets(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module = test::parse(kText, context);
  EXPECT_TRUE(module);
  std::pair<bool, int64_t> found;
  module->walk([&](KernelOp kernel) { found.first = kernel.multipliesMatrices(); });
  module->walk([&](LossHeadOp head) {
    found.second = head.getWorkspaceBytes();
    if (withTargets)
      EXPECT_EQ(found.second, lossHeadWorkspace(head).end);
  });
  return found;
}

TEST(Targets, AnswerForTheirLibrariesAndKernels) {
  auto [isLibraryCall, bytes] = answers(true);
  EXPECT_TRUE(isLibraryCall);
  EXPECT_GT(bytes, answers(false).second);
}

// 16 losses and 8 * 8 lower halves in f32 for bf16, 8 rows of 8 logits.
TEST(Targets, WithoutThemTheMeaningIsLeft) {
  auto [isLibraryCall, bytes] = answers(false);
  EXPECT_FALSE(isLibraryCall);
  EXPECT_EQ(bytes, 16 * 4 + 8 * 8 * 2 + 8 * 8 * 2);
}

} // namespace
