/*===- Runtime.c - What compiled steps and their drivers call --------------===*/

#define _POSIX_C_SOURCE 199309L /* clock_gettime */
#include "Runtime.h"
#include <string.h>
#include <time.h>

void llmmem_poison(void *bytes, int64_t count) { memset(bytes, 0xFF, (size_t)count); }

int64_t llmmem_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

__bf16 llmmem_truncate_to_bf16(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  uint16_t upper = (uint16_t)(bits >> 16);
  if (x != x)
    upper |= 0x40; /* a NaN stays one */
  else
    upper = (uint16_t)((bits + 0x7fff + (upper & 1)) >> 16);
  __bf16 rounded;
  memcpy(&rounded, &upper, sizeof rounded);
  return rounded;
}
