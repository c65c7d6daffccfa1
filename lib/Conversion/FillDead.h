//===- FillDead.h - A call that fills bytes which nothing reads any more ----===//

#ifndef LLMMEM_LIB_CONVERSION_FILLDEAD_H
#define LLMMEM_LIB_CONVERSION_FILLDEAD_H

#include "mlir/IR/Builders.h"

namespace llmmem {

/// Emits a call of the runtime that fills `bytes`, a flat buffer, with the pattern of dead bytes.
void emitFill(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value bytes);

} // namespace llmmem

#endif // LLMMEM_LIB_CONVERSION_FILLDEAD_H
