//===- KernelTraffic.h - Bytes that a GPU kernel moves, counted statically -===//
//
// The index arithmetic of a kernel is followed for every thread of a few blocks, and the accesses
// of its buffers are counted with the loops around them. Threads of a warp that touch one address
// at one time count once, as the hardware serves them. What does not depend on the block stays in
// the caches after its first reader (the scale of a norm, say) and counts once a launch.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_CODEGEN_GPU_KERNELTRAFFIC_H
#define LLMMEM_CODEGEN_GPU_KERNELTRAFFIC_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace llmmem {

/// For each argument of the kernel.
struct BytesByArgument {
  llvm::SmallVector<int64_t> read, written;
};

struct KernelTraffic {
  BytesByArgument asked, moved;
  /// Whether data decides how often something runs or whether it does: a loop of unknown length
  /// counts as one iteration, and both sides of an unknown condition, but where `expectIterations`
  /// knows more.
  bool isEstimate = false;
};

/// Says of a loop or a branch of a kernel that data decides on how often its body is run each time
/// that a thread comes by, on average over the launch.
void expectIterations(mlir::Operation *op, double iterations);

/// What one launch of so many blocks of threads moves. Grid and block are constants.
KernelTraffic measureTraffic(mlir::gpu::GPUFuncOp kernel, std::array<int64_t, 3> grid,
                             std::array<int64_t, 3> block);

} // namespace llmmem

#endif // LLMMEM_CODEGEN_GPU_KERNELTRAFFIC_H
