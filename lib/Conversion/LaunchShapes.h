//===- LaunchShapes.h - How large launches are, and how often they run -----===//

#ifndef LLMMEM_LIB_CONVERSION_LAUNCHSHAPES_H
#define LLMMEM_LIB_CONVERSION_LAUNCHSHAPES_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include <array>

namespace llmmem {

/// Describes a launch of constant size in loops of constant length.
struct LaunchShape {
  mlir::gpu::GPUFuncOp kernel;
  std::array<int64_t, 3> grid, block;
  /// Counts the launches in one call of its host function.
  int64_t times;
  /// Counts the shared memory in addition to workgroup attributions.
  int64_t dynamicBytes;

  int64_t blocks() const { return grid[0] * grid[1] * grid[2]; }
  int64_t threads() const { return block[0] * block[1] * block[2]; }
};

/// Fails after a located diagnostic where some of that is unknown.
mlir::FailureOr<LaunchShape> shapeOf(mlir::gpu::LaunchFuncOp launch);

} // namespace llmmem

#endif // LLMMEM_LIB_CONVERSION_LAUNCHSHAPES_H
