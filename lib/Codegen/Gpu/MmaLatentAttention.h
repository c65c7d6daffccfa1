//===- MmaLatentAttention.h - Attention to latent rows on tensor cores -----===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_MMALATENTATTENTION_H
#define LLMMEM_LIB_CODEGEN_GPU_MMALATENTATTENTION_H

#include "llmmem/Codegen/Emitter/KernelEmitter.h"
#include "llmmem/Targets/LatentParts.h"

namespace llmmem {

/// A block of threads takes up to 64 heads of a token and a part of its rows, each of which it
/// reads once. Where there are several parts, a second launch adds them in order.
void emitMmaLatentAttention(llm::LatentAttentionOp op, KernelEmitter &e, llm::LatentParts parts);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_MMALATENTATTENTION_H
