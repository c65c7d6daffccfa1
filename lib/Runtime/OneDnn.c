/*===- OneDnn.c - oneDNN, opened by name -----------------------------------===*/

#define _GNU_SOURCE /* RTLD_NODELETE */
#include "OneDnn.h"
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static const char *const names[] = {"libdnnl.so.3", "libdnnl.so.2"};
enum { NAMES = sizeof names / sizeof *names };

/* The program of a wheel is in PREFIX/lib/python3.N/site-packages/llmmem/bin. Pip puts oneDNN into
 * PREFIX/lib (the package onednn-cpu-gomp). */
static int open_of_environment(OneDnn *dnn, char *message, size_t size) {
  static const char inside[] = "/site-packages/llmmem/bin/";
  char program[PATH_MAX], path[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  program[length > 0 ? length : 0] = '\0';
  char *end = strstr(program, inside);
  if (!end)
    return 1;
  *end = '\0';
  for (int k = 0; k < NAMES; ++k)
    if (snprintf(path, sizeof path, "%s/../%s", program, names[k]) < (int)sizeof path &&
        access(path, F_OK) == 0 && open_library(dnn, path, message, size) == 0)
      return 0;
  return 1;
}

int llmmem_onednn_open(OneDnn *dnn, char *message, size_t size) {
  const char *library = getenv("LLMMEM_ONEDNN");
  if (library && *library) {
    int written = snprintf(message, size, "LLMMEM_ONEDNN: ");
    return open_library(dnn, library, message + written, size - (size_t)written);
  }
  if (open_of_environment(dnn, message, size) == 0)
    return 0;
  for (int k = 0; k < NAMES; ++k)
    if (open_library(dnn, names[k], message, size) == 0)
      return 0;
  snprintf(message, size, "found no oneDNN (%s or %s; LLMMEM_ONEDNN may name its file)", names[0],
           names[1]);
  return 1;
}
