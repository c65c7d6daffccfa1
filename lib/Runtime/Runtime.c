/*===- Runtime.c - What compiled steps and their drivers call --------------===*/

#include "Runtime.h"
#include <string.h>

void llmmem_poison(void *bytes, int64_t count) { memset(bytes, 0xFF, (size_t)count); }

const char *llmmem_gemm_name(void) {
#ifdef LLMMEM_HAVE_ONEDNN
  return "oneDNN";
#else
  return "built-in";
#endif
}
