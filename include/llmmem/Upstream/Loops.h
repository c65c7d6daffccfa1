//===- Loops.h - What a loop of another dialect costs -----------------------===//

#ifndef LLMMEM_UPSTREAM_LOOPS_H
#define LLMMEM_UPSTREAM_LOOPS_H

#include "mlir/Interfaces/LoopLikeInterface.h"

namespace llmmem {

/// How often the body of `loop` runs, where its bounds and its step are constants.
std::optional<int64_t> countLoopRounds(mlir::LoopLikeOpInterface loop);

/// Whether a plan can price `loop`: its rounds are counted, and each op of its body has a cost.
/// Fails after a diagnostic that says what stands in the way.
llvm::LogicalResult checkLoopHasCost(mlir::LoopLikeOpInterface loop);

/// Whether `op`, in the body of a loop, costs nothing: a view, a constant, or what computes on
/// numbers alone, beside the kernels.
bool isFreeInLoop(mlir::Operation &op);

} // namespace llmmem

#endif // LLMMEM_UPSTREAM_LOOPS_H
