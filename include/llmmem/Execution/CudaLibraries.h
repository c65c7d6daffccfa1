//===- CudaLibraries.h - Where NVIDIA's libraries are ----------------------===//

#ifndef LLMMEM_EXECUTION_CUDALIBRARIES_H
#define LLMMEM_EXECUTION_CUDALIBRARIES_H

#include "llvm/ADT/ArrayRef.h"
#include <string>
#include <vector>

namespace llmmem {

/// Returns all candidates for these names, best first (llmmem/Runtime/CudaLibraries.h).
std::vector<std::string> findCudaLibraries(llvm::ArrayRef<const char *> names);

/// Returns the first of those that dlopen opens, or `name` where it opens none.
std::string findCudaLibrary(const char *name);

} // namespace llmmem

#endif // LLMMEM_EXECUTION_CUDALIBRARIES_H
