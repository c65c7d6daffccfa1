/*===- CudaLibraries.h - Where NVIDIA's libraries are -----------------------===*\
|*
|* A machine may have cuBLASLt and NCCL in three places: in folders that LLMMEM_CUDA_PATH names,
|* where dlopen looks, and among the packages of a Python, where PyTorch's wheels put them.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_RUNTIME_CUDALIBRARIES_H
#define LLMMEM_RUNTIME_CUDALIBRARIES_H

#include "llmmem/Runtime/ExternC.h"
#include <stddef.h>

LLMMEM_EXTERN_C_BEGIN

/* Calls `open` with names for dlopen until it returns 0, and returns what the last call did; 1
 * without any. The names come in this order: files of `names` in each folder of LLMMEM_CUDA_PATH
 * (separated by ':'; the folder itself, its lib64 and its lib); the names themselves, which dlopen
 * looks up; and files in the folders `site-packages/nvidia/NAME/lib` (Debian: dist-packages) of the
 * Pythons next to the first python3 on the PATH. Example: "libcublasLt.so.13" in an environment
 * with PyTorch gives "libcublasLt.so.13" and
 * "/home/me/venv/lib/python3.11/site-packages/nvidia/cu13/lib/libcublasLt.so.13". */
int llmmem_find_cuda_library(const char *const *names, size_t count,
                             int (*open)(void *context, const char *name), void *context);

LLMMEM_EXTERN_C_END

#endif /* LLMMEM_RUNTIME_CUDALIBRARIES_H */
