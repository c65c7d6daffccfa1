/*===- Gemm.h - Matmuls by a library ---------------------------------------===*\
|*
|* Matmuls are generated code (lib/Codegen/Emitter/Matmuls.h); where a library of matmuls was found
|* when this was built, steps may call it instead, for the elements that it is fast in.
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
 * itself, and repeats one row (a bias) where its pitch is 0. An element of C and of `initial` has
 * `c_bytes`: 4, of f32, or 2 where the factors are bf16 and C too. Sums are f32's; where the
 * factors are bf16, C is rounded once, and `terms` and `scale` are 1. Equal operands, each at an
 * address that is equal modulo 64, give equal bits on one machine for one number of threads, no
 * more. Products of bf16 are not called inside a parallel loop. */
typedef void llmmem_gemm(const void *a, int64_t a_pitch, int64_t a_transposed, const void *b,
                         int64_t b_pitch, int64_t b_transposed, const void *initial,
                         int64_t initial_pitch, void *c, int64_t c_pitch, int64_t c_bytes,
                         int64_t rows, int64_t columns, int64_t inner, int64_t terms,
                         int64_t step_a, int64_t step_b, double scale);

typedef struct {
  const char *name; /* "oneDNN" */
  /* For factors of f32, and of bf16: null where this processor has no units for those, as generated
   * code is as fast there. */
  llmmem_gemm *f32, *bf16;
} llmmem_gemm_library;

/* The same for the life of the process. Null where there is none. */
const llmmem_gemm_library *llmmem_find_gemm_library(void);

#ifdef __cplusplus
}
#endif

#endif /* LLMMEM_RUNTIME_GEMM_H */
