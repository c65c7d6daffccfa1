/*===- CublasLt.c - cuBLASLt, opened by name --------------------------------===*/

#define _GNU_SOURCE /* RTLD_NODELETE */
#include "CublasLt.h"
#include <dlfcn.h>
#include <stdio.h>

int llmmem_cublaslt_open(CublasLt *lt, const char *library, char *message, size_t size) {
  /* It is never unloaded, because its destructors run when the process ends. */
  lt->library = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!lt->library) {
    snprintf(message, size, "found no cuBLASLt: %s", dlerror());
    return 1;
  }
  /* ISO C has no conversion from an object pointer to a function's. */
#define LLMMEM_CUBLASLT_FIND(result, member, name, parameters)                                     \
  *(void **)&lt->member = dlsym(lt->library, #name);                                               \
  if (!lt->member) {                                                                               \
    snprintf(message, size, "'%s' has no function %s; expected cuBLASLt of CUDA 12 or later",      \
             library, #name);                                                                      \
    llmmem_cublaslt_close(lt);                                                                     \
    return 1;                                                                                      \
  }
  LLMMEM_CUBLASLT_FUNCTIONS(LLMMEM_CUBLASLT_FIND)
#undef LLMMEM_CUBLASLT_FIND
  return 0;
}

void llmmem_cublaslt_close(CublasLt *lt) {
  if (lt->library)
    dlclose(lt->library);
  lt->library = NULL;
}
