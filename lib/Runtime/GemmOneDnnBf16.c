/*===- GemmOneDnnBf16.c - Matmuls of bf16 by oneDNN ------------------------===*\
|*
|* A primitive is made for a form (types, sizes, pitches, what is added) and kept, because making
|* one compiles code. Each thread has its own: primitives share scratch memory among those of their
|* thread, and a product is divided among threads (ProductParts.h), not inside a primitive.
|*
\*===----------------------------------------------------------------------===*/

#include "GemmOneDnn.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum Addend { ADD_NOTHING, ADD_BIAS, ADD_TO_C };
enum Matrix { MATRIX_A, MATRIX_B, MATRIX_BIAS, MATRIX_C, MATRICES };

/* It has only integers, so that equal forms are equal bytes. */
typedef struct {
  int64_t rows, columns, inner, a_pitch, a_transposed, b_pitch, b_transposed, c_pitch;
  int64_t c_bytes, addend;
} Form;

typedef struct {
  Form form;
  DnnHandle primitive; /* Null means that the place is free. */
  DnnHandle memories[MATRICES];
} Entry;

/* Steps have some tens of products, and parts at the edges of C have forms of their own. A new one
 * replaces the oldest if all places are taken. */
enum { ENTRIES = 256 };

typedef struct {
  const OneDnn *dnn;
  DnnHandle engine, stream;
  Entry entries[ENTRIES];
  int next;
} Products;

/*===----------------------------------------------------------------------===*/
/* A thread's primitives                                                      */
/*===----------------------------------------------------------------------===*/

static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;

static void clear_entry(const OneDnn *dnn, Entry *entry) {
  for (int k = 0; k < MATRICES; ++k)
    if (entry->memories[k])
      dnn->memory_destroy(entry->memories[k]);
  if (entry->primitive)
    dnn->primitive_destroy(entry->primitive);
  memset(entry, 0, sizeof *entry);
}

static void destroy_products(void *pointer) {
  Products *products = pointer;
  const OneDnn *dnn = products->dnn;
  for (int k = 0; k < ENTRIES; ++k)
    clear_entry(dnn, &products->entries[k]);
  if (products->stream)
    dnn->stream_destroy(products->stream);
  if (products->engine)
    dnn->engine_destroy(products->engine);
  free(products);
}

static void make_key(void) { pthread_key_create(&key, destroy_products); }

/* Returns null where there is no memory for it. */
static Products *products_of_thread(void) {
  pthread_once(&key_once, make_key);
  Products *products = pthread_getspecific(key);
  if (products)
    return products;
  products = calloc(1, sizeof *products);
  if (!products)
    return NULL;
  const OneDnn *dnn = products->dnn = llmmem_onednn();
  if (dnn->engine_create(&products->engine, DNN_CPU, 0) != DNN_SUCCESS ||
      dnn->stream_create(&products->stream, products->engine, DNN_DEFAULT_FLAGS) != DNN_SUCCESS ||
      pthread_setspecific(key, products) != 0) {
    destroy_products(products);
    return NULL;
  }
  return products;
}

/*===----------------------------------------------------------------------===*/
/* One primitive                                                              */
/*===----------------------------------------------------------------------===*/

/* oneDNN 2 writes the description of a matrix into `place`; oneDNN 3 makes one. */
typedef struct {
  int64_t place[DNN_DESCRIPTION_BYTES / sizeof(int64_t)];
  void *made;
  const void *description;
} Matrix;

static int describe(const OneDnn *dnn, Matrix *matrix, int type, int64_t rows, int64_t columns,
                    int64_t pitch, int64_t transposed) {
  DnnSizes sizes = {rows, columns}, strides = {transposed ? 1 : pitch, transposed ? pitch : 1};
  int status = dnn->major == 2 ? dnn->describe_in(matrix->place, 2, sizes, type, strides)
                               : dnn->description_create(&matrix->made, 2, sizes, type, strides);
  matrix->description = dnn->major == 2 ? matrix->place : matrix->made;
  return status;
}

