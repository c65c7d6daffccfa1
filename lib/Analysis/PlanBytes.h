//===- PlanBytes.h - The verifier's own sizes -------------------------------===//
//
// This file is a part of `verifyPlan`: the rules [size] and [capture] of
// llmmem/Analysis/PlanVerifier.h. It computes the bytes of elements, tensors and workspaces with
// checked arithmetic, without `bytesOfType` or the checks of the extraction.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_ANALYSIS_PLANBYTES_H
#define LLMMEM_LIB_ANALYSIS_PLANBYTES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem {

/// Returns the bytes of a value of a step for which `checkPlanBytes` succeeded; 0 for what lies in
/// no memory: a number, a token, a shape.
int64_t planBytesOf(mlir::Value value);

/// Returns the scratch bytes that `op` states that it needs while it runs, which no type
/// determines.
int64_t planWorkspaceOf(mlir::Operation *op);

/// Emits an error for each value whose bytes are not known or too many, for each workspace that is
/// too large, and where all of them together, rounded up to 256, are more than 2^63 - 1 bytes. So
/// no sum of sizes and offsets within the claimed arenas can wrap. Emits one, too, for each op
/// whose regions read a value from outside that is no constant: nothing would hold it for them.
llvm::LogicalResult checkPlanBytes(mlir::func::FuncOp step);

} // namespace llmmem

#endif // LLMMEM_LIB_ANALYSIS_PLANBYTES_H
