//===- DeviceCachedAttention.h - Attention to caches on a GPU --------------===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_DEVICECACHEDATTENTION_H
#define LLMMEM_LIB_CODEGEN_GPU_DEVICECACHEDATTENTION_H

#include "llmmem/Codegen/Emitter/KernelEmitter.h"
#include "llmmem/Dialect/LlmOps.h"

namespace llmmem {

void emitDeviceCachedAttention(llm::CachedAttentionOp op, KernelEmitter &e);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_DEVICECACHEDATTENTION_H
