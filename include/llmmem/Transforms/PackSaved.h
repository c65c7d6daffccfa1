//===- PackSaved.h - Saved values in 8 bits ---------------------------------===//
//
// The values that the forward makes and the backward reads can be held in 8 bits between them (Chen
// et al. 2021, ActNN; Liu et al. 2022, GACT): `llm.pack` after the op that makes a value rounds it
// by groups of a row, and the backward reads what `llm.unpack` makes of that. The forward reads the
// value itself, so the loss keeps its bits and gradients do not. So it is never done unasked.
//
// Values of the first layers are held longest, so they come first. How many are packed is a choice
// like epilogues: the planning pass compares the step with none, a quarter, a half, three quarters
// and all of them packed, each with its kept and recomputed values, and takes the cheapest plan.
//
// Example: a saved tensor<8x1024x768xbf16> has 12,582,912 bytes, packed in groups of 256 6,291,456
// bytes of i8 and 49,152 of scales.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TRANSFORMS_PACKSAVED_H
#define LLMMEM_TRANSFORMS_PACKSAVED_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem {

/// Bounds the shares of the saved values that may be packed: 0 to this many quarters.
inline constexpr int64_t kPackedQuarters = 4;

/// Packs so many quarters of what may be packed in `step`, which is not planned; returns how many
/// values those are. Candidates are bf16 or f32, have rows that groups of a multiple of 32 and at
/// most 256 elements divide, and are no smaller than an eighth of the largest (statistics are).
int64_t packSavedValues(mlir::func::FuncOp step, int64_t quarters);

} // namespace llmmem

#endif // LLMMEM_TRANSFORMS_PACKSAVED_H
