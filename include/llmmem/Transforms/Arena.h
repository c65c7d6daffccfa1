//===- Arena.h - A place for every value of a step without a plan ----------===//
//
// `planArena` places the live ranges of a step, in the order in which it stands, into one arena.
// Offsets are multiples of 256 bytes. A view or an in-place result repeats its source's offset; -1
// says that the bytes are an argument's.
//
// Example: `%1 = llm.gelu %0 {llm.offsets = array<i64: 4096>}` where %0 is at 4096 and is not
// read again.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TRANSFORMS_ARENA_H
#define LLMMEM_TRANSFORMS_ARENA_H

#include "llmmem/Analysis/ProblemExtraction.h"

namespace llmmem {

/// Packs a step that has no plan, and writes `llm.offsets`, `llm.workspace`, `llm.arena` and
/// `llm.peak`. A step that `apply-checkpoints` has placed (`llm.policy` and `llm.arena`) stays as
/// its plan has it. Fails, after a located diagnostic, where resident buffers and arena exceed
/// `llm.budget`, where places of a plan were not applied, or where an op of a placed step has none.
llvm::LogicalResult planArena(mlir::func::FuncOp step, const StepStorage &storage,
                              const DeviceModel &device);

} // namespace llmmem

#endif // LLMMEM_TRANSFORMS_ARENA_H
