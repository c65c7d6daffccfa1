/*===- Gemm.h - Matmuls by a library ---------------------------------------===*\
|*
|* Matmuls are generated code (lib/Codegen/Emitter/Matmuls.h). Where the build found a library of
|* matmuls, steps may call it instead, for the elements for which it is fast.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_RUNTIME_GEMM_H
#define LLMMEM_RUNTIME_GEMM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* C = scale * sum over t < terms of op(A + t * step_a) op(B + t * step_b) + initial, where C has
 * `rows` x `columns` and the sums run over `inner`. Each matrix is row-major, `*_pitch` elements
 * from row to row, and op transposes where `*_transposed` is not 0. `initial` may be null, may be C
 * itself, and repeats one row (a bias) where its pitch is 0. Elements of C and of `initial` have
 * `c_bytes`: 4 for f32, or 2 where the factors and C are bf16. Sums are in f32; where the factors
 * are bf16, C is rounded once, and `terms` and `scale` are 1. Equal operands give equal bits only
 * if their addresses are equal modulo 64, on one machine and for one number of threads. Products of
 * bf16 are not called inside a parallel loop. */
typedef void llmmem_gemm(const void *a, int64_t a_pitch, int64_t a_transposed, const void *b,
                         int64_t b_pitch, int64_t b_transposed, const void *initial,
                         int64_t initial_pitch, void *c, int64_t c_pitch, int64_t c_bytes,
                         int64_t rows, int64_t columns, int64_t inner, int64_t terms,
                         int64_t step_a, int64_t step_b, double scale);

typedef struct {
  const char *name; /* For example "oneDNN". */
  /* These are for factors of f32 and of bf16. The latter is null where this processor has no units
   * for bf16, because generated code is as fast there. */
  llmmem_gemm *f32, *bf16;
} llmmem_gemm_library;

/* Returns the same library for the life of the process, or null where there is none. */
const llmmem_gemm_library *llmmem_find_gemm_library(void);

#ifdef __cplusplus
}
#endif

#endif /* LLMMEM_RUNTIME_GEMM_H */