static int describe_all(const OneDnn *dnn, const Form *form, Matrix *matrices) {
  int of_c = form->c_bytes == 4 ? DNN_F32 : DNN_BF16;
  int status = describe(dnn, &matrices[MATRIX_A], DNN_BF16, form->rows, form->inner, form->a_pitch,
                        form->a_transposed);
  if (status == DNN_SUCCESS)
    status = describe(dnn, &matrices[MATRIX_B], DNN_BF16, form->inner, form->columns, form->b_pitch,
                      form->b_transposed);
  if (status == DNN_SUCCESS)
    status = describe(dnn, &matrices[MATRIX_BIAS], of_c, 1, form->columns, form->columns, 0);
  if (status == DNN_SUCCESS)
    status = describe(dnn, &matrices[MATRIX_C], of_c, form->rows, form->columns, form->c_pitch, 0);
  return status;
}

/* The sum that C continues from is added before C is rounded. */
static int make_attributes(const OneDnn *dnn, const Form *form, DnnHandle *attributes) {
  int status = dnn->attributes_create(attributes);
  if (status != DNN_SUCCESS || form->addend != ADD_TO_C)
    return status;
  DnnHandle after;
  status = dnn->post_ops_create(&after);
  if (status != DNN_SUCCESS)
    return status;
  status = dnn->major == 2 ? dnn->append_sum_2(after, 1.0f) : dnn->append_sum_3(after, 1.0f, 0, 0);
  if (status == DNN_SUCCESS)
    status = dnn->attributes_set_post_ops(*attributes, after);
  dnn->post_ops_destroy(after);
  return status;
}

/* Describes the product that is meant, and chooses how to compute it. */
static int make_how(const OneDnn *dnn, const Matrix *matrices, bool has_bias, DnnHandle attributes,
                    DnnHandle engine, DnnHandle *how) {
  const void *a = matrices[MATRIX_A].description, *b = matrices[MATRIX_B].description,
             *bias = has_bias ? matrices[MATRIX_BIAS].description : NULL,
             *c = matrices[MATRIX_C].description;
  if (dnn->major == 3)
    return dnn->matmul_how_create(how, engine, a, b, bias, c, attributes);
  int64_t what[DNN_MATMUL_BYTES / sizeof(int64_t)];
  int status = dnn->describe_matmul(what, a, b, bias, c);
  return status == DNN_SUCCESS ? dnn->how_create(how, what, attributes, engine, NULL) : status;
}

static int make_primitive(const OneDnn *dnn, const Form *form, const Matrix *matrices,
                          DnnHandle engine, DnnHandle *primitive) {
  DnnHandle attributes = NULL, how = NULL;
  int status = make_attributes(dnn, form, &attributes);
  if (status == DNN_SUCCESS)
    status = make_how(dnn, matrices, form->addend == ADD_BIAS, attributes, engine, &how);
  if (status == DNN_SUCCESS)
    status = dnn->primitive_create(primitive, how);
  if (how)
    dnn->how_destroy(how);
  if (attributes)
    dnn->attributes_destroy(attributes);
  return status;
}

static int fill_entry(Products *products, const Form *form, Entry *entry) {
  const OneDnn *dnn = products->dnn;
  Matrix matrices[MATRICES] = {0};
  clear_entry(dnn, entry);
  int status = describe_all(dnn, form, matrices);
  for (int k = 0; k < MATRICES && status == DNN_SUCCESS; ++k)
    status =
        dnn->memory_create(&entry->memories[k], matrices[k].description, products->engine, NULL);
  if (status == DNN_SUCCESS)
    status = make_primitive(dnn, form, matrices, products->engine, &entry->primitive);
  for (int k = 0; k < MATRICES; ++k)
    if (matrices[k].made)
      dnn->description_destroy(matrices[k].made);
  entry->form = *form;
  if (status != DNN_SUCCESS)
    clear_entry(dnn, entry);
  return status;
}

