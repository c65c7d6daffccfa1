//===- HostCopyCalls.h - Calls that copy to and from the host, and waits ---===//

#ifndef LLMMEM_LIB_CONVERSION_HOSTCOPYCALLS_H
#define LLMMEM_LIB_CONVERSION_HOSTCOPYCALLS_H

#include "llmmem/Codegen/Emitter/KernelOptions.h"
#include "llmmem/Dialect/LlmOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem {

/// Emits the call for `copy`, an llm.copy_up or llm.copy_down, from the buffer `from` to `to`: the
/// whole copy, or its start (include/llmmem/Runtime/HostCopies.h; for a GPU
/// include/llmmem/Codegen/Gpu/HostCopyCalls.h).
mlir::func::CallOp emitHostCopy(mlir::OpBuilder &builder, mlir::Operation &copy, mlir::Value from,
                                mlir::Value to, KernelTarget target);

/// Emits the call that waits for the first started copy of the direction of `start`, or for the
/// first started update on the host where it is one.
mlir::func::CallOp emitHostWait(mlir::OpBuilder &builder, mlir::Operation &start,
                                KernelTarget target);

/// Does the same for the first started collective (include/llmmem/Runtime/Started.h).
mlir::func::CallOp emitStartedWait(mlir::OpBuilder &builder, mlir::Location loc);

} // namespace llmmem

#endif // LLMMEM_LIB_CONVERSION_HOSTCOPYCALLS_H
