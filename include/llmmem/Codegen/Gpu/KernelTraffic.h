//===- KernelTraffic.h - Bytes that a GPU kernel moves, counted statically --===//
//
// Follows the index arithmetic of a kernel for every thread of a few blocks, and counts the
// accesses of its buffers with the loops around them. Accesses of one address by threads of a warp
// at one time count once, because the hardware coalesces them. Reads that do not depend on the
// block (of the scale of a norm, for example) hit the caches after the first one and count once a
// launch. What blocks of a cluster read from each other's shared memory (Cluster.h) is no traffic
// of a buffer.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_CODEGEN_GPU_KERNELTRAFFIC_H
#define LLMMEM_CODEGEN_GPU_KERNELTRAFFIC_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace llmmem {

/// Holds the bytes for each argument of the kernel.
struct BytesByArgument {
  llvm::SmallVector<int64_t> read, written;
};

struct KernelTraffic {
  BytesByArgument asked, moved;
  /// Says whether data decides how often some op runs. A loop of unknown length counts as one
  /// iteration, and both branches of an unknown condition count, unless `expectIterations` says
  /// more.
  bool isEstimate = false;
};

/// Sets, for a loop or a branch of a kernel that depends on data, how often its body runs each time
/// that a thread reaches it, on average over the launch.
void expectIterations(mlir::Operation *op, double iterations);
/// Returns what `expectIterations` set, or 1.
double expectedIterations(mlir::Operation *op);

/// Sets, for a buffer of a kernel's host function of which data decides what must be read, the
/// share of its bytes that must be read. Example: for the weights of 8 experts of which a token
/// chooses 2 it is 0.25.
void expectShare(mlir::Value buffer, double share);
/// Returns what `expectShare` set for argument `number`, or 1.
double expectedShare(mlir::func::FuncOp host, unsigned number);

/// Returns the bytes that one launch of this number of blocks of threads moves. Grid and block are
/// constants.
KernelTraffic measureTraffic(mlir::gpu::GPUFuncOp kernel, std::array<int64_t, 3> grid,
                             std::array<int64_t, 3> block);

} // namespace llmmem

#endif // LLMMEM_CODEGEN_GPU_KERNELTRAFFIC_H
