/*===- RankSums.c - Sums over ranks, in the order of their positions -------===*/

#include "RankSums.h"
#include "llmmem/Runtime/Collectives.h"
#include "llmmem/Runtime/Parallel.h"
#include <string.h>

/* A thread sums this number of elements at once, so that their accumulators stay in the first-level
 * cache. */
enum { kBlock = 2048 };

typedef struct {
  const void *parts;
  int64_t members, count;
  void *sum;
} Sum;

static float from_bf16(uint16_t bits) {
  uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

/* Rounds to nearest, ties to even; a NaN stays one. */
static uint16_t to_bf16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7FFFFFFF) > 0x7F800000)
    return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

static float from_f16(uint16_t bits) {
  const uint32_t sign = (uint32_t)(bits & 0x8000) << 16, rest = (uint32_t)(bits & 0x7FFF) << 13;
  float value;
  memcpy(&value, &rest, sizeof value);
  value *= 0x1p112f; /* The exponents of both types differ by 112. */
  uint32_t wide;
  memcpy(&wide, &value, sizeof wide);
  wide = sign | ((bits & 0x7C00) == 0x7C00 ? rest | 0x7F800000 : wide);
  memcpy(&value, &wide, sizeof value);
  return value;
}

/* Rounds to nearest, ties to even; a NaN stays one. */
static uint16_t to_f16(float value) {
  const uint32_t half = 0x3F000000; /* 0.5f, whose neighbours are a smallest f16 apart. */
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  const uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7FFFFFFF;
  if (size > 0x7F800000)
    return (uint16_t)(sign | 0x7E00);
  if (size >= 0x477FF000) /* 65520 and more round to infinity. */
    return (uint16_t)(sign | 0x7C00);
  if (size >= 0x38800000)
    return (uint16_t)(sign | (size - 0x38000000 + 0xFFF + (size >> 13 & 1)) >> 13);
  float small;
  memcpy(&small, &size, sizeof small);
  small += 0.5F;
  memcpy(&bits, &small, sizeof bits);
  return (uint16_t)(sign | (bits - half));
}

static float as_is_float(float value) { return value; }
static double as_is_double(double value) { return value; }
static uint32_t as_is_i32(uint32_t value) { return value; }

/* One body serves all types: the element, its accumulator and the two conversions differ. */
/* NOLINTBEGIN(bugprone-macro-parentheses): types cannot be in parentheses. */
#define DEFINE_SUM(NAME, ELEMENT, ACCUMULATOR, WIDEN, ROUND)                                       \
  static void NAME(void *context, int64_t first, int64_t last) {                                   \
    const Sum *sum = context;                                                                      \
    for (int64_t block = first; block < last; ++block) {                                           \
      int64_t begin = block * kBlock, left = sum->count - begin;                                   \
      int64_t size = left < kBlock ? left : kBlock;                                                \
      ACCUMULATOR accumulators[kBlock];                                                            \
      const ELEMENT *part = (const ELEMENT *)sum->parts + begin;                                   \
      for (int64_t i = 0; i < size; ++i)                                                           \
        accumulators[i] = WIDEN(part[i]);                                                          \
      for (int64_t member = 1; member < sum->members; ++member) {                                  \
        part += sum->count;                                                                        \
        for (int64_t i = 0; i < size; ++i)                                                         \
          accumulators[i] += WIDEN(part[i]);                                                       \
      }                                                                                            \
      ELEMENT *result = (ELEMENT *)sum->sum + begin;                                               \
      for (int64_t i = 0; i < size; ++i)                                                           \
        result[i] = ROUND(accumulators[i]);                                                        \
    }                                                                                              \
  }
/* NOLINTEND(bugprone-macro-parentheses) */

DEFINE_SUM(sum_f32, float, float, as_is_float, as_is_float)
DEFINE_SUM(sum_f64, double, double, as_is_double, as_is_double)
DEFINE_SUM(sum_bf16, uint16_t, float, from_bf16, to_bf16)
DEFINE_SUM(sum_f16, uint16_t, float, from_f16, to_f16)
DEFINE_SUM(sum_i32, uint32_t, uint32_t, as_is_i32, as_is_i32)

void llmmem_sum_in_order(const void *parts, int64_t members, int64_t count, void *sum,
                         int64_t element) {
  static const llmmem_iterations sums[LLMMEM_ELEMENT_BYTE] = {sum_f32, sum_f64, sum_bf16, sum_i32,
                                                              sum_f16};
  Sum context = {parts, members, count, sum};
  llmmem_parallel_for((count + kBlock - 1) / kBlock, sums[element], &context);
}
