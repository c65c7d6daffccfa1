//===- PowersOfTwo.h - 2^x on a GPU ----------------------------------------===//
//
// Computes what softmax needs, exp(score - largest) = 2^(score log2(e) - largest log2(e)), and the
// logistic function, 1 / (1 + 2^x), in one instruction. The CPU's polynomial for exp takes more
// than twenty.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_CODEGEN_GPU_POWERSOFTWO_H
#define LLMMEM_CODEGEN_GPU_POWERSOFTWO_H

#include "llmmem/Codegen/Emitter/KernelEmitter.h"

namespace llmmem {

/// Names the intrinsic of ex2.approx.ftz.f32.
inline constexpr llvm::StringLiteral kApproximatePower = "llvm.nvvm.ex2.approx.ftz";

/// Returns 2^x in f32, with a relative error below 2^-22 (PTX ISA, "ex2"). Returns 0 where it would
/// be below 2^-126, also for minus infinity. NaN gives NaN.
Num powerOfTwo(Num x);

/// Returns 1 / x, correctly rounded, for |x| from 2^-125 to 2^125, without a branch.
Num reciprocal(Num x);

} // namespace llmmem

#endif // LLMMEM_CODEGEN_GPU_POWERSOFTWO_H
