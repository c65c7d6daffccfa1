//===- LaunchShapes.cpp - How large launches are, and how often they run ---===//

#include "LaunchShapes.h"
#include "llmmem/Codegen/Gpu/Cluster.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace llmmem;

/// Returns the product of the trip counts of the loops around it.
static FailureOr<int64_t> timesRun(gpu::LaunchFuncOp launch) {
  int64_t times = 1;
  for (Operation *op = launch->getParentOp(); !isa<func::FuncOp>(op); op = op->getParentOp()) {
    auto loop = dyn_cast<LoopLikeOpInterface>(op);
    std::optional<APInt> iterations = loop ? loop.getStaticTripCount() : std::nullopt;
    if (!iterations)
      return launch.emitOpError("is in a loop of unknown trip count");
    times *= iterations->getSExtValue();
  }
  return times;
}

static std::optional<std::array<int64_t, 3>> constantsOf(gpu::KernelDim3 size) {
  std::optional<int64_t> x = getConstantIntValue(size.x), y = getConstantIntValue(size.y),
                         z = getConstantIntValue(size.z);
  if (!x || !y || !z)
    return std::nullopt;
  return std::array<int64_t, 3>{*x, *y, *z};
}

FailureOr<LaunchShape> llmmem::shapeOf(gpu::LaunchFuncOp launch) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<gpu::GPUFuncOp>(launch, launch.getKernel());
  if (!kernel)
    return launch.emitOpError(
        "launches a symbol that is no gpu.func; run this pass before the lowering to PTX");
  auto grid = constantsOf(launch.getGridSizeOperandValues()),
       block = constantsOf(launch.getBlockSizeOperandValues());
  if (!grid || !block)
    return launch.emitOpError("has a grid or block that is not constant");
  if (failed(verifyClusters(launch)))
    return failure();
  FailureOr<int64_t> times = timesRun(launch);
  if (failed(times))
    return failure();
  std::optional<int64_t> dynamic = 0;
  if (Value bytes = launch.getDynamicSharedMemorySize())
    dynamic = getConstantIntValue(bytes);
  if (!dynamic)
    return launch.emitOpError("has dynamic shared memory of a size that is not constant");
  return LaunchShape{kernel, *grid, *block, *times, *dynamic};
}
