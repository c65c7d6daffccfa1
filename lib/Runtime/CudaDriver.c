/*===- CudaDriver.c - The CUDA driver, opened by name -----------------------===*/

#include "CudaDriver.h"
#include <dlfcn.h>
#include <stdio.h>

int llmmem_cuda_driver_open(CudaDriver *driver, const char *library, char *message, size_t size) {
  driver->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!driver->library) {
    snprintf(message, size, "found no CUDA driver: %s; expected NVIDIA's driver to be installed",
             dlerror());
    return 1;
  }
  /* ISO C has no conversion from an object pointer to a function's. */
#define LLMMEM_CUDA_FIND(member, name, parameters)                                                 \
  *(void **)&driver->member = dlsym(driver->library, #name);                                       \
  if (!driver->member) {                                                                           \
    snprintf(message, size,                                                                        \
             "the CUDA driver '%s' has no function %s; expected one for CUDA 12 "                  \
             "or later",                                                                           \
             library, #name);                                                                      \
    llmmem_cuda_driver_close(driver);                                                              \
    return 1;                                                                                      \
  }
  LLMMEM_CUDA_FUNCTIONS(LLMMEM_CUDA_FIND)
#undef LLMMEM_CUDA_FIND
  return 0;
}

void llmmem_cuda_driver_close(CudaDriver *driver) {
  if (driver->library)
    dlclose(driver->library);
  driver->library = NULL;
}
