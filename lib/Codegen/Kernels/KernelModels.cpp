//===- KernelModels.cpp - Gives every op of the dialect its kernel ---------===//

#include "KernelModels.h"
#include "llmmem/Dialect/LlmOps.h"
#include "mlir/IR/DialectRegistry.h"

#include "llmmem/Codegen/Emitter/KernelOpInterface.cpp.inc"

llvm::SmallVector<mlir::Operation *> llmmem::drawingOps(mlir::Operation *op) {
  llvm::SmallVector<mlir::Operation *> drawing;
  op->walk<mlir::WalkOrder::PreOrder>([&](KernelOpInterface inner) {
    if (!inner.getStreamAttrName().empty())
      drawing.push_back(inner);
  });
  return drawing;
}

void llmmem::registerKernelModels(mlir::DialectRegistry &registry) {
  registry.addExtension(+[](mlir::MLIRContext *context, llm::LlmDialect *) {
    attachAttentionKernels(context);
    attachColumnKernels(context);
    attachElementKernels(context);
    attachGroupKernels(context);
    attachLossKernels(context);
    attachProductKernels(context);
    attachRopeKernels(context);
    attachRowKernels(context);
    attachTableKernels(context);
    attachUpdateKernels(context);
  });
}
