//===- CudaLibraries.cpp - Where NVIDIA's libraries are --------------------===//

#include "llmmem/Execution/CudaLibraries.h"
#include "llmmem/Runtime/CudaLibraries.h"
#include "llvm/ADT/SmallVector.h"
#include <dlfcn.h>

using namespace llmmem;

std::vector<std::string> llmmem::findCudaLibraries(llvm::ArrayRef<const char *> names) {
  std::vector<std::string> found;
  auto addName = [](void *found, const char *name) {
    static_cast<std::vector<std::string> *>(found)->emplace_back(name);
    return 1; // goes on to the next one
  };
  llmmem_find_cuda_library(names.data(), names.size(), addName, &found);
  return found;
}

std::string llmmem::findCudaLibrary(const char *name) {
  for (const std::string &library : findCudaLibraries(name))
    if (void *opened = dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL)) {
      dlclose(opened);
      return library;
    }
  return name;
}
