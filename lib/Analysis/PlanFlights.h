//===- PlanFlights.h - What is in flight, and who may touch it --------------===//
//
// This file is a part of `verifyPlan`: the rule [flight] of llmmem/Analysis/PlanVerifier.h.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_ANALYSIS_PLANFLIGHTS_H
#define LLMMEM_LIB_ANALYSIS_PLANFLIGHTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem {

/// Says where values lie, as the verifier derived it.
struct DerivedPlaces {
  llvm::DenseMap<mlir::Value, mlir::Value> source;         // a view's storage; a value's own
  llvm::DenseMap<mlir::Value, mlir::BlockArgument> homeOf; // values in an argument
  llvm::DenseMap<mlir::Value, int64_t> offsetOf;           // all others, in the arena
};

/// Emits an error for each op that touches bytes in flight, and for waits out of order.
llvm::LogicalResult verifyFlights(mlir::func::FuncOp step, const DerivedPlaces &places);

} // namespace llmmem

#endif // LLMMEM_LIB_ANALYSIS_PLANFLIGHTS_H
