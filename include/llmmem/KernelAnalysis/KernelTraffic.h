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

#ifndef LLMMEM_KERNELANALYSIS_KERNELTRAFFIC_H
#define LLMMEM_KERNELANALYSIS_KERNELTRAFFIC_H

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
  /// more (Codegen/Emitter/Expectations.h).
  bool isEstimate = false;
};

/// Returns the bytes that one launch of this number of blocks of threads moves. Grid and block are
/// constants.
KernelTraffic measureTraffic(mlir::gpu::GPUFuncOp kernel, std::array<int64_t, 3> grid,
                             std::array<int64_t, 3> block);

} // namespace llmmem

#endif // LLMMEM_KERNELANALYSIS_KERNELTRAFFIC_H
