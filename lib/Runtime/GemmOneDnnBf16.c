/*===- GemmOneDnnBf16.c - Matmuls of bf16 by oneDNN ------------------------===*\
|*
|* A primitive is made for a form (types, sizes, pitches, what is added) and kept, because making
|* one compiles code. Each thread has its own: primitives share scratch memory among those of their
|* thread, and a product is divided among threads (ProductParts.h), not inside a primitive.
|*
\*===----------------------------------------------------------------------===*/

#include "GemmOneDnn.h"
#include <oneapi/dnnl/dnnl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* oneDNN 3 makes primitives by other functions. */
#if DNNL_VERSION_MAJOR == 2

enum Addend { ADD_NOTHING, ADD_BIAS, ADD_TO_C };
enum Matrix { MATRIX_A, MATRIX_B, MATRIX_BIAS, MATRIX_C, MATRICES };

/* It has only integers, so that equal forms are equal bytes. */
typedef struct {
  int64_t rows, columns, inner, a_pitch, a_transposed, b_pitch, b_transposed, c_pitch;
  int64_t c_bytes, addend;
} Form;

typedef struct {
  Form form;
  dnnl_primitive_t primitive; /* Null means that the place is free. */
  dnnl_memory_t memories[MATRICES];
} Entry;

/* Steps have some tens of products, and parts at the edges of C have forms of their own. A new one
 * replaces the oldest if all places are taken. */
enum { ENTRIES = 256 };

typedef struct {
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  Entry entries[ENTRIES];
  int next;
} Products;

/*===----------------------------------------------------------------------===*/
/* A thread's primitives                                                      */
/*===----------------------------------------------------------------------===*/

static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;

static void clear_entry(Entry *entry) {
  for (int k = 0; k < MATRICES; ++k)
    if (entry->memories[k])
      dnnl_memory_destroy(entry->memories[k]);
  if (entry->primitive)
    dnnl_primitive_destroy(entry->primitive);
  memset(entry, 0, sizeof *entry);
}

static void destroy_products(void *pointer) {
  Products *products = pointer;
  for (int k = 0; k < ENTRIES; ++k)
    clear_entry(&products->entries[k]);
  if (products->stream)
    dnnl_stream_destroy(products->stream);
  if (products->engine)
    dnnl_engine_destroy(products->engine);
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
  if (!products || dnnl_engine_create(&products->engine, dnnl_cpu, 0) != dnnl_success ||
      dnnl_stream_create(&products->stream, products->engine, dnnl_stream_default_flags) !=
          dnnl_success ||
      pthread_setspecific(key, products) != 0) {
    if (products)
      destroy_products(products);
    return NULL;
  }
  return products;
}

/*===----------------------------------------------------------------------===*/
/* One primitive                                                              */
/*===----------------------------------------------------------------------===*/

static dnnl_status_t describe(dnnl_memory_desc_t *matrix, dnnl_data_type_t type, int64_t rows,
                              int64_t columns, int64_t pitch, int64_t transposed) {
  dnnl_dims_t sizes = {rows, columns}, strides = {transposed ? 1 : pitch, transposed ? pitch : 1};
  return dnnl_memory_desc_init_by_strides(matrix, 2, sizes, type, strides);
}

static dnnl_status_t describe_all(const Form *form, dnnl_memory_desc_t *matrices) {
  dnnl_data_type_t of_c = form->c_bytes == 4 ? dnnl_f32 : dnnl_bf16;
  dnnl_status_t status = describe(&matrices[MATRIX_A], dnnl_bf16, form->rows, form->inner,
                                  form->a_pitch, form->a_transposed);
  if (status == dnnl_success)
    status = describe(&matrices[MATRIX_B], dnnl_bf16, form->inner, form->columns, form->b_pitch,
                      form->b_transposed);
  if (status == dnnl_success)
    status = describe(&matrices[MATRIX_BIAS], of_c, 1, form->columns, form->columns, 0);
  if (status == dnnl_success)
    status = describe(&matrices[MATRIX_C], of_c, form->rows, form->columns, form->c_pitch, 0);
  return status;
}

