//===- SharedLaunches.h - Ops of a step that share a launch ----------------===//

#ifndef LLMMEM_LIB_CONVERSION_SHAREDLAUNCHES_H
#define LLMMEM_LIB_CONVERSION_SHAREDLAUNCHES_H

#include "StepPlaces.h"

namespace llmmem {

/// Ops that one launch does.
using OpRun = llvm::SmallVector<mlir::Operation *>;

/// The runs of several ops of a planned step, by their first op; the others of a run have an empty
/// one. Its ops are equal but for the lengths of their tensors
/// (`KernelOpInterface::getOperandsInCommon`), and have no more buffers than a launch may take.
/// Between them stand views and ops of the same kind alone, none of which writes a byte that
/// another reads or writes: so they may all run when the first does.
///
/// Example: the updates of 148 parameters, some of which decay, one `llm.adamw` after another, are
/// a run of 50 ops, and one of 98.
llvm::DenseMap<mlir::Operation *, OpRun> findSharedLaunches(mlir::func::FuncOp step,
                                                            const StepPlaces &places);

/// The values that a run's launch gets: the operands of its ops, once those that they have in
/// common, and the results that do not stand in an argument of the step in the place of an operand.
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
