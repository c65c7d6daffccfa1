/*===- GemmOneDnn.c - Matrix products of f32 by oneDNN ---------------------===*/

#include "ProductParts.h"
#include "llmmem/Runtime/Gemm.h"
#include <oneapi/dnnl/dnnl.h>
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

/* C begins as `initial`, and every product is added to it. */
static float load_initial(const Product *product, const llmmem_part *part) {
  if (!product->initial)
    return 0.0f;
  if (product->initial != product->c)
    for (int64_t i = part->row; i < part->row + part->rows; ++i)
      memcpy(product->c + i * product->c_pitch + part->column,
             product->initial + i * product->initial_pitch + part->column,
             (size_t)part->columns * sizeof(float));
  return 1.0f;
}

static void multiply_part(void *context, const llmmem_part *part) {
  const Product *product = context;
  const float *a = product->a + part->row * (product->a_transposed ? 1 : product->a_pitch);
  const float *b = product->b + part->column * (product->b_transposed ? product->b_pitch : 1);
  float *c = product->c + part->row * product->c_pitch + part->column;
  float beta = load_initial(product, part);
  for (int64_t t = 0; t < product->terms; ++t) {
    dnnl_status_t status = dnnl_sgemm(
        product->a_transposed ? 'T' : 'N', product->b_transposed ? 'T' : 'N', part->rows,
        part->columns, product->inner, product->scale, a + t * product->step_a, product->a_pitch,
        b + t * product->step_b, product->b_pitch, beta, c, product->c_pitch);
    if (status != dnnl_success) {
      /* Compiled code has no way to hand an error up, and going on would be a wrong number. */
      fprintf(stderr, "llmmem: oneDNN refuses a product of %lld x %lld x %lld (status %d)\n",
              (long long)part->rows, (long long)part->columns, (long long)product->inner,
              (int)status);
      exit(1);
    }
    beta = 1.0f;
  }
}

static void multiply(const float *a, int64_t a_pitch, int64_t a_transposed, const float *b,
                     int64_t b_pitch, int64_t b_transposed, const float *initial,
                     int64_t initial_pitch, float *c, int64_t c_pitch, int64_t rows,
                     int64_t columns, int64_t inner, int64_t terms, int64_t step_a, int64_t step_b,
                     double scale) {
  Product product = {a,
                     b,
                     initial,
                     c,
                     a_pitch,
                     b_pitch,
                     initial_pitch,
                     c_pitch,
                     a_transposed,
                     b_transposed,
                     inner,
                     terms,
                     step_a,
                     step_b,
                     (float)scale};
  llmmem_for_product_parts(rows, columns, multiply_part, &product);
}

const llmmem_gemm_library *llmmem_find_gemm_library(void) {
  static const llmmem_gemm_library library = {"oneDNN", multiply};
  return &library;
}
