//===- Loops.h - What a loop of another dialect costs -----------------------===//

#ifndef LLMMEM_UPSTREAM_LOOPS_H
#define LLMMEM_UPSTREAM_LOOPS_H

#include "mlir/Interfaces/LoopLikeInterface.h"

namespace llmmem {

/// Returns how often the body of `loop` runs, where its bounds and its step are constants.
std::optional<int64_t> countLoopRounds(mlir::LoopLikeOpInterface loop);

/// Checks whether a plan can price `loop`: its iterations are counted, and each op of its body has
/// a cost. Fails after a diagnostic that says why it cannot.
llvm::LogicalResult checkLoopHasCost(mlir::LoopLikeOpInterface loop);

/// Returns whether `op`, in the body of a loop, costs nothing: a view, a constant, or a computation
/// on numbers alone, outside of the kernels.
bool isFreeInLoop(mlir::Operation &op);

} // namespace llmmem

#endif // LLMMEM_UPSTREAM_LOOPS_H
