//===- KernelModels.h - Attaching kernels to the ops of the dialect --------===//

#ifndef LLMMEM_LIB_CONVERSION_KERNELMODELS_H
#define LLMMEM_LIB_CONVERSION_KERNELMODELS_H

#include "llmmem/Conversion/KernelEmitter.h"
#include "llmmem/Conversion/KernelOpInterface.h"

namespace llmmem {

/// The kernel of `ConcreteOp`: `Model` has `static void emit(ConcreteOp, KernelEmitter &)`.
template <typename Model, typename ConcreteOp>
struct KernelModel : KernelOpInterface::ExternalModel<Model, ConcreteOp> {
  using OpType = ConcreteOp;
  llvm::LogicalResult emitKernel(mlir::Operation *op, KernelEmitter &emitter) const {
    Model::emit(mlir::cast<ConcreteOp>(op), emitter);
    return mlir::success();
  }
};

template <typename... Models>
void attachKernels(mlir::MLIRContext *context) {
  (Models::OpType::template attachInterface<Models>(*context), ...);
}

void attachAttentionKernels(mlir::MLIRContext *context);
void attachElementKernels(mlir::MLIRContext *context);
void attachProductKernels(mlir::MLIRContext *context);
void attachRopeKernels(mlir::MLIRContext *context);
void attachRowKernels(mlir::MLIRContext *context);
void attachTableKernels(mlir::MLIRContext *context);
void attachUpdateKernels(mlir::MLIRContext *context);

} // namespace llmmem

#endif // LLMMEM_LIB_CONVERSION_KERNELMODELS_H