/* The sum that C continues from is added before C is rounded. */
static dnnl_status_t make_attributes(const Form *form, dnnl_primitive_attr_t *attributes) {
  dnnl_status_t status = dnnl_primitive_attr_create(attributes);
  if (status != dnnl_success || form->addend != ADD_TO_C)
    return status;
  dnnl_post_ops_t after;
  status = dnnl_post_ops_create(&after);
  if (status != dnnl_success)
    return status;
  status = dnnl_post_ops_append_sum(after, 1.0f);
  if (status == dnnl_success)
    status = dnnl_primitive_attr_set_post_ops(*attributes, after);
  dnnl_post_ops_destroy(after);
  return status;
}

static dnnl_status_t make_primitive(const Form *form, const dnnl_memory_desc_t *matrices,
                                    dnnl_engine_t engine, dnnl_primitive_t *primitive) {
  dnnl_matmul_desc_t what;
  dnnl_status_t status = dnnl_matmul_desc_init(
      &what, &matrices[MATRIX_A], &matrices[MATRIX_B],
      form->addend == ADD_BIAS ? &matrices[MATRIX_BIAS] : NULL, &matrices[MATRIX_C]);
  if (status != dnnl_success)
    return status;
  dnnl_primitive_attr_t attributes = NULL;
  dnnl_primitive_desc_t how = NULL;
  status = make_attributes(form, &attributes);
  if (status == dnnl_success)
    status = dnnl_primitive_desc_create(&how, &what, attributes, engine, NULL);
  if (status == dnnl_success)
    status = dnnl_primitive_create(primitive, how);
  if (how)
    dnnl_primitive_desc_destroy(how);
  if (attributes)
    dnnl_primitive_attr_destroy(attributes);
  return status;
}

static dnnl_status_t fill_entry(Products *products, const Form *form, Entry *entry) {
  dnnl_memory_desc_t matrices[MATRICES];
  clear_entry(entry);
  dnnl_status_t status = describe_all(form, matrices);
  for (int k = 0; k < MATRICES && status == dnnl_success; ++k)
    status =
        dnnl_memory_create(&entry->memories[k], &matrices[k], products->engine, DNNL_MEMORY_NONE);
  if (status == dnnl_success)
    status = make_primitive(form, matrices, products->engine, &entry->primitive);
  entry->form = *form;
  if (status != dnnl_success)
    clear_entry(entry);
  return status;
}

static dnnl_status_t find_entry(Products *products, const Form *form, Entry **found) {
  for (int k = 0; k < ENTRIES; ++k) {
    *found = &products->entries[k];
    if ((*found)->primitive && memcmp(&(*found)->form, form, sizeof *form) == 0)
      return dnnl_success;
  }
  *found = &products->entries[products->next];
  products->next = (products->next + 1) % ENTRIES;
  return fill_entry(products, form, *found);
}

/*===----------------------------------------------------------------------===*/
/* A call                                                                     */
/*===----------------------------------------------------------------------===*/

static dnnl_status_t run(Products *products, Entry *entry, void *const *pointers) {
  static const int roles[MATRICES] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DST};
  dnnl_exec_arg_t arguments[MATRICES];
  int count = 0;
  for (int k = 0; k < MATRICES; ++k) {
    if (!pointers[k])
      continue;
    dnnl_status_t status = dnnl_memory_set_data_handle(entry->memories[k], pointers[k]);
    if (status != dnnl_success)
      return status;
    arguments[count].arg = roles[k];
    arguments[count++].memory = entry->memories[k];
  }
  dnnl_status_t status =
      dnnl_primitive_execute(entry->primitive, products->stream, count, arguments);
  return status == dnnl_success ? dnnl_stream_wait(products->stream) : status;
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
  dnnl_status_t status = products ? find_entry(products, &form, &entry) : dnnl_out_of_memory;
  if (status == dnnl_success)
    status = run(products, entry, pointers);
  if (status != dnnl_success)
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
  int needed = dnnl_cpu_isa_avx512_core_bf16;
  if (((int)dnnl_get_effective_cpu_isa() & needed) == needed)
    return multiply;
#endif
  return NULL;
}

#else

llmmem_gemm *llmmem_find_gemm_bf16(void) { return NULL; }

#endif /* DNNL_VERSION_MAJOR */
