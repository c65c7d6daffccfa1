//===- Barriers.h - Views of several values, read when all are there -------===//
//
// A barrier says when a value may be read at the earliest. `jax.checkpoint` puts one around what
// the backward recomputes: with y = barrier(x, dz)#0, no reader of y can run before dz is there,
// though y has the bytes of x. So a barrier is an op of the step, which reads all its operands at
// one place, costs nothing and runs once.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LAYOUT_BARRIERS_H
#define LLMMEM_LAYOUT_BARRIERS_H

#include "mlir/IR/Operation.h"

namespace llmmem {

/// Returns whether `op` is a view of several values: each result looks at an operand, and none of
/// them is read before all operands are written.
bool isBarrierOp(mlir::Operation *op);

/// Returns whether `op` stands wherever its readers do: a view of one value.
bool isFreeViewOp(mlir::Operation *op);

/// Returns the barrier that `value` comes out of, through any number of views; null where there is
/// none.
mlir::Operation *barrierBefore(mlir::Value value);

} // namespace llmmem

#endif // LLMMEM_LAYOUT_BARRIERS_H
