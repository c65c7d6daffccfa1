//===- DeviceCachedAttention.h - Attention to caches on a GPU --------------===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_DEVICECACHEDATTENTION_H
#define LLMMEM_LIB_CODEGEN_GPU_DEVICECACHEDATTENTION_H

#include "Emitter/CachedKeys.h"

namespace llmmem {

/// Emits the kernel of attention to what `make` gives, which is called outside and inside of the
/// launch.
void emitDeviceCachedAttention(KernelEmitter &e, llvm::function_ref<CachedKeys()> make);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_DEVICECACHEDATTENTION_H
