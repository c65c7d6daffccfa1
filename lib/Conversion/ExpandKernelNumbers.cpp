//===- ExpandKernelNumbers.cpp - Functions and roundings become arithmetic -===//

#include "llmmem/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace llmmem {
#define GEN_PASS_DEF_EXPANDKERNELNUMBERS
#include "llmmem/Conversion/Passes.h.inc"
} // namespace llmmem

using namespace mlir;

namespace {
struct ExpandKernelNumbers : public llmmem::impl::ExpandKernelNumbersBase<ExpandKernelNumbers> {
  using ExpandKernelNumbersBase::ExpandKernelNumbersBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns);
    llmmem::populateExpandDoubleFunctionsPatterns(patterns);
    if (!device)
      arith::populateExpandBFloat16Patterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
