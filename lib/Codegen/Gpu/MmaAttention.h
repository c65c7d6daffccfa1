//===- MmaAttention.h - Attention in 16 bits on tensor cores --------------===//
//
// This is the scheme of lib/Codegen/Kernels/AttentionKernels.cpp with warps instead of vectors: a
// warp owns 16 rows, its accumulators are fragments, and scores become operands of the next matmul
// without leaving the registers (Dao 2023, "FlashAttention-2"). Memory other than the operands does
// not grow with the sequence, there are no atomics, and one warp computes each sum, in a fixed
// order.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_MMAATTENTION_H
#define LLMMEM_LIB_CODEGEN_GPU_MMAATTENTION_H

#include "llmmem/Codegen/Emitter/KernelEmitter.h"
#include "llmmem/Dialect/LlmOps.h"

namespace llmmem {

/// Returns whether it supports the op: 16-bit floats, and heads of 16 to 128 elements in whole
/// fragments. The forward's tile of 128 rows fits the 48 KiB of a workgroup attribution with them,
/// and would not with the next sizes that models have, 192 and 256.
bool isMmaAttention(llm::AttentionOp op);
bool isMmaAttention(llm::AttentionGradOp op);

void emitMmaAttention(llm::AttentionOp op, KernelEmitter &e);
/// Emits two launches: dq (and delta, the workspace) by queries, then dk and dv by keys.
void emitMmaAttention(llm::AttentionGradOp op, KernelEmitter &e);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_MMAATTENTION_H
