//===- Poison.h - Which bytes of the arena die after each op ---------------===//

#ifndef LLMMEM_LIB_CONVERSION_POISON_H
#define LLMMEM_LIB_CONVERSION_POISON_H

#include "StepPlaces.h"

namespace llmmem {

struct DeadRange {
  int64_t offset = 0, bytes = 0;
};

/// For each op of a step, the ranges of the arena that no later op reads before it writes them.
/// Found from the uses of the values alone, so that a plan that frees too early shows as a changed
/// result.
llvm::DenseMap<mlir::Operation *, llvm::SmallVector<DeadRange>>
findDeadRanges(mlir::func::FuncOp step, const StepPlaces &places);

} // namespace llmmem

#endif // LLMMEM_LIB_CONVERSION_POISON_H
