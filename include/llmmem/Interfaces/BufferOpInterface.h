//===- BufferOpInterface.h - Whose bytes a result has --------------------===//

#ifndef LLMMEM_INTERFACES_BUFFEROPINTERFACE_H
#define LLMMEM_INTERFACES_BUFFEROPINTERFACE_H

#include "mlir/IR/OpDefinition.h"
#include <optional>

#include "llmmem/Interfaces/BufferOpInterface.h.inc"

namespace llmmem {

// An op without BufferOpInterface, registered or not, may state the same in its attributes:
// `llm.views`, `llm.in_place`, `llm.pure`, `llm.resident` (LlmAnnotations.td). The functions here
// read both, the interface first.

/// Returns the operand that `result` is a view of; none where it has bytes of its own. (Views of
/// lowered buffers are MLIR's ViewLikeOpInterface: memref::skipViewLikeOps.)
std::optional<unsigned> viewedOperand(mlir::OpResult result);

/// Returns the value that `value` is a view of, through any number of views; itself where it is
/// none.
mlir::Value viewedValue(mlir::Value value);

/// Returns whether `op` does nothing but look at an operand's bytes, or has neither operands nor
/// results and so no bytes (a wait for what was sent).
bool isViewOp(mlir::Operation *op);

/// Returns the operands whose bytes `result` may take over, if its op is their last reader.
llvm::SmallVector<unsigned> inPlaceOperands(mlir::OpResult result);

/// Returns whether the results of `op` are constants, which are held throughout as arguments are:
/// it says so, or it has the trait ConstantLike. Such an op is part of no schedule.
bool isResidentOp(mlir::Operation *op);

/// Returns whether `op` states that it is pure, or has no memory effect.
bool isFreeOfEffects(mlir::Operation *op);

} // namespace llmmem

#endif // LLMMEM_INTERFACES_BUFFEROPINTERFACE_H
