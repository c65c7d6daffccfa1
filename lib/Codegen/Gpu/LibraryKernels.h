//===- LibraryKernels.h - Kernels that are one call of cuBLASLt -----------===//
//
// These emit a matmul with its epilogue, where the plan is for a library that computes both
// (`llm.library_workspace` on the kernel). Other kernels have the bits of the separate ops: the
// library's matmul without an epilogue, and a launch for what follows it.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_LIBRARYKERNELS_H
#define LLMMEM_LIB_CODEGEN_GPU_LIBRARYKERNELS_H

#include "Emitter/Matmuls.h"
#include "llmmem/Targets/LibraryEpilogue.h"

namespace llmmem {

/// Returns whether the options choose cuBLASLt for matmuls.
bool isLibraryTarget(const KernelOptions &options);

/// Returns whether the plan and the options give `kernel` to cuBLASLt.
bool isLibraryKernel(llm::KernelOp kernel, const KernelOptions &options);

/// Emits such a kernel. Returns false, and emits nothing, where the module says that the library
/// has no algorithm for it. The op and its recomputations make the same call: results that nobody
/// reads are written, too, because another call might round differently.
bool emitLibraryKernel(llm::KernelOp kernel, KernelEmitter &e);

Matmul matmulOf(llm::LinearOp linear, KernelEmitter &e);
Matmul matmulOf(llm::LinearWeightGradOp gradient, KernelEmitter &e);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_LIBRARYKERNELS_H
