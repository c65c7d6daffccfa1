//===- RegionCaptures.h - What regions read from around them, as operands --===//

#ifndef LLMMEM_TRANSFORMS_REGIONCAPTURES_H
#define LLMMEM_TRANSFORMS_REGIONCAPTURES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem {

/// Hands unregistered ops what their regions read from around them: each such value becomes an
/// operand after the others, and an argument of every region after its others. A plan then knows
/// that the op reads it. The op remembers how many there are in `llmmem.captures`. Regions of
/// several blocks stay as they are.
///
/// Example: the branches of a `stablehlo.case` have no arguments, so they read %x from outside:
///   %r = "stablehlo.case"(%i) ({ "stablehlo.return"(%x) ... }) : (tensor<i32>) -> ...
/// becomes
///   %r = "stablehlo.case"(%i, %x) ({ ^bb0(%y: ...): "stablehlo.return"(%y) ... })
void passCaptures(mlir::func::FuncOp step);

/// Undoes `passCaptures`, wherever the ops are now.
void returnCaptures(mlir::ModuleOp module);

} // namespace llmmem

#endif // LLMMEM_TRANSFORMS_REGIONCAPTURES_H
