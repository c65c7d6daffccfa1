//===- WarpgroupAttention.h - Attention in 16 bits by wgmma ---------------===//
//
// The scheme of MmaAttention.h with warpgroups in place of warps: two of them share tiles in shared
// memory, scores come from there, and weights become the A of the next matmul without leaving the
// registers (Shah et al., "FlashAttention-3", 2024, without its producer and its overlap inside of
// a warpgroup: while one warpgroup computes powers the other one multiplies). Copies of the next
// tile are under way while one is used.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_WARPGROUPATTENTION_H
#define LLMMEM_LIB_CODEGEN_GPU_WARPGROUPATTENTION_H

#include "llmmem/Codegen/Emitter/KernelEmitter.h"
#include "llmmem/Codegen/Emitter/KernelOptions.h"
#include "llmmem/Dialect/LlmOps.h"

namespace llmmem {

/// Heads of 64 or 128 elements of 16 bits, sequences of whole blocks of 128, and no dropout, on a
/// device that has wgmma.
bool isWarpgroupAttention(const KernelOptions &options, llm::AttentionOp op);
bool isWarpgroupAttention(const KernelOptions &options, llm::AttentionGradOp op);

/// One launch.
void emitWarpgroupAttention(llm::AttentionOp op, KernelEmitter &e);
/// Two launches: dq (and delta, the workspace) by queries, then dk and dv by keys.
void emitWarpgroupAttention(llm::AttentionGradOp op, KernelEmitter &e);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_WARPGROUPATTENTION_H
