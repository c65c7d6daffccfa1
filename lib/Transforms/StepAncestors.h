//===- StepAncestors.h - What a value of a step depends on -----------------===//

#ifndef LLMMEM_LIB_TRANSFORMS_STEPANCESTORS_H
#define LLMMEM_LIB_TRANSFORMS_STEPANCESTORS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseSet.h"

namespace llmmem {

/// Returns the ops that `value` depends on; what their regions read from outside is not followed.
llvm::DenseSet<mlir::Operation *> findAncestors(mlir::Value value);

} // namespace llmmem

#endif // LLMMEM_LIB_TRANSFORMS_STEPANCESTORS_H
