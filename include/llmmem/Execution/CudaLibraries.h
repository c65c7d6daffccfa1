//===- CudaLibraries.h - Where NVIDIA's libraries are ----------------------===//
//
// A machine may have cuBLASLt and NCCL in three places: in folders that LLMMEM_CUDA_PATH names,
// where dlopen looks, and among the packages of a Python, where PyTorch's wheels put them.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_EXECUTION_CUDALIBRARIES_H
#define LLMMEM_EXECUTION_CUDALIBRARIES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace llmmem {

/// Returns the candidates in this order: files of these names in each folder of LLMMEM_CUDA_PATH
/// (separated by ':'; the folder itself, its lib64 and its lib); the names themselves, which dlopen
/// looks up; and files in `lib/python*/site-packages/nvidia/*/lib` (Debian: dist-packages) next to
/// the first python3 on the PATH. Example: {"libcublasLt.so.13"} in an environment with PyTorch
/// gives "libcublasLt.so.13" and
/// "/home/me/venv/lib/python3.11/site-packages/nvidia/cu13/lib/libcublasLt.so.13".
std::vector<std::string> findCudaLibraries(llvm::ArrayRef<llvm::StringRef> names);

/// Returns the first of those that dlopen opens, or `name` where it opens none.
std::string findCudaLibrary(llvm::StringRef name);

} // namespace llmmem

#endif // LLMMEM_EXECUTION_CUDALIBRARIES_H
