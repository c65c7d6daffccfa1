/*===- GemmOneDnn.h - What oneDNN's products of f32 and of bf16 share ------===*/

#ifndef LLMMEM_LIB_RUNTIME_GEMMONEDNN_H
#define LLMMEM_LIB_RUNTIME_GEMMONEDNN_H

#include "OneDnn.h"
#include "ProductParts.h"
#include "llmmem/Runtime/Gemm.h"

/* Returns the library, which is open. */
const OneDnn *llmmem_onednn(void);

/* Returns what multiplies factors of bf16; null where this processor has no instructions of its own
 * for it (AVX512_BF16, AMX), or where oneDNN must not use them (ONEDNN_MAX_CPU_ISA). */
llmmem_gemm *llmmem_find_gemm_bf16(void);

/* Copies `initial`, of elements of `width` bytes, to a part of C, to which the product is then
 * added. */
void llmmem_gemm_begin(const llmmem_part *part, const void *initial, int64_t initial_pitch, void *c,
                       int64_t c_pitch, int64_t width);

/* Ends the process with a message: compiled code has no way to return an error, and continuing
 * would give wrong numbers. */
void llmmem_gemm_fail(int64_t rows, int64_t columns, int64_t inner, int status);

#endif /* LLMMEM_LIB_RUNTIME_GEMMONEDNN_H */