static int find_entry(Products *products, const Form *form, Entry **found) {
  for (int k = 0; k < ENTRIES; ++k) {
    *found = &products->entries[k];
    if ((*found)->primitive && memcmp(&(*found)->form, form, sizeof *form) == 0)
      return DNN_SUCCESS;
  }
  *found = &products->entries[products->next];
  products->next = (products->next + 1) % ENTRIES;
  return fill_entry(products, form, *found);
}

/*===----------------------------------------------------------------------===*/
/* A call                                                                     */
/*===----------------------------------------------------------------------===*/

static int run(Products *products, Entry *entry, void *const *pointers) {
  static const int roles[MATRICES] = {DNN_SOURCE, DNN_WEIGHTS, DNN_BIAS, DNN_DESTINATION};
  const OneDnn *dnn = products->dnn;
  DnnArgument arguments[MATRICES];
  int count = 0;
  for (int k = 0; k < MATRICES; ++k) {
    if (!pointers[k])
      continue;
    int status = dnn->memory_set_data(entry->memories[k], pointers[k]);
    if (status != DNN_SUCCESS)
      return status;
    arguments[count].role = roles[k];
    arguments[count++].memory = entry->memories[k];
  }
  int status = dnn->primitive_execute(entry->primitive, products->stream, count, arguments);
  return status == DNN_SUCCESS ? dnn->stream_wait(products->stream) : status;
}

typedef struct {
  Form form; /* The form of all of C. */
  const char *a, *b, *initial;
  char *c;
  int64_t initial_pitch;
} Product;

/* C is rounded once: a bias is the primitive's, and any other `initial` is in C when the product is
 * added. */
static void multiply_part(void *context, const llmmem_part *part) {
  const Product *product = context;
  const int64_t factor = 2, width = product->form.c_bytes;
  Form form = product->form;
  form.rows = part->rows;
  form.columns = part->columns;
  if (form.addend == ADD_TO_C)
    llmmem_gemm_begin(part, product->initial, product->initial_pitch, product->c, form.c_pitch,
                      width);
  const char *bias = form.addend == ADD_BIAS ? product->initial + part->column * width : NULL;
  void *pointers[MATRICES] = {
      (void *)(product->a + factor * part->row * (form.a_transposed ? 1 : form.a_pitch)),
      (void *)(product->b + factor * part->column * (form.b_transposed ? form.b_pitch : 1)),
      (void *)bias, product->c + width * (part->row * form.c_pitch + part->column)};
  Products *products = products_of_thread();
  Entry *entry = NULL;
  int status = products ? find_entry(products, &form, &entry) : DNN_OUT_OF_MEMORY;
  if (status == DNN_SUCCESS)
    status = run(products, entry, pointers);
  if (status != DNN_SUCCESS)
    llmmem_gemm_fail(form.rows, form.columns, form.inner, status);
}

static void multiply(const llmmem_gemm_form *form, const void *a, const void *b,
                     const void *initial, void *c, double scale) {
  (void)scale;
  bool is_bias = initial && form->initial_pitch == 0 && form->rows > 1;
  Product product = {.form = {.rows = form->rows,
                              .columns = form->columns,
                              .inner = form->inner,
                              .a_pitch = form->a.pitch,
                              .a_transposed = form->a.transposed,
                              .b_pitch = form->b.pitch,
                              .b_transposed = form->b.transposed,
                              .c_pitch = form->c_pitch,
                              .c_bytes = form->c_bytes,
                              .addend = is_bias   ? ADD_BIAS
                                        : initial ? ADD_TO_C
                                                  : ADD_NOTHING},
                     .a = a,
                     .b = b,
                     .initial = initial,
                     .c = c,
                     .initial_pitch = form->initial_pitch};
  llmmem_for_product_parts(form->rows, form->columns, multiply_part, &product);
}

/* The sets of instructions are bits; those of AMX include those of AVX512_BF16. */
llmmem_gemm *llmmem_find_gemm_bf16(void) {
#ifdef __x86_64__
  if ((llmmem_onednn()->effective_isa() & DNN_AVX512_BF16) == DNN_AVX512_BF16)
    return multiply;
#endif
  return NULL;
}
