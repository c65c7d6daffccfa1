//===- DifferentiableOpInterface.h - Vector-Jacobian products ------------===//

#ifndef LLMMEM_INTERFACES_DIFFERENTIABLEOPINTERFACE_H
#define LLMMEM_INTERFACES_DIFFERENTIABLEOPINTERFACE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

namespace llmmem::detail {

/// Fails, after a diagnostic at `op`, where it gave no gradient.
llvm::LogicalResult expectGradient(mlir::Operation *op, mlir::Value gradient);

} // namespace llmmem::detail

#include "llmmem/Interfaces/DifferentiableOpInterface.h.inc"

#endif // LLMMEM_INTERFACES_DIFFERENTIABLEOPINTERFACE_H
