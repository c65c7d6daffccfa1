//===- ArenaBufferizePass.cpp - The pass, and what it brings along ---------===//

#include "llmmem/Analysis/Step.h"
#include "llmmem/Bufferization/ArenaBufferize.h"
#include "llmmem/Bufferization/Passes.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Transforms/ExportGraph.h"
#include "llmmem/Upstream/Models.h"
#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"

namespace llmmem {
#define GEN_PASS_DEF_ARENABUFFERIZE
#include "llmmem/Bufferization/Passes.h.inc"
} // namespace llmmem

using namespace mlir;
using namespace llmmem;

namespace {
struct ArenaBufferizePass : llmmem::impl::ArenaBufferizeBase<ArenaBufferizePass> {
  using Base::Base;

  void getDependentDialects(DialectRegistry &registry) const override {
    Base::getDependentDialects(registry);
    registerUpstreamModels(registry);
    arith::registerBufferizableOpInterfaceExternalModels(registry);
    linalg::registerBufferizableOpInterfaceExternalModels(registry);
    tensor::registerBufferizableOpInterfaceExternalModels(registry);
  }

  void runOnOperation() override {
    SmallVector<func::FuncOp> functions = findStepFunctions(getOperation());
    if (functions.empty()) {
      emitNoStep(getOperation());
      return signalPassFailure();
    }
    for (func::FuncOp step : functions) {
      StepStorage storage(step);
      if (failed(checkSizes(step)) || !storage.isValid() || failed(arenaBufferize(step, storage)))
        return signalPassFailure();
    }
    stripAnnotations(getOperation());
  }
};
} // namespace
