//===- DeviceAttention.h - Attention by the threads of a GPU ---------------===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_DEVICEATTENTION_H
#define LLMMEM_LIB_CODEGEN_GPU_DEVICEATTENTION_H

#include "llmmem/Codegen/Emitter/KernelEmitter.h"
#include "llmmem/Dialect/LlmOps.h"

namespace llmmem {

void emitDeviceAttention(llm::AttentionOp op, KernelEmitter &e);
void emitDeviceAttention(llm::AttentionGradOp op, KernelEmitter &e);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_DEVICEATTENTION_H
