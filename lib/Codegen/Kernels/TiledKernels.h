//===- TiledKernels.h - Attaches the kernel of llm.tiled -------------------===//

#ifndef LLMMEM_LIB_CODEGEN_KERNELS_TILEDKERNELS_H
#define LLMMEM_LIB_CODEGEN_KERNELS_TILEDKERNELS_H

#include "mlir/IR/MLIRContext.h"

namespace llmmem {

void attachTiledKernel(mlir::MLIRContext *context);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_KERNELS_TILEDKERNELS_H
