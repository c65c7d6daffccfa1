//===- PlanClaims.h - Checks of what a planned step claims ------------------===//
//
// This file is the second half of `verifyPlan`: it checks attributes that say something of the plan
// as a whole against what the walk over the ops found. The rules are in
// llmmem/Analysis/PlanVerifier.h.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_ANALYSIS_PLANCLAIMS_H
#define LLMMEM_LIB_ANALYSIS_PLANCLAIMS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem {

/// Holds what was derived from the ops, `llm.offsets` and `llm.workspace` alone.
struct DerivedPlan {
  int64_t peak = 0;
  llvm::DenseMap<mlir::Value, mlir::Value> source; // a view's storage; a value's own
};

/// Emits an error for each claim that the program refutes; succeeds where there is none.
llvm::LogicalResult verifyPlanClaims(mlir::func::FuncOp step, const DerivedPlan &derived);

} // namespace llmmem

#endif // LLMMEM_LIB_ANALYSIS_PLANCLAIMS_H
