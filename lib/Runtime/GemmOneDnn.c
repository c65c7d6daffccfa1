/*===- GemmOneDnn.c - Matmuls by oneDNN ------------------------------------===*/

#include "GemmOneDnn.h"
#include "ProductParts.h"
#include <oneapi/dnnl/dnnl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const float *a, *b, *initial;
  float *c;
  int64_t a_pitch, b_pitch, initial_pitch, c_pitch;
  int64_t a_transposed, b_transposed;
  int64_t inner, terms, step_a, step_b;
  float scale;
} Product;

void llmmem_gemm_begin(const llmmem_part *part, const void *initial, int64_t initial_pitch, void *c,
                       int64_t c_pitch, int64_t width) {
  if (initial == c)
    return;
  for (int64_t i = part->row; i < part->row + part->rows; ++i)
    memcpy((char *)c + (i * c_pitch + part->column) * width,
           (const char *)initial + (i * initial_pitch + part->column) * width,
           (size_t)(part->columns * width));
}

void llmmem_gemm_fail(int64_t rows, int64_t columns, int64_t inner, int status) {
  fprintf(stderr, "llmmem: oneDNN refuses a product of %lld x %lld x %lld (status %d)\n",
          (long long)rows, (long long)columns, (long long)inner, status);
  exit(1);
}

/* C begins as `initial`, and every product is added to it. */
static void multiply_part(void *context, const llmmem_part *part) {
  const Product *product = context;
  const float *a = product->a + part->row * (product->a_transposed ? 1 : product->a_pitch);
  const float *b = product->b + part->column * (product->b_transposed ? product->b_pitch : 1);
  float *c = product->c + part->row * product->c_pitch + part->column;
  if (product->initial)
    llmmem_gemm_begin(part, product->initial, product->initial_pitch, product->c, product->c_pitch,
                      sizeof(float));
  float beta = product->initial ? 1.0f : 0.0f;
  for (int64_t t = 0; t < product->terms; ++t) {
    dnnl_status_t status = dnnl_sgemm(
        product->a_transposed ? 'T' : 'N', product->b_transposed ? 'T' : 'N', part->rows,
        part->columns, product->inner, product->scale, a + t * product->step_a, product->a_pitch,
        b + t * product->step_b, product->b_pitch, beta, c, product->c_pitch);
    if (status != dnnl_success)
      llmmem_gemm_fail(part->rows, part->columns, product->inner, status);
    beta = 1.0f;
  }
}

static void multiply(const void *a, int64_t a_pitch, int64_t a_transposed, const void *b,
                     int64_t b_pitch, int64_t b_transposed, const void *initial,
                     int64_t initial_pitch, void *c, int64_t c_pitch, int64_t c_bytes, int64_t rows,
                     int64_t columns, int64_t inner, int64_t terms, int64_t step_a, int64_t step_b,
                     double scale) {
  (void)c_bytes; /* It is that of f32. */
  Product product = {.a = a,
                     .b = b,
                     .initial = initial,
                     .c = c,
                     .a_pitch = a_pitch,
                     .b_pitch = b_pitch,
                     .initial_pitch = initial_pitch,
                     .c_pitch = c_pitch,
                     .a_transposed = a_transposed,
                     .b_transposed = b_transposed,
                     .inner = inner,
                     .terms = terms,
                     .step_a = step_a,
                     .step_b = step_b,
                     .scale = (float)scale};
  llmmem_for_product_parts(rows, columns, multiply_part, &product);
}

static llmmem_gemm_library library = {"oneDNN", multiply, NULL};

static void find_units(void) { library.bf16 = llmmem_find_gemm_bf16(); }

const llmmem_gemm_library *llmmem_find_gemm_library(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find_units);
  return &library;
}
