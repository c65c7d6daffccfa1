/*===- RankSums.h - Sums over ranks, in the order of their positions -------===*/

#ifndef LLMMEM_LIB_RUNTIME_RANKSUMS_H
#define LLMMEM_LIB_RUNTIME_RANKSUMS_H

#include <stdint.h>

/* sum[i] = parts[i] + parts[count + i] + ... of `members` parts, from the first on: f32 and bf16 in
 * f32, f64 in f64, i32 modulo 2^32; rounded once. */
void llmmem_sum_in_order(const void *parts, int64_t members, int64_t count, void *sum,
                         int64_t element);

#endif /* LLMMEM_LIB_RUNTIME_RANKSUMS_H */
