/*===- GemmBF16.c - Matrix products of bf16, summed in f32 -----------------===*/

#include <stdint.h>
#include <string.h>

static inline float widen(uint16_t half) {
  uint32_t bits = (uint32_t)half << 16;
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* To nearest even, as arith-expand does it in the kernels; a NaN stays one. */
static inline uint16_t narrow(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  uint32_t rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
  return x != x ? 0x7FC0 : (uint16_t)rounded;
}

#define ELEMENT uint16_t
#define WIDE float
#define WIDEN(x) widen(x)
#define NARROW(x) narrow(x)
#define NAME llmmem_gemm_bf16
#include "GemmLoops.h"
