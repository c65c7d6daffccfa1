/*===- CudaProducts.c - Matmuls of a GPU by cuBLASLt ----------------------===*/

#include "llmmem/Runtime/CudaProducts.h"
#include "CublasLt.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ANSWERS = 16 /* Answers of the heuristic to one question. */ };

struct llmmem_products {
  CublasLt lt;
  LtHandle handle;
  llmmem_product_algorithm *table;
  size_t count;
  char message[2048];
};

/*===----------------------------------------------------------------------===*\
|* Failures
\*===----------------------------------------------------------------------===*/

const char *llmmem_products_message(const llmmem_products *products) { return products->message; }

static const char *name_of_type(int64_t type) {
  return type == LLMMEM_PRODUCT_BF16 ? "bf16" : "f32";
}

static const char *name_of_epilogue(int64_t epilogue) {
  static const char *const names[] = {"",
                                      ", bias",
                                      ", gelu of bias",
                                      ", gelu of bias and aux",
                                      ", gelu gradient",
                                      ", gelu gradient and sum",
                                      ", sum of b",
                                      ", sum of a"};
  return epilogue >= 0 && epilogue < LLMMEM_EPILOGUES ? names[epilogue] : ", unknown epilogue";
}

/* Reports, for example, "multiplying 128 x 64 bf16 by 64 x 96 bf16 to f32, bias, with 4096 bytes of
 * workspace: ...". */
static int fail(llmmem_products *products, const llmmem_product_form *form, const char *format,
                ...) {
  char why[1024], batch[64] = "";
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(why, sizeof why, format, arguments);
  va_end(arguments);
  if (form->batch > 1)
    snprintf(batch, sizeof batch, "%lld times ", (long long)form->batch);
  snprintf(products->message, sizeof products->message,
           "multiplying %s%lld x %lld %s by %lld x %lld %s to %s%s, with %lld bytes of workspace: "
           "%s",
           batch, (long long)form->rows, (long long)form->inner, name_of_type(form->a.type),
           (long long)form->inner, (long long)form->columns, name_of_type(form->b.type),
           name_of_type(form->c.type), name_of_epilogue(form->epilogue),
           (long long)form->workspace_bytes, why);
  return 1;
}

static int check(llmmem_products *products, const llmmem_product_form *form, int status,
                 const char *what) {
  if (status == LT_SUCCESS)
    return 0;
  return fail(products, form, "%s failed: %s (status %d)", what, products->lt.status_string(status),
              status);
}

/*===----------------------------------------------------------------------===*\
|* Opening
\*===----------------------------------------------------------------------===*/

llmmem_products *llmmem_products_open(const char *library, char *message, size_t size) {
  llmmem_products *products = calloc(1, sizeof *products);
  if (!products) {
    snprintf(message, size, "not enough memory to open cuBLASLt");
    return NULL;
  }
  if (llmmem_cublaslt_open(&products->lt, library, message, size)) {
    free(products);
    return NULL;
  }
  int status = products->lt.create(&products->handle);
  if (status != LT_SUCCESS) {
    snprintf(message, size, "cuBLASLt ('%s') does not start: %s (status %d)", library,
             products->lt.status_string(status), status);
    products->handle = NULL;
    llmmem_products_close(products);
    return NULL;
  }
  return products;
}

void llmmem_products_close(llmmem_products *products) {
  if (!products)
    return;
  if (products->handle)
    products->lt.destroy(products->handle);
  llmmem_cublaslt_close(&products->lt);
  free(products->table);
  free(products);
}

int64_t llmmem_products_version(const llmmem_products *products) {
  return (int64_t)products->lt.version();
}

/*===----------------------------------------------------------------------===*\
|* Descriptors
\*===----------------------------------------------------------------------===*/

/* In cuBLASLt's column-major terms, its A is our B. */
typedef struct {
  LtOperation operation;
  LtLayout a, b, c, d;
} Descriptors;

static void close_descriptors(llmmem_products *products, Descriptors *descriptors) {
  LtLayout layouts[] = {descriptors->a, descriptors->b, descriptors->c, descriptors->d};
  for (size_t k = 0; k < 4; ++k)
    if (layouts[k])
      products->lt.layout_destroy(layouts[k]);
  if (descriptors->operation)
    products->lt.operation_destroy(descriptors->operation);
}

static int type_of(int64_t type) {
  return type == LLMMEM_PRODUCT_BF16 ? LT_TYPE_BF16 : LT_TYPE_F32;
}

