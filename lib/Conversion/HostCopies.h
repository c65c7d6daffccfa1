//===- HostCopies.h - Calls that copy to and from the host ------*- C++ -*-===//

#ifndef LLMMEM_LIB_CONVERSION_HOSTCOPIES_H
#define LLMMEM_LIB_CONVERSION_HOSTCOPIES_H

#include "llmmem/Codegen/Emitter/KernelOptions.h"
#include "llmmem/Dialect/LlmOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem {

/// Emits the call for `copy`, an llm.copy_up or llm.copy_down, from the buffer `from` to `to`: of
/// the whole copy, or of its start (include/llmmem/Runtime/HostCopies.h; of a GPU
/// include/llmmem/Codegen/Gpu/HostCopyCalls.h).
mlir::func::CallOp emitHostCopy(mlir::OpBuilder &builder, mlir::Operation &copy, mlir::Value from,
                                mlir::Value to, KernelTarget target);

/// Emits the call that waits for the first started copy of a direction.
mlir::func::CallOp emitHostCopyWait(mlir::OpBuilder &builder, mlir::Operation &copy,
                                    KernelTarget target);

} // namespace llmmem

#endif // LLMMEM_LIB_CONVERSION_HOSTCOPIES_H
