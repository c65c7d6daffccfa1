//===- ArenaPlaces.h - Offsets, written onto the ops ------------------------===//
//
// This file declares the one writer of `llm.offsets`, `llm.workspace` and the arenas of a step,
// whatever chose the places: a plan (NamedPlaces.h) or `plan-arena`.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_TRANSFORMS_ARENAPLACES_H
#define LLMMEM_LIB_TRANSFORMS_ARENAPLACES_H

#include "llmmem/Layout/StepStorage.h"

namespace llmmem {

/// Holds the offsets of all results with bytes of their own, each in the arena of its memory, and
/// of the workspaces of all ops that have one.
struct ArenaPlaces {
  llvm::DenseMap<mlir::Value, int64_t> values;
  llvm::DenseMap<mlir::Operation *, int64_t> workspaces;
};

/// Writes `places` onto the ops of `step`, and `llm.arena`, `llm.host_arena` and `llm.peak` onto
/// it. Fails, after a located diagnostic, where 2^63 bytes are passed, or where resident buffers
/// and arena exceed `llm.budget` or `llm.host_budget`.
llvm::LogicalResult writeArena(mlir::func::FuncOp step, const StepStorage &storage,
                               const ArenaPlaces &places);

} // namespace llmmem

#endif // LLMMEM_LIB_TRANSFORMS_ARENAPLACES_H
