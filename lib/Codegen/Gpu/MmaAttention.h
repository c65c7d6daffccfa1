//===- MmaAttention.h - Attention in bf16 on tensor cores -----------------===//
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

/// Returns whether it supports the op: bf16, and heads of 16 to 128 elements in whole fragments.
bool isMmaAttention(llm::AttentionOp op);
bool isMmaAttention(llm::AttentionGradOp op);

void emitMmaAttention(llm::AttentionOp op, KernelEmitter &e);
/// Emits two launches: dq (and delta, the workspace) by queries, then dk and dv by keys.
void emitMmaAttention(llm::AttentionGradOp op, KernelEmitter &e);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_MMAATTENTION_H
