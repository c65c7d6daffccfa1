//===- WarpgroupAttention.h - Attention in 16 bits by wgmma ---------------===//
//
// This is the scheme of MmaAttention.h with warpgroups instead of warps: two of them share tiles in
// shared memory, which the scores read, and weights become the A of the next matmul without leaving
// the registers (Shah et al., "FlashAttention-3", 2024, without its producer and its overlap inside
// of a warpgroup: while one warpgroup computes powers the other one multiplies). Copies of the next
// tile overlap the use of the current one.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_WARPGROUPATTENTION_H
#define LLMMEM_LIB_CODEGEN_GPU_WARPGROUPATTENTION_H

#include "llmmem/Codegen/Emitter/KernelEmitter.h"
#include "llmmem/Codegen/Emitter/KernelOptions.h"
#include "llmmem/Dialect/LlmOps.h"

namespace llmmem {

/// Returns whether it supports the op: heads of 64 or 128 elements of 16 bits, sequences of whole
/// blocks of 128, and no dropout, on a device that has wgmma.
bool isWarpgroupAttention(const KernelOptions &options, llm::AttentionOp op);
bool isWarpgroupAttention(const KernelOptions &options, llm::AttentionGradOp op);

void emitWarpgroupAttention(llm::AttentionOp op, KernelEmitter &e);
/// Emits two launches: dq (and delta, the workspace) by queries, then dk and dv by keys.
void emitWarpgroupAttention(llm::AttentionGradOp op, KernelEmitter &e);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_WARPGROUPATTENTION_H
