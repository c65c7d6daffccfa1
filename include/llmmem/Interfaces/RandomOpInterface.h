//===- RandomOpInterface.h - Ops that sample random numbers ----------------===//

#ifndef LLMMEM_INTERFACES_RANDOMOPINTERFACE_H
#define LLMMEM_INTERFACES_RANDOMOPINTERFACE_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpDefinition.h"

#include "llmmem/Interfaces/RandomOpInterface.h.inc"

namespace llmmem {

/// Returns `op` and the ops inside it that sample random numbers, in the order of the text: the
/// last arguments of its kernel are the numbers of their streams.
llvm::SmallVector<mlir::Operation *> randomOps(mlir::Operation *op);

} // namespace llmmem

#endif // LLMMEM_INTERFACES_RANDOMOPINTERFACE_H
