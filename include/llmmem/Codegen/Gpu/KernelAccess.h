//===- KernelAccess.h - What an op of a GPU kernel reads and writes --------===//
//
// Finds the ops of a kernel that access memory by a buffer and indices. `nvgpu.device_async_copy`
// accesses two buffers, all others one:
//
//   vector.store %v, %tile[%i] : memref<4096xbf16, workgroup>, vector<8xbf16>
//     -> {memref = %tile, indices = {%i}, type = vector<8xbf16>, isWrite = true}
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_CODEGEN_GPU_KERNELACCESS_H
#define LLMMEM_CODEGEN_GPU_KERNELACCESS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"

namespace llmmem {

/// Describes a read or a write by one thread.
struct KernelAccess {
  mlir::Value memref;
  mlir::ValueRange indices;
  mlir::Type type; // The type of an element, or of a vector of elements.
  bool isWrite = false;
  /// Says how many elements of `type` are read, the rest being zero; null means all.
  mlir::Value count = {};
  /// Counts the 8 x 8 matrices of bf16 that a warp reads together (ldmatrix): lane i of the first 8
  /// * matrices names row i % 8 of matrix i / 8. The value 0 means that each thread reads for
  /// itself.
  int64_t matrices = 0;
};

/// Returns the accesses of `op`, reads first; none if it is no such op.
llvm::SmallVector<KernelAccess, 2> kernelAccessesOf(mlir::Operation *op);

/// Returns the kernel's argument that a buffer is a part of; nothing for workgroup memory.
std::optional<unsigned> kernelArgumentOf(mlir::gpu::GPUFuncOp kernel, mlir::Value buffer);

} // namespace llmmem

#endif // LLMMEM_CODEGEN_GPU_KERNELACCESS_H
