//===- BufferOpInterface.h ---------------------------------------------------===//

#ifndef LLMMEM_INTERFACES_BUFFEROPINTERFACE_H
#define LLMMEM_INTERFACES_BUFFEROPINTERFACE_H

#include "mlir/IR/OpDefinition.h"
#include <optional>

#include "llmmem/Interfaces/BufferOpInterface.h.inc"

namespace llmmem {

/// The operand that `result` is a view of, by BufferOpInterface; none where it has bytes of its
/// own. (Views of lowered buffers are MLIR's ViewLikeOpInterface: memref::skipViewLikeOps.)
std::optional<unsigned> viewedOperand(mlir::OpResult result);

/// The value that `value` is a view of, through any number of views; itself where it is none.
mlir::Value viewedValue(mlir::Value value);

/// Whether `op` does nothing but look at an operand's bytes.
bool isViewOp(mlir::Operation *op);

} // namespace llmmem

#endif // LLMMEM_INTERFACES_BUFFEROPINTERFACE_H
