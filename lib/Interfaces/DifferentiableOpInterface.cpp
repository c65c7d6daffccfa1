//===- DifferentiableOpInterface.cpp - Vector-Jacobian products ----------===//

#include "llmmem/Interfaces/DifferentiableOpInterface.h"

llvm::LogicalResult llmmem::detail::expectGradient(mlir::Operation *op, mlir::Value gradient) {
  if (gradient)
    return llvm::success();
  return op->emitOpError("builds no gradient; implement buildGradient or buildVJP");
}

#include "llmmem/Interfaces/DifferentiableOpInterface.cpp.inc"
