/*===- GemmOneDnn.c - Matmuls by oneDNN ------------------------------------===*/

#include "GemmOneDnn.h"
#include "ProductParts.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static OneDnn dnn;
static llmmem_gemm_library library = {.name = "oneDNN"};
static char why_none[512];
static pthread_once_t once = PTHREAD_ONCE_INIT;

const OneDnn *llmmem_onednn(void) { return &dnn; }

typedef struct {
  const llmmem_gemm_form *form;
  const float *a, *b, *initial;
  float *c;
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
  const llmmem_gemm_form *form = product->form;
  const float *a = product->a + part->row * (form->a.transposed ? 1 : form->a.pitch);
  const float *b = product->b + part->column * (form->b.transposed ? form->b.pitch : 1);
  float *c = product->c + part->row * form->c_pitch + part->column;
  if (product->initial)
    llmmem_gemm_begin(part, product->initial, form->initial_pitch, product->c, form->c_pitch,
                      sizeof(float));
  float beta = product->initial ? 1.0f : 0.0f;
  for (int64_t t = 0; t < form->terms; ++t) {
    int status =
        dnn.sgemm(form->a.transposed ? 'T' : 'N', form->b.transposed ? 'T' : 'N', part->rows,
                  part->columns, form->inner, product->scale, a + t * form->a.step, form->a.pitch,
                  b + t * form->b.step, form->b.pitch, beta, c, form->c_pitch);
    if (status != DNN_SUCCESS)
      llmmem_gemm_fail(part->rows, part->columns, form->inner, status);
    beta = 1.0f;
  }
}

static void multiply(const llmmem_gemm_form *form, const void *a, const void *b,
                     const void *initial, void *c, double scale) {
  Product product = {
      .form = form, .a = a, .b = b, .initial = initial, .c = c, .scale = (float)scale};
  llmmem_for_product_parts(form->rows, form->columns, multiply_part, &product);
}

static void find_library(void) {
  if (llmmem_onednn_open(&dnn, why_none, sizeof why_none) != 0)
    return;
  why_none[0] = '\0';
  llmmem_use_openmp_of(dnn.library);
  library.f32 = multiply;
  library.bf16 = llmmem_find_gemm_bf16();
}

const llmmem_gemm_library *llmmem_find_gemm_library(void) {
  pthread_once(&once, find_library);
  return library.f32 ? &library : NULL;
}

const char *llmmem_why_no_gemm_library(void) {
  return llmmem_find_gemm_library() ? NULL : why_none;
}
