/*===- Samples.c - Random numbers by their place ----------------------------===*/

#include "llmmem/Runtime/Samples.h"
#include <math.h>
#include <string.h>

/* This is the finaliser of splitmix64 (Steele, Lea and Flood 2014). */
static uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

uint64_t llmmem_sample_stream(uint64_t seed) { return mix(seed); }

uint64_t llmmem_sample_word(uint64_t stream, uint64_t counter) {
  return mix(stream + (counter + 1) * 0x9E3779B97F4A7C15ull);
}

double llmmem_sample_uniform(uint64_t stream, uint64_t counter) {
  return ((double)(llmmem_sample_word(stream, counter) >> 12) + 0.5) * 0x1p-52;
}

double llmmem_sample_normal(uint64_t stream, uint64_t counter) {
  return llmmem_normal_quantile(llmmem_sample_uniform(stream, counter));
}

/* This is Wichura 1988, algorithm AS 241, PPND7: seven digits, the precision of f32. Six samples in
 * seven lie in the middle and need no logarithm. */
double llmmem_normal_quantile(double p) {
  double q = p - 0.5;
  if (fabs(q) <= 0.425) {
    double r = 0.180625 - q * q;
    return q * (((59.109374720 * r + 159.29113202) * r + 50.434271938) * r + 3.3871327179) /
           (((67.187563600 * r + 78.757757664) * r + 17.895169469) * r + 1.0);
  }
  double r = sqrt(-log(q < 0 ? p : 1.0 - p));
  double tail = 0.0;
  if (r <= 5.0) {
    r -= 1.6;
    tail = (((0.17023821103 * r + 1.3067284816) * r + 2.7568153900) * r + 1.4234372777) /
           ((0.12021132975 * r + 0.73700164250) * r + 1.0);
  } else {
    r -= 5.0;
    tail = (((0.017337203997 * r + 0.42868294337) * r + 3.0812263860) * r + 6.6579051150) /
           ((0.012258202635 * r + 0.24197894225) * r + 1.0);
  }
  return q < 0 ? -tail : tail;
}

uint64_t llmmem_content_hash_from(uint64_t before, const void *bytes, size_t size) {
  const char *at = bytes;
  uint64_t hash = mix(before ^ (uint64_t)size);
  for (; size > 0; at += sizeof(uint64_t)) {
    uint64_t word = 0;
    size_t count = size < sizeof word ? size : sizeof word;
    memcpy(&word, at, count);
    hash = mix(hash ^ word) + 0x9E3779B97F4A7C15ull;
    size -= count;
  }
  return hash;
}

uint64_t llmmem_content_hash(const void *bytes, size_t size) {
  return llmmem_content_hash_from(0, bytes, size);
}
