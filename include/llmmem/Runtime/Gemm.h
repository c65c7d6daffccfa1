/*===- Gemm.h - Matrix products by a library -------------------------------===*\
|*
|* Products are generated code (lib/Codegen/Emitter/Products.h); where a library of products was found
|* when this was built, steps may call it for f32 instead.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_RUNTIME_GEMM_H
#define LLMMEM_RUNTIME_GEMM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* C = scale * sum over t < terms of op(A + t * step_a) op(B + t * step_b) + initial
 *
 * C has `rows` x `columns`, the sums run over `inner`; each matrix is row-major, `*_pitch` elements
 * from row to row, and op transposes where `*_transposed` is not 0. `initial` may be null, may be C
 * itself, and repeats one row (a bias) where its pitch is 0. Equal operands give equal bits on one
 * machine for one number of threads, no more. */
typedef void llmmem_gemm(const float *a, int64_t a_pitch, int64_t a_transposed, const float *b,
                         int64_t b_pitch, int64_t b_transposed, const float *initial,
                         int64_t initial_pitch, float *c, int64_t c_pitch, int64_t rows,
                         int64_t columns, int64_t inner, int64_t terms, int64_t step_a,
                         int64_t step_b, double scale);

typedef struct {
  const char *name; /* "oneDNN" */
  llmmem_gemm *gemm;
} llmmem_gemm_library;

/* Null where there is none. */
const llmmem_gemm_library *llmmem_find_gemm_library(void);

#ifdef __cplusplus
}
#endif

#endif /* LLMMEM_RUNTIME_GEMM_H */
