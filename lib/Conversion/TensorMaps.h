//===- TensorMaps.h - What launches say about tensor maps -------------------===//

#ifndef LLMMEM_LIB_CONVERSION_TENSORMAPS_H
#define LLMMEM_LIB_CONVERSION_TENSORMAPS_H

#include "llmmem/Runtime/TensorMaps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace llmmem {

/// Returns what launches say about a kernel's maps (Codegen/Gpu/TensorMap.h), in order. Fails after
/// a located diagnostic where one describes no argument of the kernel.
mlir::FailureOr<llvm::SmallVector<llmmem_tensor_map>> tensorMapsOf(mlir::gpu::GPUFuncOp kernel);

} // namespace llmmem

#endif // LLMMEM_LIB_CONVERSION_TENSORMAPS_H
