//===- HostUpdates.h - Kernels that the host runs for a GPU -----*- C++ -*-===//
//
// An update on the host of a step for a GPU (HostCopyCalls.h) runs the kernel that a step on a CPU
// has for it. The driver and the emulator call it later with one address, which points to words.
// Each word is the address of one of its buffers.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_CODEGEN_GPU_HOSTUPDATES_H
#define LLMMEM_CODEGEN_GPU_HOSTUPDATES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem {

/// Returns `void NAME_of_words(const uint64_t *words)`, which calls the kernel NAME on the buffers
/// at words[0], words[1], ... All of the kernel's arguments must be buffers of static shape. The
/// function is made once for a kernel.
mlir::func::FuncOp wordsEntryOf(mlir::func::FuncOp kernel);

/// Returns its address, as !llvm.ptr.
mlir::Value addressOfWordsEntry(mlir::OpBuilder &builder, mlir::Location loc,
                                mlir::func::FuncOp kernel);

} // namespace llmmem

#endif // LLMMEM_CODEGEN_GPU_HOSTUPDATES_H
