/*===- Gemm.h - The matrix products that kernels call ----------------------===*\
|*
|*   C = scale * sum over t < terms of op(A + t * step_a) op(B + t * step_b) + initial
|*
|* C has `rows` x `columns`, the sums run over `inner`; each matrix is row-major, `*_pitch` elements
from row to row,
|* and op transposes where `*_transposed` is not 0. `initial` may be null, may be C itself, and
repeats one row
|* (a bias) where its pitch is 0. Sums are made in f32 (f64 for f64) and rounded once, into C.
|* Equal operands give equal bits at any address, for a given number of threads.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_LIB_RUNTIME_GEMM_H
#define LLMMEM_LIB_RUNTIME_GEMM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void llmmem_gemm_f32(const float *a, int64_t a_pitch, int64_t a_transposed, const float *b,
                     int64_t b_pitch, int64_t b_transposed, const float *initial,
                     int64_t initial_pitch, float *c, int64_t c_pitch, int64_t rows,
                     int64_t columns, int64_t inner, int64_t terms, int64_t step_a, int64_t step_b,
                     double scale);

void llmmem_gemm_f64(const double *a, int64_t a_pitch, int64_t a_transposed, const double *b,
                     int64_t b_pitch, int64_t b_transposed, const double *initial,
                     int64_t initial_pitch, double *c, int64_t c_pitch, int64_t rows,
                     int64_t columns, int64_t inner, int64_t terms, int64_t step_a, int64_t step_b,
                     double scale);

/* bf16 numbers are the upper halves of f32 numbers. */
void llmmem_gemm_bf16(const uint16_t *a, int64_t a_pitch, int64_t a_transposed, const uint16_t *b,
                      int64_t b_pitch, int64_t b_transposed, const uint16_t *initial,
                      int64_t initial_pitch, uint16_t *c, int64_t c_pitch, int64_t rows,
                      int64_t columns, int64_t inner, int64_t terms, int64_t step_a, int64_t step_b,
                      double scale);

#ifdef __cplusplus
}
#endif

#endif /* LLMMEM_LIB_RUNTIME_GEMM_H */
