//===- TiledOps.h - Ops that go through their rows in parts --------------===//
//
// TiledOps.td says what they mean. They have a header of their own because few sources name them.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_DIALECT_TILEDOPS_H
#define LLMMEM_DIALECT_TILEDOPS_H

#include "llmmem/Dialect/LlmOps.h"

#define GET_OP_CLASSES
#include "llmmem/Dialect/TiledOps.h.inc"

namespace llmmem::llm {

/// Returns whether an op may be in the body of llm.tiled: a product of rows with a weight, a sum
/// over all rows, or an elementwise op that draws no random numbers.
bool canBeTiled(mlir::Operation *op);
/// Returns whether such an op goes element by element.
bool isElementwise(mlir::Operation *op);
/// Returns whether such an op is a sum over all rows.
bool isSumOverRows(mlir::Operation *op);
/// Returns whether such an op reads the operand row by row; everything else it reads as a whole.
bool readsRows(mlir::OpOperand &operand);
/// Returns the rows of a tensor: the product of all dimensions except the last.
int64_t rowsOf(mlir::Type tensor);

} // namespace llmmem::llm

#endif // LLMMEM_DIALECT_TILEDOPS_H
