//===- LlmAnnotations.h - Words of annotations as enums --------------------===//
//
// This is the one place that turns the strings of `llm.phase`, `llm.role` and `llm.decision` into
// enums and back. (In the text they are strings, which a tool without this dialect reads too.)
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_DIALECT_LLMANNOTATIONS_H
#define LLMMEM_DIALECT_LLMANNOTATIONS_H

#include "llmmem/Dialect/LlmDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace llmmem::llm {

/// Returns none where the op carries no phase.
std::optional<Phase> readPhase(mlir::Operation *op);
void writePhase(mlir::Operation *op, Phase phase);

/// Returns none where the argument carries no role.
std::optional<Role> readRole(mlir::FunctionOpInterface function, unsigned argument);

/// Returns one decision for each result; none where no plan has decided.
llvm::SmallVector<Decision> readDecisions(mlir::Operation *op);
void writeDecisions(mlir::Operation *op, llvm::ArrayRef<Decision> decisions);

} // namespace llmmem::llm

namespace llmmem {

/// Returns the bytes, a multiple of 256, that a plan gives to a matmul library while `op` runs; 0
/// without.
int64_t libraryWorkspaceBytes(mlir::Operation *op);

/// Returns whether the plan is for a library that computes `op`: then `op` has its library
/// workspace (`llm.library_workspace`).
bool isForLibrary(mlir::Operation *op);

} // namespace llmmem

#endif // LLMMEM_DIALECT_LLMANNOTATIONS_H
