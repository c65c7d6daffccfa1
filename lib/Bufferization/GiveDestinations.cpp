//===- GiveDestinations.cpp - Something to write into for every op ---------===//

#include "llmmem/Analysis/Step.h"
#include "llmmem/Bufferization/ArenaBufferize.h"
#include "llmmem/Bufferization/Passes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace llmmem {
#define GEN_PASS_DEF_GIVEDESTINATIONS
#include "llmmem/Bufferization/Passes.h.inc"
} // namespace llmmem

using namespace mlir;
using namespace llmmem;

namespace {
struct SplatToFill : OpRewritePattern<tensor::SplatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::SplatOp splat, PatternRewriter &rewriter) const override {
    if (!splat.getType().hasStaticShape())
      return failure();
    Value empty = tensor::EmptyOp::create(rewriter, splat.getLoc(), splat.getType().getShape(),
                                          splat.getType().getElementType());
    rewriter.replaceOpWithNewOp<linalg::FillOp>(splat, splat.getInput(), empty);
    return success();
  }
};
} // namespace

void llmmem::giveDestinations(func::FuncOp step) {
  RewritePatternSet patterns(step.getContext());
  linalg::populateElementwiseToLinalgConversionPatterns(patterns);
  linalg::populateConvertToDestinationStylePatterns(patterns);
  tensor::populateDecomposeTensorConcatPatterns(patterns);
  patterns.add<SplatToFill>(step.getContext());
  // It does not fold: what was written twice, as a recomputation is, stays twice.
  walkAndApplyPatterns(step, std::move(patterns));
}

namespace {
struct GiveDestinationsPass : llmmem::impl::GiveDestinationsBase<GiveDestinationsPass> {
  using Base::Base;
  void runOnOperation() override {
    for (func::FuncOp step : findStepFunctions(getOperation()))
      giveDestinations(step);
  }
};
} // namespace
