/*===- Runtime.c - What compiled steps and their drivers call --------------===*/

#define _POSIX_C_SOURCE 199309L /* clock_gettime */
#include "llmmem/Runtime/Runtime.h"
#include <string.h>
#include <time.h>

void llmmem_fill_dead(void *bytes, int64_t count) { memset(bytes, 0xFF, (size_t)count); }

int64_t llmmem_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
