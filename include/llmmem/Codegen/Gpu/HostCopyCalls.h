//===- HostCopyCalls.h - What copies, and updates on the host, call -*- C++ -*-===//
//
// A step on a CPU calls the functions of Runtime/HostCopies.h. A step on a GPU calls these, on the
// addresses of device and host as i64 (Runtime/Cuda.h); `convert-launches-to-runtime` gives them
// the run, and `emulate-gpu-kernels` puts the emulator's hooks in their place.
//
// An update on the host is a call of its kernel for CPUs until then, with `llm.on_host`, and with
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

/// (to, from, bytes, direction), and (direction) of the wait.
inline constexpr llvm::StringLiteral kDeviceHostCopy = "llmmem_cuda_host_copy",
                                     kDeviceHostCopyStart = "llmmem_cuda_host_copy_start",
                                     kDeviceHostCopyWait = "llmmem_cuda_host_copy_wait";

/// (function, words, count), and () of the wait.
inline constexpr llvm::StringLiteral kDeviceUpdate = "llmmem_cuda_update",
                                     kDeviceUpdateStart = "llmmem_cuda_update_start",
                                     kDeviceUpdateWait = "llmmem_cuda_update_wait";

inline bool isDeviceHostCopy(llvm::StringRef function) {
  return function.starts_with(kDeviceHostCopy);
}

/// Of a call in a step for a GPU: whether it is an update on the host.
inline bool isHostUpdate(mlir::Operation *call) { return call->hasAttr(llm::LlmDialect::kOnHost); }

} // namespace llmmem

#endif // LLMMEM_CODEGEN_GPU_HOSTCOPYCALLS_H
