/*===- OneDnn.c - oneDNN, opened by name -----------------------------------===*/

#define _GNU_SOURCE /* RTLD_NODELETE */
#include "OneDnn.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int find_functions(OneDnn *dnn, const char *library, char *message, size_t size) {
  /* ISO C has no conversion from an object pointer to a function's. */
#define LLMMEM_ONEDNN_FIND(result, member, name, parameters)                                       \
  *(void **)&dnn->member = dlsym(dnn->library, #name);                                             \
  if (!dnn->member) {                                                                              \
    snprintf(message, size, "'%s' has no function %s; expected oneDNN 2 or 3", library, #name);    \
    return 1;                                                                                      \
  }
  LLMMEM_ONEDNN_FUNCTIONS(LLMMEM_ONEDNN_FIND)
  dnn->major = dnn->version()->major;
  if (dnn->major == 2) {
    LLMMEM_ONEDNN_2_FUNCTIONS(LLMMEM_ONEDNN_FIND)
    return 0;
  }
  if (dnn->major == 3) {
    LLMMEM_ONEDNN_3_FUNCTIONS(LLMMEM_ONEDNN_FIND)
    return 0;
  }
#undef LLMMEM_ONEDNN_FIND
  snprintf(message, size, "'%s' is oneDNN %d; expected version 2 or 3", library, dnn->major);
  return 1;
}

/* It is never unloaded, because its threads outlive a call. */
static int open_library(OneDnn *dnn, const char *library, char *message, size_t size) {
  memset(dnn, 0, sizeof *dnn);
  dnn->library = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!dnn->library) {
    snprintf(message, size, "%s", dlerror());
    return 1;
  }
  return find_functions(dnn, library, message, size);
}

int llmmem_onednn_open(OneDnn *dnn, char *message, size_t size) {
  const char *library = getenv("LLMMEM_ONEDNN");
  if (library && *library) {
    int written = snprintf(message, size, "LLMMEM_ONEDNN: ");
    return open_library(dnn, library, message + written, size - (size_t)written);
  }
  if (open_library(dnn, "libdnnl.so.3", message, size) == 0 ||
      open_library(dnn, "libdnnl.so.2", message, size) == 0)
    return 0;
  snprintf(message, size,
           "found no oneDNN (libdnnl.so.3 or libdnnl.so.2; LLMMEM_ONEDNN may name its file)");
  return 1;
}
