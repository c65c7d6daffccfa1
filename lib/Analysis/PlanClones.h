//===- PlanClones.h - Clones, and who reads which run -----------------------===//
//
// This file is a part of `verifyPlan`: the rules [clone] and [latest] of
// llmmem/Analysis/PlanVerifier.h.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_ANALYSIS_PLANCLONES_H
#define LLMMEM_LIB_ANALYSIS_PLANCLONES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem {

/// Emits an error for each clone that does something else than its original, and for each reader
/// of another run than the latest before it. `source` has a view's storage, and a value's own.
///
/// A value that went to the host and came back is the run that went there. Example: after `%a2`, a
/// clone of `%a`, an op may read `%a2`, or what comes back from the host there, but not `%a`.
llvm::LogicalResult verifyClones(mlir::func::FuncOp step,
                                 const llvm::DenseMap<mlir::Value, mlir::Value> &source);

} // namespace llmmem

#endif // LLMMEM_LIB_ANALYSIS_PLANCLONES_H
