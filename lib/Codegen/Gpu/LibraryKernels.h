//===- LibraryKernels.h - Kernels that are one call of cuBLASLt ------------===//
//
// A product with what follows it, where the plan was made for a library that computes both
// (`llm.library_workspace` on the kernel). What the plan did not make for a library has the bits of
// the ops apart: the library's product as it is alone, and a launch for what follows it.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_LIBRARYKERNELS_H
#define LLMMEM_LIB_CODEGEN_GPU_LIBRARYKERNELS_H

#include "Emitter/Products.h"
#include "llmmem/Targets/LibraryEpilogue.h"

namespace llmmem {

/// Whether the options have cuBLASLt multiply.
bool isLibraryTarget(const KernelOptions &options);

/// Whether the plan and the options give `kernel` to cuBLASLt.
bool isLibraryKernel(llm::KernelOp kernel, const KernelOptions &options);

/// Writes such a kernel. The call is the same for every run of the op: what a run leaves unread is
/// written all the same, as another call might round in another way.
void emitLibraryKernel(llm::KernelOp kernel, KernelEmitter &e);

/// The product of an op on the buffers of `e`.
Product productOf(llm::LinearOp linear, KernelEmitter &e);
Product productOf(llm::LinearWeightGradOp gradient, KernelEmitter &e);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_LIBRARYKERNELS_H
