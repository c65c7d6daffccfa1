//===- HostCopyCalls.h - What copies to and from the host call --*- C++ -*-===//
//
// A step on a CPU calls the functions of Runtime/HostCopies.h. A step on a GPU calls these, on the
// addresses of device and host as i64 (Runtime/Cuda.h); `convert-launches-to-runtime` gives them
// the run, and `emulate-gpu-kernels` puts the emulator's hooks in their place.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_CODEGEN_GPU_HOSTCOPYCALLS_H
#define LLMMEM_CODEGEN_GPU_HOSTCOPYCALLS_H

#include "llvm/ADT/StringRef.h"

namespace llmmem {

/// (to, from, bytes, direction), and (direction) of the wait.
inline constexpr llvm::StringLiteral kDeviceHostCopy = "llmmem_cuda_host_copy",
                                     kDeviceHostCopyStart = "llmmem_cuda_host_copy_start",
                                     kDeviceHostCopyWait = "llmmem_cuda_host_copy_wait";

inline bool isDeviceHostCopy(llvm::StringRef function) {
  return function.starts_with(kDeviceHostCopy);
}

} // namespace llmmem

#endif // LLMMEM_CODEGEN_GPU_HOSTCOPYCALLS_H
