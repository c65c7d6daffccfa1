//===- SavedValues.h - What the forward leaves for the backward ------------===//
//
// A saved value is a forward value that the backward or the update reads. On a program with
// recomputation its runs count as one value: it is kept where every such reader sees the first run,
// recomputed where any sees a later one. Nothing here depends on how the decision was made.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_ANALYSIS_SAVEDVALUES_H
#define LLMMEM_ANALYSIS_SAVEDVALUES_H

#include "llmmem/Analysis/StepStorage.h"

namespace llmmem {

struct SavedValue {
  mlir::Value value; // the first run's
  int64_t bytes = 0;
  std::optional<int64_t> block;
  bool recomputed = false;
  llvm::SmallVector<mlir::Operation *> readers; // backward and update ops, in order
};

/// In the order of the forward. Works on programs with and without recomputation; `original`
/// follows a clone's `llm.clone_of` to the op's `llm.id`.
std::vector<SavedValue> findSavedValues(mlir::func::FuncOp step, const StepStorage &storage);

/// The first run of each clone of the step, by clone.
llvm::DenseMap<mlir::Operation *, mlir::Operation *> findOriginals(mlir::func::FuncOp step);

} // namespace llmmem

#endif // LLMMEM_ANALYSIS_SAVEDVALUES_H
