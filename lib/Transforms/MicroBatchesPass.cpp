//===- MicroBatchesPass.cpp - @loss becomes that of one micro-batch --------===//

#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Transforms/MicroBatches.h"
#include "llmmem/Transforms/Passes.h"

namespace llmmem {
#define GEN_PASS_DEF_SPLITMICROBATCHES
#include "llmmem/Transforms/Passes.h.inc"
} // namespace llmmem

using namespace mlir;
using namespace llmmem;

namespace {
struct SplitMicroBatchesPass : llmmem::impl::SplitMicroBatchesBase<SplitMicroBatchesPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto loss = module.lookupSymbol<func::FuncOp>("loss");
    if (!loss) {
      emitError(module.getLoc(),
                "has no function @loss to split into micro-batches; a step that is differentiated "
                "already cannot be: start from the imported model");
      return signalPassFailure();
    }
    if (failed(checkSizes(loss, SizeLimit::BytesOfEach)) || failed(splitMicroBatches(loss, count)))
      signalPassFailure();
  }
};
} // namespace
