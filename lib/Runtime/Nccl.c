/*===- Nccl.c - NCCL, opened by name -----------------------------------------===*/

#define _GNU_SOURCE /* RTLD_NODELETE */
#include "Nccl.h"
#include <dlfcn.h>
#include <stdio.h>

int llmmem_nccl_open(Nccl *nccl, const char *library, int *version, char *message, size_t size) {
  *version = 0;
  /* It is never unloaded, because its threads end with the process. */
  nccl->library = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!nccl->library) {
    snprintf(message, size,
             "found no NCCL: %s; install it (Debian: libnccl2, Python: nvidia-nccl-cu13), or name "
             "its file with --nccl",
             dlerror());
    return 1;
  }
  /* The version is asked first, because an older library lacks functions. ISO C has no conversion
   * from an object pointer to a function's. */
  *(void **)&nccl->version = dlsym(nccl->library, "ncclGetVersion");
  if (!nccl->version || nccl->version(version) != NC_SUCCESS || *version < NC_LEAST_VERSION) {
    snprintf(message, size,
             "'%s' is NCCL %d.%d.%d; expected 2.18 or later, which splits communicators", library,
             *version / 10000, *version / 100 % 100, *version % 100);
    return 1;
  }
#define LLMMEM_NCCL_FIND(result, member, name, parameters)                                         \
  *(void **)&nccl->member = dlsym(nccl->library, #name);                                           \
  if (!nccl->member) {                                                                             \
    snprintf(message, size, "'%s' has no function %s; expected NCCL 2.18 or later", library,       \
             #name);                                                                               \
    return 1;                                                                                      \
  }
  LLMMEM_NCCL_FUNCTIONS(LLMMEM_NCCL_FIND)
#undef LLMMEM_NCCL_FIND
  return 0;
}
