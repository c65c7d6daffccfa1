/*===- Runtime.c - What compiled steps and their drivers call --------------===*/

#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "Runtime.h"
#include <dlfcn.h>
#include <string.h>

void llmmem_poison(void *bytes, int64_t count) { memset(bytes, 0xFF, (size_t)count); }

const char *llmmem_gemm_name(void) {
#ifdef LLMMEM_HAVE_ONEDNN
  return "oneDNN";
#else
  return "built-in";
#endif
}

/* oneDNN brings its OpenMP library with it, whichever that is: found by name, so as not to bring a
 * second one. */
void llmmem_set_threads(int count) {
  union {
    void *symbol;
    void (*call)(int);
  } set = {dlsym(RTLD_DEFAULT, "omp_set_num_threads")};
  if (set.symbol && count > 0)
    set.call(count);
}
