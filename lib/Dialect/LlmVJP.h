//===- LlmVJP.h - What the vector-Jacobian products of the ops share -------===//
//
// A rule builds the gradients of parameters first and that of the activation last: the parameter's
// contribution then ends (or joins its sum) before the next large value begins, and the last reader
// of dy may overwrite its bytes.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_DIALECT_LLMVJP_H
#define LLMMEM_LIB_DIALECT_LLMVJP_H

#include "llmmem/Dialect/LlmOps.h"

namespace llmmem::llm {

using Gradients = llvm::ArrayRef<mlir::Value>;
using Flags = llvm::ArrayRef<bool>;
using OperandGradients = llvm::MutableArrayRef<mlir::Value>;

/// Statistics are results for the backward alone: no rule flows through them. Fails, after a
/// diagnostic at `op`, where a result after the first has a gradient.
llvm::LogicalResult expectFirstResultOnly(mlir::Operation *op, Gradients resultGradients);

/// Rounding has no gradient, so what is stored in fewer bits has none either.
llvm::LogicalResult expectFrozen(mlir::Operation *op, llvm::StringRef name, mlir::ValueRange packed,
                                 Flags active);

} // namespace llmmem::llm

#endif // LLMMEM_LIB_DIALECT_LLMVJP_H
