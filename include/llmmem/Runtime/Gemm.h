/*===- Gemm.h - Matmuls by a library ---------------------------------------===*\
|*
|* Matmuls are generated code (lib/Codegen/Emitter/Matmuls.h). Where the machine has a library of
|* matmuls (oneDNN 2 or 3), steps may call it instead, for the elements for which it is fast.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_RUNTIME_GEMM_H
#define LLMMEM_RUNTIME_GEMM_H

#include "llmmem/Runtime/ExternC.h"
#include <stdint.h>

LLMMEM_EXTERN_C_BEGIN

/* A factor is read at t * step elements after its address in term t, in rows `pitch` elements
 * apart. It is transposed where `transposed` is not 0. */
typedef struct {
  int64_t pitch, transposed, step;
} llmmem_gemm_factor;

/* Describes what is the same in every run of a product. These are words alone, so that compiled
 * code has them as a constant. C has `rows` x `columns`, and the sums run over `inner` and over
 * `terms` products. Elements of C and of `initial` have `c_bytes`: 4 for f32, or 2 where the
 * factors and C are bf16. */
typedef struct {
  llmmem_gemm_factor a, b;
  int64_t initial_pitch, c_pitch, c_bytes;
  int64_t rows, columns, inner, terms;
} llmmem_gemm_form;

/* C = scale * sum over t < terms of op(A + t * a.step) op(B + t * b.step) + initial
 *
 * Each matrix is row-major. `initial` may be null, may be C itself, and repeats one row (a bias)
 * where its pitch is 0. Sums are in f32; where the factors are bf16, C is rounded once, and `terms`
 * and `scale` are 1. Equal operands give equal bits only if their addresses are equal modulo 64, on
 * one machine and for one number of threads. Products of bf16 are not called inside a parallel
 * loop. */
typedef void llmmem_gemm(const llmmem_gemm_form *form, const void *a, const void *b,
                         const void *initial, void *c, double scale);

typedef struct {
  const char *name; /* For example "oneDNN". */
  /* These are for factors of f32 and of bf16. The latter is null where this processor has no units
   * for bf16, because generated code is as fast there. */
  llmmem_gemm *f32, *bf16;
} llmmem_gemm_library;

/* Opens a library at the first call: the file that the environment's LLMMEM_ONEDNN names, or else
 * libdnnl (lib/Runtime/OneDnn.h says where it is looked for). Returns the same one for the life of
 * the process, or null where there is none. */
const llmmem_gemm_library *llmmem_find_gemm_library(void);

/* Says why there is none, for a message; null where there is one. */
const char *llmmem_why_no_gemm_library(void);

LLMMEM_EXTERN_C_END

#endif /* LLMMEM_RUNTIME_GEMM_H */
