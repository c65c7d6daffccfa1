//===- KernelModels.h - Attaching kernels to the ops of the dialect -------===//

#ifndef LLMMEM_LIB_CODEGEN_KERNELS_KERNELMODELS_H
#define LLMMEM_LIB_CODEGEN_KERNELS_KERNELMODELS_H

#include "llmmem/Codegen/Emitter/KernelOpInterface.h"
#include "llmmem/Codegen/Emitter/Loops.h"

namespace llmmem {

/// Holds what all models of ops of the dialect have in common.
template <typename Model, typename ConcreteOp>
struct BaseModel : KernelOpInterface::ExternalModel<Model, ConcreteOp> {
  using OpType = ConcreteOp;
};

/// Holds the kernel of `ConcreteOp`. `Model` has `static void emit(ConcreteOp, KernelEmitter &)`,
/// and also `emitOnDevice` where the work is distributed differently over threads of a GPU.
template <typename Model, typename ConcreteOp>
struct KernelModel : BaseModel<Model, ConcreteOp> {
  llvm::LogicalResult emitKernel(mlir::Operation *op, KernelEmitter &emitter) const {
    auto concrete = mlir::cast<ConcreteOp>(op);
    if constexpr (requires { &Model::emitOnDevice; })
      if (emitter.options().target == KernelTarget::Gpu) {
        Model::emitOnDevice(concrete, emitter);
        return mlir::success();
      }
    Model::emit(concrete, emitter);
    return mlir::success();
  }
};

/// Holds the kernel of an elementwise op. `Model` has `static void emitAt(ConcreteOp, KernelEmitter
/// &, Index first, unsigned lanes)`, which loads and stores only those elements of the buffers that
/// have as many elements as the first result. It also has `emitOnDevice` where a GPU does better
/// when the op is alone.
template <typename Model, typename ConcreteOp>
struct ElementModel : BaseModel<Model, ConcreteOp> {
  llvm::LogicalResult emitKernel(mlir::Operation *op, KernelEmitter &emitter) const {
    if constexpr (requires { &Model::emitOnDevice; })
      if (emitter.options().target == KernelTarget::Gpu) {
        Model::emitOnDevice(mlir::cast<ConcreteOp>(op), emitter);
        return mlir::success();
      }
    forLanesParallel(emitter, emitter.result(0).size, [&](Index first, unsigned lanes) {
      Model::emitAt(mlir::cast<ConcreteOp>(op), emitter, first, lanes);
    });
    return mlir::success();
  }
  llvm::LogicalResult emitElements(mlir::Operation *op, KernelEmitter &emitter, Index first,
                                   unsigned lanes) const {
    Model::emitAt(mlir::cast<ConcreteOp>(op), emitter, first, lanes);
    return mlir::success();
  }
};

template <typename... Models>
void attachKernels(mlir::MLIRContext *context) {
  (Models::OpType::template attachInterface<Models>(*context), ...);
}

void attachAttentionKernels(mlir::MLIRContext *context);
void attachCacheKernels(mlir::MLIRContext *context);
void attachCachedAttentionKernel(mlir::MLIRContext *context);
void attachCollectiveKernels(mlir::MLIRContext *context);
void attachColumnKernels(mlir::MLIRContext *context);
void attachConvolutionKernels(mlir::MLIRContext *context);
void attachElementKernels(mlir::MLIRContext *context);
void attachExpertKernels(mlir::MLIRContext *context);
void attachGroupKernels(mlir::MLIRContext *context);
void attachLossHeadKernel(mlir::MLIRContext *context);
void attachLossKernels(mlir::MLIRContext *context);
void attachMatmulKernels(mlir::MLIRContext *context);
void attachMicroBatchKernels(mlir::MLIRContext *context);
void attachRecurrentGradKernel(mlir::MLIRContext *context);
void attachRecurrentKernels(mlir::MLIRContext *context);
void attachRelativeKernels(mlir::MLIRContext *context);
void attachRopeKernels(mlir::MLIRContext *context);
void attachRowKernels(mlir::MLIRContext *context);
void attachShapeKernels(mlir::MLIRContext *context);
void attachTableKernels(mlir::MLIRContext *context);
void attachAdafactorKernel(mlir::MLIRContext *context);
void attachAdamWKernel(mlir::MLIRContext *context);
void attachMuonKernel(mlir::MLIRContext *context);
void attachUpdateKernels(mlir::MLIRContext *context);
void attachVocabularyKernels(mlir::MLIRContext *context);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_KERNELS_KERNELMODELS_H