static int set_operation(llmmem_products *products, LtOperation operation,
                         const llmmem_product *product) {
  static const uint32_t epilogues[LLMMEM_EPILOGUES] = {
      LT_EPILOGUE_DEFAULT,       LT_EPILOGUE_BIAS,  LT_EPILOGUE_GELU_BIAS,
      LT_EPILOGUE_GELU_AUX_BIAS, LT_EPILOGUE_DGELU, LT_EPILOGUE_DGELU_BGRAD,
      LT_EPILOGUE_BGRADA,        LT_EPILOGUE_BGRADB}; /* Its A is our B. */
  const llmmem_product_form *form = &product->form;
  CublasLt *lt = &products->lt;
  int32_t of_a = form->b.transposed ? LT_OP_T : LT_OP_N,
          of_b = form->a.transposed ? LT_OP_T : LT_OP_N;
  uint32_t epilogue = epilogues[form->epilogue];
  int status = lt->operation_set(operation, LT_DESC_TRANSA, &of_a, sizeof of_a);
  if (status == LT_SUCCESS)
    status = lt->operation_set(operation, LT_DESC_TRANSB, &of_b, sizeof of_b);
  if (status == LT_SUCCESS)
    status = lt->operation_set(operation, LT_DESC_EPILOGUE, &epilogue, sizeof epilogue);
  if (status == LT_SUCCESS && product->bias)
    status = lt->operation_set(operation, LT_DESC_BIAS_POINTER, &product->bias, sizeof(void *));
  if (status == LT_SUCCESS && product->aux) {
    status = lt->operation_set(operation, LT_DESC_AUX_POINTER, &product->aux, sizeof(void *));
    if (status == LT_SUCCESS)
      status = lt->operation_set(operation, LT_DESC_AUX_LD, &form->aux_pitch, sizeof(int64_t));
  }
  return check(products, form, status, "describing the matmul");
}

/* A row-major matrix of `rows` x `columns` is a column-major one of `columns` x `rows`, whose
 * columns begin a pitch apart. */
static int open_layout(llmmem_products *products, const llmmem_product_form *form,
                       const llmmem_matrix_form *matrix, int64_t rows, int64_t columns,
                       LtLayout *layout) {
  CublasLt *lt = &products->lt;
  int64_t down = matrix->transposed ? rows : columns, across = matrix->transposed ? columns : rows;
  int status = lt->layout_create(layout, type_of(matrix->type), (uint64_t)down, (uint64_t)across,
                                 matrix->pitch);
  if (status != LT_SUCCESS)
    *layout = NULL;
  if (status == LT_SUCCESS && form->batch > 1) {
    int32_t count = (int32_t)form->batch;
    status = lt->layout_set(*layout, LT_LAYOUT_BATCH_COUNT, &count, sizeof count);
    if (status == LT_SUCCESS)
      status = lt->layout_set(*layout, LT_LAYOUT_BATCH_STRIDE, &matrix->stride, sizeof(int64_t));
  }
  return check(products, form, status, "describing a matrix");
}

static const llmmem_matrix_form *initial_of(const llmmem_product_form *form) {
  return form->initial.pitch ? &form->initial : &form->c;
}

static int open_descriptors(llmmem_products *products, const llmmem_product *product,
                            Descriptors *descriptors) {
  const llmmem_product_form *form = &product->form;
  memset(descriptors, 0, sizeof *descriptors);
  int status = products->lt.operation_create(&descriptors->operation, LT_COMPUTE_F32, LT_TYPE_F32);
  if (status != LT_SUCCESS)
    descriptors->operation = NULL;
  if (!check(products, form, status, "describing the matmul") &&
      !set_operation(products, descriptors->operation, product) &&
      !open_layout(products, form, &form->b, form->inner, form->columns, &descriptors->a) &&
      !open_layout(products, form, &form->a, form->rows, form->inner, &descriptors->b) &&
      !open_layout(products, form, initial_of(form), form->rows, form->columns, &descriptors->c) &&
      !open_layout(products, form, &form->c, form->rows, form->columns, &descriptors->d))
    return 0;
  close_descriptors(products, descriptors);
  return 1;
}

/*===----------------------------------------------------------------------===*\
|* Algorithms
\*===----------------------------------------------------------------------===*/

size_t llmmem_products_count(const llmmem_products *products) { return products->count; }

const llmmem_product_algorithm *llmmem_products_algorithm(const llmmem_products *products,
                                                          size_t number) {
  return &products->table[number];
}

