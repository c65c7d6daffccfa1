//===- InlineCalls.h - Calls become what they call -------------------------===//

#ifndef LLMMEM_TRANSFORMS_INLINECALLS_H
#define LLMMEM_TRANSFORMS_INLINECALLS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem {

/// Puts the body of every function that `step` calls, also from inside of regions, in the place of
/// the call, and erases private functions without callers. Attributes of a call are
/// lost, locations say where it was. Unlike MLIR's inliner it needs no interface of the surrounding
/// ops, so they may be unregistered and have regions. Fails, after a diagnostic at the call, on
/// recursion and on what has no body of one block; the module may then have calls left.
llvm::LogicalResult inlineCalls(mlir::func::FuncOp step);

} // namespace llmmem

#endif // LLMMEM_TRANSFORMS_INLINECALLS_H
