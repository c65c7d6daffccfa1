//===- DeadRanges.h - Which bytes of the arena die after each op ----------===//

#ifndef LLMMEM_LAYOUT_DEADRANGES_H
#define LLMMEM_LAYOUT_DEADRANGES_H

#include "llmmem/Layout/StepPlaces.h"

namespace llmmem {

struct DeadRange {
  int64_t offset = 0, bytes = 0;
  bool onHost = false; // of the arena of the host's memory
};

/// Returns for each op of a step the ranges of the arenas that no later op reads before it writes
/// them. They follow from the uses of values alone, so that a plan that frees too early changes the
/// result.
llvm::DenseMap<mlir::Operation *, llvm::SmallVector<DeadRange>>
findDeadRanges(mlir::func::FuncOp step, const StepPlaces &places);

} // namespace llmmem

#endif // LLMMEM_LAYOUT_DEADRANGES_H