const llmmem_product_algorithm *llmmem_products_find(const llmmem_products *products,
                                                     const llmmem_product_form *form) {
  for (size_t k = 0; k < products->count; ++k)
    if (memcmp(&products->table[k].form, form, sizeof *form) == 0)
      return &products->table[k];
  return NULL;
}

static llmmem_product_algorithm *find(llmmem_products *products, const llmmem_product_form *form) {
  return (llmmem_product_algorithm *)llmmem_products_find(products, form);
}

static llmmem_product_algorithm *add(llmmem_products *products, const llmmem_product_form *form) {
  llmmem_product_algorithm *larger =
      realloc(products->table, (products->count + 1) * sizeof *larger);
  if (!larger) {
    fail(products, form, "not enough memory on the host");
    return NULL;
  }
  products->table = larger;
  llmmem_product_algorithm *entry = &larger[products->count++];
  memset(entry, 0, sizeof *entry);
  entry->form = *form;
  return entry;
}

int llmmem_products_give(llmmem_products *products, const llmmem_product_algorithm *algorithm) {
  llmmem_product_algorithm *entry = find(products, &algorithm->form);
  if (!entry)
    entry = add(products, &algorithm->form);
  if (!entry)
    return 1;
  *entry = *algorithm;
  entry->may_split = 1;
  entry->is_checked = 0;
  return 0;
}

/* `schemes` is a mask of the reduction schemes that an algorithm may have. */
static int set_preferences(llmmem_products *products, const llmmem_product_form *form,
                           LtPreference preference, uint32_t schemes) {
  CublasLt *lt = &products->lt;
  uint64_t workspace = (uint64_t)form->workspace_bytes;
  const struct {
    int attribute;
    uint32_t bytes;
  } alignments[] = {{LT_PREF_ALIGNMENT_A, (uint32_t)form->b.alignment},
                    {LT_PREF_ALIGNMENT_B, (uint32_t)form->a.alignment},
                    {LT_PREF_ALIGNMENT_C, (uint32_t)initial_of(form)->alignment},
                    {LT_PREF_ALIGNMENT_D, (uint32_t)form->c.alignment}};
  int status =
      lt->preference_set(preference, LT_PREF_WORKSPACE_BYTES, &workspace, sizeof workspace);
  if (status == LT_SUCCESS)
    status = lt->preference_set(preference, LT_PREF_REDUCTION_MASK, &schemes, sizeof schemes);
  for (size_t k = 0; k < 4 && status == LT_SUCCESS; ++k)
    status = lt->preference_set(preference, alignments[k].attribute, &alignments[k].bytes,
                                sizeof alignments[k].bytes);
  return check(products, form, status, "saying what an algorithm may use");
}

enum { NO_ALGORITHM = 2 };

/* Adds advice where nothing else computes the matmul. */
static int advise(llmmem_products *products, const llmmem_product_form *form) {
  size_t used = strlen(products->message);
  snprintf(products->message + used, sizeof products->message - used, "; %s",
           form->epilogue > LLMMEM_EPILOGUE_BIAS
               ? "plan with --epilogues=separate, or run with --products=generated"
               : "--products=generated multiplies by kernels of llmmem");
  return 1;
}

/* Gets from the library's heuristic its first `most` algorithms for the form. `*found` receives
 * their number, at least one. Returns NO_ALGORITHM where it has none. */
static int ask(llmmem_products *products, const llmmem_product_form *form,
               const Descriptors *descriptors, uint32_t schemes, int most, LtHeuristic *answers,
               int *found) {
  LtPreference preference = NULL;
  *found = 0;
  if (check(products, form, products->lt.preference_create(&preference), "asking for an algorithm"))
    return 1;
  int failed = set_preferences(products, form, preference, schemes);
  if (!failed) {
    int status = products->lt.heuristic(products->handle, descriptors->operation, descriptors->a,
                                        descriptors->b, descriptors->c, descriptors->d, preference,
                                        most, answers, found);
    if (status == LT_NOT_SUPPORTED || (status == LT_SUCCESS && *found == 0)) {
      fail(products, form, "there is no algorithm for it");
      failed = NO_ALGORITHM;
    } else
      failed = check(products, form, status, "asking for an algorithm") ||
               check(products, form, answers->state, "asking for an algorithm");
  }
  products->lt.preference_destroy(preference);
  return failed;
}

/* Refuses algorithms of another library, device or form, and those that add partial sums in no
 * fixed order. */
