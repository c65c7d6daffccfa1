//===- EmulatedKernel.h - A GPU kernel becomes a function of one thread ----===//

#ifndef LLMMEM_LIB_EMULATION_LOWERING_EMULATEDKERNEL_H
#define LLMMEM_LIB_EMULATION_LOWERING_EMULATEDKERNEL_H

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace llmmem {

/// Declares `name` in the module, or finds it there.
mlir::func::FuncOp emulationHook(mlir::ModuleOp module, llvm::StringRef name,
                                 mlir::TypeRange inputs, mlir::TypeRange results = {});

/// Holds the records of a module's kernels, for the emulator (`llm.emulation` in Passes.td).
struct EmulatedKernels {
  llvm::SmallVector<mlir::Attribute> kernels, sites;
};

/// Moves the kernel's body into `func @name(%thread: !llvm.ptr, %arguments: !llvm.ptr)` in the
/// module, with calls of hooks (include/llmmem/Emulation/Hooks.h) before accesses and for ops that
/// synchronize threads. Adds the kernel and its sites to `records`. Fails after a located
/// diagnostic.
mlir::FailureOr<mlir::func::FuncOp> emulateKernel(mlir::gpu::GPUFuncOp kernel,
                                                  const mlir::LLVMTypeConverter &types,
                                                  EmulatedKernels &records);

} // namespace llmmem

#endif // LLMMEM_LIB_EMULATION_LOWERING_EMULATEDKERNEL_H
