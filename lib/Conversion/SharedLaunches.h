//===- SharedLaunches.h - Ops of a step that share a launch ----------------===//

#ifndef LLMMEM_LIB_CONVERSION_SHAREDLAUNCHES_H
#define LLMMEM_LIB_CONVERSION_SHAREDLAUNCHES_H

#include "StepPlaces.h"

namespace llmmem {

/// Ops that run in one launch.
using OpRun = llvm::SmallVector<mlir::Operation *>;

/// The runs of several ops of a planned step, by their first op; the others of a run have an empty
/// one. Its ops are equal except for the lengths of their tensors
/// (`KernelOpInterface::getOperandsInCommon`), and have no more buffers than a launch may take.
/// Between them are only views and ops of the same kind, none of which writes a byte that another
/// accesses: so they may all run where the first does.
///
/// Example: the updates of 148 parameters, some of which decay, one `llm.adamw` after another, are
/// a run of 50 ops, and one of 98.
llvm::DenseMap<mlir::Operation *, OpRun> findSharedLaunches(mlir::func::FuncOp step,
                                                            const StepPlaces &places);

/// The values that a run's launch gets: the operands of its ops, with common ones once, and the
/// results that are not in place of an operand in an argument of the step.
struct RunValues {
  RunValues(llvm::ArrayRef<mlir::Operation *> run, const StepPlaces &places);

  llvm::SmallVector<mlir::Value> values;
  /// Which of them are written.
  llvm::SmallVector<bool> isWritten;
  /// For each op, which of them its operands and its results are.
  llvm::SmallVector<llvm::SmallVector<unsigned>> operands, results;
};

} // namespace llmmem

#endif // LLMMEM_LIB_CONVERSION_SHAREDLAUNCHES_H