static int verify(llmmem_products *products, llmmem_product_algorithm *entry,
                  const Descriptors *descriptors) {
  LtHeuristic result;
  LtAlgorithm algorithm;
  memset(&result, 0, sizeof result);
  memcpy(&algorithm, entry->data, sizeof algorithm);
  int status = products->lt.algorithm_check(products->handle, descriptors->operation,
                                            descriptors->a, descriptors->b, descriptors->c,
                                            descriptors->d, &algorithm, &result);
  if (status == LT_SUCCESS)
    status = result.state;
  if (status != LT_SUCCESS)
    return fail(products, &entry->form, "its algorithm does not run here: %s (status %d)%s",
                products->lt.status_string(status), status,
                entry->is_given ? "; delete the file of algorithms" : "");
  if (result.workspace_bytes > (size_t)entry->form.workspace_bytes)
    return fail(products, &entry->form, "its algorithm needs %llu bytes of workspace",
                (unsigned long long)result.workspace_bytes);
  uint32_t reduction = 0;
  size_t written;
  if (check(products, &entry->form,
            products->lt.algorithm_get(&algorithm, LT_ALGO_REDUCTION, &reduction, sizeof reduction,
                                       &written),
            "asking for an algorithm's reduction scheme"))
    return 1;
  if (reduction != LT_REDUCTION_NONE &&
      !(entry->may_split && reduction == LT_REDUCTION_COMPUTE_TYPE))
    return fail(
        products, &entry->form,
        "its algorithm reduces partial sums by scheme %u; expected %u, which adds in one order",
        reduction, LT_REDUCTION_NONE);
  entry->workspace_bytes = (int64_t)result.workspace_bytes;
  entry->is_checked = 1;
  return 0;
}

static int choose(llmmem_products *products, const llmmem_product_form *form,
                  const Descriptors *descriptors) {
  llmmem_product_algorithm *entry = find(products, form);
  int is_new = !entry;
  if (is_new) {
    LtHeuristic answer;
    int found;
    memset(&answer, 0, sizeof answer);
    int failed = ask(products, form, descriptors, LT_REDUCTION_NONE, 1, &answer, &found);
    if (failed)
      return failed == NO_ALGORITHM ? advise(products, form) : 1;
    entry = add(products, form);
    if (!entry)
      return 1;
    memcpy(entry->data, &answer.algorithm, sizeof entry->data);
  }
  if (entry->is_checked || !verify(products, entry, descriptors))
    return 0;
  products->count -= is_new; /* This is the last one, and what was refused is not kept for later
                              * runs. */
  return 1;
}

static int check_product(llmmem_products *products, const llmmem_product *product) {
  const llmmem_product_form *form = &product->form;
  if (form->epilogue < 0 || form->epilogue >= LLMMEM_EPILOGUES)
    return fail(products, form, "the epilogue's number is %lld", (long long)form->epilogue);
  const struct {
    const char *name;
    uint64_t address;
    int64_t alignment;
  } places[] = {{"A", product->a, form->a.alignment},
                {"B", product->b, form->b.alignment},
                {"initial", product->initial, initial_of(form)->alignment},
                {"C", product->c, form->c.alignment},
                {"bias", product->bias, 256},
                {"aux", product->aux, 256},
                {"the workspace", product->workspace, 256}};
  for (size_t k = 0; k < sizeof places / sizeof *places; ++k)
    if (places[k].alignment <= 0 || places[k].address % (uint64_t)places[k].alignment != 0)
      return fail(products, form, "%s is at 0x%llx, expected a multiple of %lld", places[k].name,
                  (unsigned long long)places[k].address, (long long)places[k].alignment);
  return 0;
}

/* The library reads or writes aux while it writes C. */
static int check_aux(llmmem_products *products, const llmmem_product *product) {
  const llmmem_product_form *form = &product->form;
  uint64_t width = form->c.type == LLMMEM_PRODUCT_BF16 ? 2 : 4, rows = (uint64_t)form->rows;
  uint64_t c_end = product->c + rows * (uint64_t)form->c.pitch * width,
           aux_end = product->aux + rows * (uint64_t)form->aux_pitch * width;
  if (product->aux && product->aux < c_end && product->c < aux_end)
    return fail(products, form, "aux at 0x%llx overlaps C at 0x%llx; plan with --products=library",
                (unsigned long long)product->aux, (unsigned long long)product->c);
  return 0;
}

/* Heuristics depend on the alignment of these addresses (cublasLt.h, on BIAS_POINTER). All matmuls
 * of a form state the same one, because otherwise the choice would depend on the plan of the first.
 * */
