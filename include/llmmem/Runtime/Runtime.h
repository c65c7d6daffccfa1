/*===- Runtime.h - What compiled steps and their drivers call --------------===*/

#ifndef LLMMEM_RUNTIME_RUNTIME_H
#define LLMMEM_RUNTIME_RUNTIME_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Fills dead bytes with the pattern 0xFF, a NaN in every float type, so that a read of them shows.
 * */
void llmmem_fill_dead(void *bytes, int64_t count);

/* Nanoseconds of a clock that only goes forward. */
int64_t llmmem_clock(void);

#ifdef __cplusplus
}
#endif

#endif /* LLMMEM_RUNTIME_RUNTIME_H */
