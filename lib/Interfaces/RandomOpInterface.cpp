//===- RandomOpInterface.cpp - Ops that sample random numbers ------------===//

#include "llmmem/Interfaces/RandomOpInterface.h"

llvm::SmallVector<mlir::Operation *> llmmem::randomOps(mlir::Operation *op) {
  llvm::SmallVector<mlir::Operation *> random;
  op->walk<mlir::WalkOrder::PreOrder>([&](RandomOpInterface inner) { random.push_back(inner); });
  return random;
}

#include "llmmem/Interfaces/RandomOpInterface.cpp.inc"
