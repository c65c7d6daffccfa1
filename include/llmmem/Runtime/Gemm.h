/*===- Gemm.h - Matmuls by a library ---------------------------------------===*\
|*
|* Matmuls are generated code (lib/Codegen/Emitter/Matmuls.h); where a library of matmuls was found
|* when this was built, steps may call it instead, for the types that it is fast in.
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
 * itself, and repeats one row (a bias) where its pitch is 0. A call has one of the types below. It
 * sums in f32; where the factors are bf16 it rounds C once, and `terms` and `scale` are 1. Equal
 * operands, each at an address that is equal modulo 64, give equal bits on one machine for one
 * number of threads, no more. Products of bf16 are not called inside a parallel loop. */
typedef void llmmem_gemm(const void *a, int64_t a_pitch, int64_t a_transposed, const void *b,
                         int64_t b_pitch, int64_t b_transposed, const void *initial,
                         int64_t initial_pitch, void *c, int64_t c_pitch, int64_t rows,
                         int64_t columns, int64_t inner, int64_t terms, int64_t step_a,
                         int64_t step_b, double scale);

/* Elements of the factors, and of C and `initial` where those are others. */
typedef enum {
  LLMMEM_GEMM_F32,
  LLMMEM_GEMM_BF16,
  LLMMEM_GEMM_BF16_TO_F32,
  LLMMEM_GEMM_TYPES
} llmmem_gemm_types;

typedef struct {
  const char *name; /* "oneDNN" */
  /* Null for types that this processor has no units for: generated code is as fast there. Those of
   * bf16 are both there or both null. */
  llmmem_gemm *gemm[LLMMEM_GEMM_TYPES];
} llmmem_gemm_library;

/* The same for the life of the process. Null where there is none. */
const llmmem_gemm_library *llmmem_find_gemm_library(void);

#ifdef __cplusplus
}
#endif

#endif /* LLMMEM_RUNTIME_GEMM_H */
