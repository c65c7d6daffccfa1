//===- KernelModels.cpp - Gives every op of the dialect its kernel --------===//

#include "KernelModels.h"
#include "TiledKernels.h"
#include "llmmem/Dialect/LlmOps.h"
#include "mlir/IR/DialectRegistry.h"

#include "llmmem/Codegen/Emitter/KernelOpInterface.cpp.inc"

void llmmem::registerKernelModels(mlir::DialectRegistry &registry) {
  registry.addExtension(+[](mlir::MLIRContext *context, llm::LlmDialect *) {
    attachAttentionKernels(context);
    attachCacheKernels(context);
    attachCachedAttentionKernel(context);
    attachCollectiveKernels(context);
    attachColumnKernels(context);
    attachConvolutionKernels(context);
    attachElementKernels(context);
    attachExpertKernels(context);
    attachGroupKernels(context);
    attachLossKernels(context);
    attachMatmulKernels(context);
    attachMicroBatchKernels(context);
    attachRecurrentGradKernel(context);
    attachRecurrentKernels(context);
    attachRelativeKernels(context);
    attachRopeKernels(context);
    attachRowKernels(context);
    attachShapeKernels(context);
    attachTableKernels(context);
    attachTiledKernel(context);
    attachUpdateKernels(context);
  });
}
