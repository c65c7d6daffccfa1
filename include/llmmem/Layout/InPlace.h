//===- InPlace.h - When a result may stand where operands lie ---------------===//

#ifndef LLMMEM_LAYOUT_INPLACE_H
#define LLMMEM_LAYOUT_INPLACE_H

#include "mlir/IR/Value.h"

namespace llmmem {

/// Whether `result` may be written where the operands lie of which `liesThere` holds: there is one,
/// and the result may take over each of them (BufferOpInterface). An op that reads bytes as two
/// operands, the second perhaps a view of the first, may overwrite them only where both allow it.
///
/// Example: `linear_weight_grad(%a, %dy) into(%b)` may stand on %b, but not where %a and %b are one
/// value: the matmul reads %a to its end.
bool mayOverwrite(mlir::OpResult result, llvm::function_ref<bool(mlir::Value)> liesThere);

} // namespace llmmem

#endif // LLMMEM_LAYOUT_INPLACE_H
