//===- SavedValues.h - What the forward leaves for the backward ------------===//
//
// This file finds the saved values of a program (Planning/Model/Decisions.h defines them). With
// recomputation the runs of an op count as one, the first. Nothing here depends on how the decision
// was made.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_ANALYSIS_SAVEDVALUES_H
#define LLMMEM_ANALYSIS_SAVEDVALUES_H

#include "llmmem/Layout/StepStorage.h"

namespace llmmem {

struct SavedValue {
  mlir::Value value; // the first run's
  int64_t bytes = 0;
  std::optional<int64_t> block;
  bool recomputed = false;                      // a reader reads a later run
  bool offloaded = false;                       // else: a reader reads what came back from the host
  llvm::SmallVector<mlir::Operation *> readers; // backward and update ops, in order
};

/// Returns the saved values in the order of the forward. Works on programs with and without
/// recomputation; `original` follows a clone's `llm.clone_of` to the op's `llm.id`.
std::vector<SavedValue> findSavedValues(mlir::func::FuncOp step, const StepStorage &storage);

/// Returns the first run of each clone of the step, by clone.
llvm::DenseMap<mlir::Operation *, mlir::Operation *> findOriginals(mlir::func::FuncOp step);

} // namespace llmmem

#endif // LLMMEM_ANALYSIS_SAVEDVALUES_H
