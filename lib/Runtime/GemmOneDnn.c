/*===- GemmOneDnn.c - Matrix products of f32 by oneDNN ---------------------===*/

#include "llmmem/Runtime/Gemm.h"
#include "llmmem/Runtime/Parallel.h"
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const float *from;
  float *to;
  int64_t from_pitch, to_pitch, columns;
} Copy;

static void copy_rows(void *context, int64_t begin, int64_t end) {
  const Copy *copy = context;
  for (int64_t i = begin; i < end; ++i)
    memcpy(copy->to + i * copy->to_pitch, copy->from + i * copy->from_pitch,
           (size_t)copy->columns * sizeof(float));
}

/* C begins as `initial`, and every product is added to it. */
static float load_initial(const float *initial, int64_t initial_pitch, float *c, int64_t c_pitch,
                          int64_t rows, int64_t columns) {
  if (!initial)
    return 0.0f;
  Copy copy = {initial, c, initial_pitch, c_pitch, columns};
  if (initial != c)
    llmmem_parallel_for(rows, copy_rows, &copy);
  return 1.0f;
}

static void multiply(const float *a, int64_t a_pitch, int64_t a_transposed, const float *b,
                     int64_t b_pitch, int64_t b_transposed, const float *initial,
                     int64_t initial_pitch, float *c, int64_t c_pitch, int64_t rows,
                     int64_t columns, int64_t inner, int64_t terms, int64_t step_a, int64_t step_b,
                     double scale) {
  float beta = load_initial(initial, initial_pitch, c, c_pitch, rows, columns);
  for (int64_t t = 0; t < terms; ++t) {
    dnnl_status_t status = dnnl_sgemm(a_transposed ? 'T' : 'N', b_transposed ? 'T' : 'N', rows,
                                      columns, inner, (float)scale, a + t * step_a, a_pitch,
                                      b + t * step_b, b_pitch, beta, c, c_pitch);
    if (status != dnnl_success) {
      /* Compiled code has no way to hand an error up, and going on would be a wrong number. */
      fprintf(stderr, "llmmem: oneDNN refuses a product of %lld x %lld x %lld (status %d)\n",
              (long long)rows, (long long)columns, (long long)inner, (int)status);
      exit(1);
    }
    beta = 1.0f;
  }
}

const llmmem_gemm_library *llmmem_find_gemm_library(void) {
  static const llmmem_gemm_library library = {"oneDNN", multiply};
  return &library;
}