static llmmem_product with_common_places(const llmmem_product *product) {
  llmmem_product common = *product;
  common.bias = product->bias ? 256 : 0;
  common.aux = product->aux ? 256 : 0;
  return common;
}

int llmmem_products_can(llmmem_products *products, const llmmem_product *product) {
  Descriptors descriptors;
  LtHeuristic answer;
  int found;
  llmmem_product common = with_common_places(product);
  if (find(products, &product->form))
    return 1;
  if (open_descriptors(products, &common, &descriptors))
    return 0;
  memset(&answer, 0, sizeof answer);
  int failed = ask(products, &product->form, &descriptors, LT_REDUCTION_NONE, 1, &answer, &found);
  close_descriptors(products, &descriptors);
  return !failed;
}

static int64_t list_candidates(llmmem_products *products, const llmmem_product_form *form,
                               const Descriptors *descriptors, llmmem_product_algorithm *found,
                               int64_t most) {
  LtHeuristic answers[MOST_ANSWERS];
  int count, wanted = most < MOST_ANSWERS ? (int)most : MOST_ANSWERS;
  int64_t usable = 0;
  memset(answers, 0, sizeof answers);
  int failed = ask(products, form, descriptors, LT_REDUCTION_NONE | LT_REDUCTION_COMPUTE_TYPE,
                   wanted, answers, &count);
  if (failed == NO_ALGORITHM)
    advise(products, form);
  if (failed)
    return 0;
  for (int k = 0; k < count; ++k) {
    llmmem_product_algorithm *candidate = &found[usable];
    memset(candidate, 0, sizeof *candidate);
    candidate->form = *form;
    candidate->may_split = 1;
    memcpy(candidate->data, &answers[k].algorithm, sizeof candidate->data);
    usable += answers[k].state == LT_SUCCESS && verify(products, candidate, descriptors) == 0;
  }
  return usable;
}

int64_t llmmem_products_candidates(llmmem_products *products, const llmmem_product *product,
                                   llmmem_product_algorithm *found, int64_t most) {
  Descriptors descriptors;
  llmmem_product common = with_common_places(product);
  if (check_product(products, product) || check_aux(products, product) ||
      open_descriptors(products, &common, &descriptors))
    return 0;
  int64_t count = list_candidates(products, &product->form, &descriptors, found, most);
  close_descriptors(products, &descriptors);
  return count;
}

int llmmem_products_choose(llmmem_products *products, const llmmem_product *product) {
  llmmem_product_algorithm *known = find(products, &product->form);
  if (check_product(products, product) || check_aux(products, product))
    return 1;
  if (known && known->is_checked)
    return 0;
  Descriptors descriptors;
  llmmem_product common = with_common_places(product);
  if (open_descriptors(products, &common, &descriptors))
    return 1;
  int failed = choose(products, &product->form, &descriptors);
  close_descriptors(products, &descriptors);
  return failed;
}

/*===----------------------------------------------------------------------===*\
|* Multiplying
\*===----------------------------------------------------------------------===*/

int llmmem_products_try(llmmem_products *products, const llmmem_product *product,
                        const llmmem_product_algorithm *entry, void *stream) {
  const llmmem_product_form *form = &product->form;
  Descriptors descriptors;
  if (check_product(products, product) || open_descriptors(products, product, &descriptors))
    return 1;
  LtAlgorithm algorithm;
  memcpy(&algorithm, entry->data, sizeof algorithm);
  float alpha = (float)product->alpha, beta = product->initial ? 1.0f : 0.0f;
  /* With beta 0 C is not read, but an address is required. */
  uint64_t initial = product->initial ? product->initial : product->c;
  const void *a = (const void *)(uintptr_t)product->b, *b = (const void *)(uintptr_t)product->a;
  int status = products->lt.multiply(
      products->handle, descriptors.operation, &alpha, a, descriptors.a, b, descriptors.b, &beta,
      (const void *)(uintptr_t)initial, descriptors.c, (void *)(uintptr_t)product->c, descriptors.d,
      &algorithm, (void *)(uintptr_t)product->workspace, (size_t)form->workspace_bytes, stream);
  close_descriptors(products, &descriptors);
  return check(products, form, status, "the call");
}

int llmmem_products_multiply(llmmem_products *products, const llmmem_product *product,
                             void *stream) {
  const llmmem_product_algorithm *entry = find(products, &product->form);
  if (!entry || !entry->is_checked)
    return fail(products, &product->form, "no algorithm was chosen for it");
  return llmmem_products_try(products, product, entry, stream);
}
