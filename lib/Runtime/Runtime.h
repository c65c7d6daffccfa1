/*===- Runtime.h - What compiled steps and their drivers call --------------===*/

#ifndef LLMMEM_LIB_RUNTIME_RUNTIME_H
#define LLMMEM_LIB_RUNTIME_RUNTIME_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Fills dead bytes with 0xFF: a NaN in every float type, so that who reads them shows. */
void llmmem_poison(void *bytes, int64_t count);

/* What LLVM calls __truncsfbf2 and expects where a processor has no bf16 of its own: there it
 * carries bf16 between blocks of code as f32. To nearest even. */
__bf16 llmmem_truncate_to_bf16(float x);

/* Nanoseconds of a clock that only goes forward. */
int64_t llmmem_clock(void);

#ifdef __cplusplus
}
#endif

#endif /* LLMMEM_LIB_RUNTIME_RUNTIME_H */
