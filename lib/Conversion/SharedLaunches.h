//===- SharedLaunches.h - Ops of a step that share a launch ----------------===//

#ifndef LLMMEM_LIB_CONVERSION_SHAREDLAUNCHES_H
#define LLMMEM_LIB_CONVERSION_SHAREDLAUNCHES_H

#include "llmmem/Layout/StepPlaces.h"

namespace llmmem {

/// Lists ops that run in one launch.
using OpRun = llvm::SmallVector<mlir::Operation *>;

/// Finds the runs of several ops of a planned step, by their first op; the others of a run have an
/// empty one. The ops of a run are equal except for the lengths of their tensors
/// (`KernelOpInterface::getOperandsInCommon`), and have no more buffers than a launch may take.
/// Between them are only views and ops of the same kind, none of which writes a byte that another
/// accesses. So they may all run where the first does.
///
/// Example: the updates of 148 parameters, some of which decay, one `llm.adamw` after another, are
/// a run of 50 ops and one of 98.
llvm::DenseMap<mlir::Operation *, OpRun> findSharedLaunches(mlir::func::FuncOp step,
                                                            const StepPlaces &places);

/// Holds the values that a run's launch receives: the operands of its ops, with common ones once,
/// and the results that are not in place of an operand in an argument of the step.
struct RunValues {
  RunValues(llvm::ArrayRef<mlir::Operation *> run, const StepPlaces &places);

  llvm::SmallVector<mlir::Value> values;
  /// Says which of them are written.
  llvm::SmallVector<bool> isWritten;
  /// Says for each op which of them are its operands and its results.
  llvm::SmallVector<llvm::SmallVector<unsigned>> operands, results;
};

} // namespace llmmem

#endif // LLMMEM_LIB_CONVERSION_SHAREDLAUNCHES_H
