/*===- Runtime.h - What compiled steps and their drivers call --------------===*/

#ifndef LLMMEM_RUNTIME_RUNTIME_H
#define LLMMEM_RUNTIME_RUNTIME_H

#include "llmmem/Runtime/ExternC.h"
#include <stdint.h>

LLMMEM_EXTERN_C_BEGIN

/* Fills dead bytes with the pattern 0xFF, which is a NaN in every float type, so that a read of
 * them shows. */
void llmmem_fill_dead(void *bytes, int64_t count);

/* Copies `rows` rows of `bytes` bytes, whose beginnings lie `from_stride` and `to_stride` bytes
 * apart. Uses all threads of the caller for many rows. Source and destination rows do not overlap.
 * */
void llmmem_copy_rows(const void *from, int64_t from_stride, void *to, int64_t to_stride,
                      int64_t rows, int64_t bytes);

/* Returns the nanoseconds of a monotonic clock. */
int64_t llmmem_clock(void);

LLMMEM_EXTERN_C_END

#endif /* LLMMEM_RUNTIME_RUNTIME_H */
