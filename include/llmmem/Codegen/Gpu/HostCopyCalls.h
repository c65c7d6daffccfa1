//===- HostCopyCalls.h - What copies, and updates on the host, call -*- C++ -*-===//
//
// A step on a CPU calls the functions of Runtime/HostCopies.h. A step on a GPU calls these, on the
// addresses of device and host as i64 (Runtime/Cuda.h). `convert-launches-to-runtime` adds the run
// to them, and `emulate-gpu-kernels` replaces them by the emulator's hooks.
//
// Until then an update on the host is a call of its kernel for CPUs, with `llm.on_host`, and with
// `llm.started` where it is started:
//
//   call @kernel_3_adamw(%p, %g, ...) {llm.on_host, llm.started, llm.values = ..., llm.writes =
//   ...}
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_CODEGEN_GPU_HOSTCOPYCALLS_H
#define LLMMEM_CODEGEN_GPU_HOSTCOPYCALLS_H

#include "llmmem/Dialect/LlmDialect.h"

namespace llmmem {

/// Take (to, from, bytes, direction), and the wait takes (direction).
inline constexpr llvm::StringLiteral kDeviceHostCopy = "llmmem_cuda_host_copy",
                                     kDeviceHostCopyStart = "llmmem_cuda_host_copy_start",
                                     kDeviceHostCopyWait = "llmmem_cuda_host_copy_wait";

/// Take (function, words, count), and the wait takes ().
inline constexpr llvm::StringLiteral kDeviceUpdate = "llmmem_cuda_update",
                                     kDeviceUpdateStart = "llmmem_cuda_update_start",
                                     kDeviceUpdateWait = "llmmem_cuda_update_wait";

inline bool isDeviceHostCopy(llvm::StringRef function) {
  return function.starts_with(kDeviceHostCopy);
}

/// Returns, for a call in a step for a GPU, whether it is an update on the host.
inline bool isHostUpdate(mlir::Operation *call) { return call->hasAttr(llm::LlmDialect::kOnHost); }

} // namespace llmmem

#endif // LLMMEM_CODEGEN_GPU_HOSTCOPYCALLS_H
