/*===- FakeCublasLt.c - A cuBLASLt that multiplies on the host --------------===*\
|*
|* Stands for libcublasLt.so with the fake driver, whose memory is the host's: products are really
|* computed, by the column-major definition of cuBLASLt, in double, when they are run (inside of a
|* capture: at each replay). What does not fit together (matrices of other sizes, leading dimensions
|* too small, addresses less aligned than was said, too little workspace) is refused as cuBLASLt
|* refuses it. It says nothing of how fast or by which kernels a GPU would multiply.
|*
|*   LLMMEM_FAKE_CUBLASLT_FAIL=name:n      the n-th call of `name` (from 1) fails
|*   LLMMEM_FAKE_CUBLASLT_NONE=1           has no algorithm for anything; gelu: for no gelu
|*   LLMMEM_FAKE_CUBLASLT_REDUCTION=2      the scheme of its algorithms (default: none, 0), whatever
|*                                         was asked for
|*   LLMMEM_FAKE_CUBLASLT_SCHEMES=0,2,0    it has so many algorithms, of these schemes; those are
|*                                         answers that the question allows
|*   LLMMEM_FAKE_CUBLASLT_CHANGES=1        the algorithm of this number gives other bits each time
|*   LLMMEM_FAKE_CUBLASLT_WORKSPACE=bytes  what its algorithms need (default: all they may have)
|*   LLMMEM_FAKE_CUBLASLT_VERSION=130100
|*
|* Calls are lines in the driver's log. Algorithm 1 takes the time of `cublasLtMatmul.1` in
|* LLMMEM_FAKE_CUDA_NS.
|*
\*===----------------------------------------------------------------------===*/

#include "CublasLt.h"
#include "FakeDriver.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  int32_t of_a, of_b;
  uint32_t epilogue;
  uint64_t bias, aux;
  int64_t aux_ld;
} Operation;

typedef struct {
  int type;
  int64_t rows, columns, ld, stride;
  int32_t batch;
} Layout;

typedef struct {
  uint64_t workspace;
  uint32_t reduction, alignments[4]; /* of a, b, c, d */
} Preference;

/* What the 64 bytes of an algorithm say here: those of the preference, and sizes that it is for. */
typedef struct {
  uint64_t workspace;
  uint32_t magic, reduction, alignments[4];
  int64_t m, n, k;
  uint32_t number;
} Algorithm;

_Static_assert(sizeof(Algorithm) <= sizeof(LtAlgorithm), "an algorithm has 64 bytes");

enum { MAGIC = 0x6c6c6d6d };

static uint64_t number(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  return text ? strtoull(text, NULL, 10) : otherwise;
}

static int calls; /* of the function that is asked to fail */

#define FAIL_IF_ASKED(name)                                                                        \
  if (llmmem_fake_cuda_must_fail("LLMMEM_FAKE_CUBLASLT_FAIL", #name, &calls))                      \
  return 14

/*===----------------------------------------------------------------------===*\
|* Handles and descriptors
\*===----------------------------------------------------------------------===*/

static int descriptors;

size_t cublasLtGetVersion(void) { return number("LLMMEM_FAKE_CUBLASLT_VERSION", 130100); }

const char *cublasLtGetStatusString(int status) {
  return status == LT_INVALID_VALUE     ? "CUBLAS_STATUS_INVALID_VALUE"
         : status == LT_NOT_SUPPORTED   ? "CUBLAS_STATUS_NOT_SUPPORTED"
         : status == LT_NOT_INITIALIZED ? "CUBLAS_STATUS_NOT_INITIALIZED"
                                        : "CUBLAS_STATUS_INTERNAL_ERROR";
}

int cublasLtCreate(LtHandle *handle) {
  calls = descriptors = 0;
  FAIL_IF_ASKED(cublasLtCreate);
  llmmem_fake_cuda_note("cuBLASLt %zu", cublasLtGetVersion());
  *handle = &descriptors;
  return LT_SUCCESS;
}

int cublasLtDestroy(LtHandle handle) {
  llmmem_fake_cuda_note("cuBLASLt ends, left: %d descriptors", descriptors);
  return LT_SUCCESS;
}

static int create(void **descriptor, size_t size) {
  *descriptor = calloc(1, size);
  ++descriptors;
  return LT_SUCCESS;
}

static int destroy(void *descriptor) {
  free(descriptor);
  --descriptors;
  return LT_SUCCESS;
}

static int set(void *member, size_t expected, const void *value, size_t size) {
  if (size != expected)
    return LT_INVALID_VALUE;
  memcpy(member, value, size);
  return LT_SUCCESS;
}

int cublasLtMatmulDescCreate(LtOperation *operation, int compute_type, int scale_type) {
  FAIL_IF_ASKED(cublasLtMatmulDescCreate);
  if (compute_type != LT_COMPUTE_F32 || scale_type != LT_TYPE_F32)
    return LT_NOT_SUPPORTED;
  create(operation, sizeof(Operation));
  ((Operation *)*operation)->epilogue = LT_EPILOGUE_DEFAULT;
  return LT_SUCCESS;
}

int cublasLtMatmulDescDestroy(LtOperation operation) { return destroy(operation); }

int cublasLtMatmulDescSetAttribute(LtOperation operation, int attribute, const void *value,
                                   size_t size) {
  FAIL_IF_ASKED(cublasLtMatmulDescSetAttribute);
  Operation *to = operation;
  switch (attribute) {
  case LT_DESC_TRANSA:
    return set(&to->of_a, sizeof to->of_a, value, size);
  case LT_DESC_TRANSB:
    return set(&to->of_b, sizeof to->of_b, value, size);
  case LT_DESC_EPILOGUE:
    return set(&to->epilogue, sizeof to->epilogue, value, size);
  case LT_DESC_BIAS_POINTER:
    return set(&to->bias, sizeof to->bias, value, size);
  case LT_DESC_AUX_POINTER:
    return set(&to->aux, sizeof to->aux, value, size);
  case LT_DESC_AUX_LD:
    return set(&to->aux_ld, sizeof to->aux_ld, value, size);
  default:
    return LT_INVALID_VALUE;
  }
}

int cublasLtMatrixLayoutCreate(LtLayout *layout, int type, uint64_t rows, uint64_t columns,
                               int64_t ld) {
  FAIL_IF_ASKED(cublasLtMatrixLayoutCreate);
  create(layout, sizeof(Layout));
  *(Layout *)*layout = (Layout){type, (int64_t)rows, (int64_t)columns, ld, 0, 1};
  return LT_SUCCESS;
}

int cublasLtMatrixLayoutDestroy(LtLayout layout) { return destroy(layout); }

int cublasLtMatrixLayoutSetAttribute(LtLayout layout, int attribute, const void *value,
                                     size_t size) {
  FAIL_IF_ASKED(cublasLtMatrixLayoutSetAttribute);
  Layout *to = layout;
  switch (attribute) {
  case LT_LAYOUT_BATCH_COUNT:
    return set(&to->batch, sizeof to->batch, value, size);
  case LT_LAYOUT_BATCH_STRIDE:
    return set(&to->stride, sizeof to->stride, value, size);
  default:
    return LT_INVALID_VALUE;
  }
}

int cublasLtMatmulPreferenceCreate(LtPreference *preference) {
  FAIL_IF_ASKED(cublasLtMatmulPreferenceCreate);
  create(preference, sizeof(Preference));
  *(Preference *)*preference = (Preference){0, 7, {256, 256, 256, 256}};
  return LT_SUCCESS;
}

int cublasLtMatmulPreferenceDestroy(LtPreference preference) { return destroy(preference); }

int cublasLtMatmulPreferenceSetAttribute(LtPreference preference, int attribute, const void *value,
                                         size_t size) {
  FAIL_IF_ASKED(cublasLtMatmulPreferenceSetAttribute);
  Preference *to = preference;
  switch (attribute) {
  case LT_PREF_WORKSPACE_BYTES:
    return set(&to->workspace, sizeof to->workspace, value, size);
  case LT_PREF_REDUCTION_MASK:
    return set(&to->reduction, sizeof to->reduction, value, size);
  case LT_PREF_ALIGNMENT_A:
  case LT_PREF_ALIGNMENT_B:
  case LT_PREF_ALIGNMENT_C:
  case LT_PREF_ALIGNMENT_D: {
    uint32_t *alignment = &to->alignments[attribute - LT_PREF_ALIGNMENT_A];
    return set(alignment, sizeof *alignment, value, size);
  }
  default:
    return LT_INVALID_VALUE;
  }
}

/*===----------------------------------------------------------------------===*\
|* Products
\*===----------------------------------------------------------------------===*/

/* Everything that a matmul reads and writes. */
typedef struct {
  Operation operation;
  Layout a, b, c, d;
  const char *a_bytes, *b_bytes, *c_bytes;
  char *d_bytes;
  float alpha, beta;
  int64_t m, n, k;
  uint32_t algorithm;
} Product;

/* Whether the sizes of the matrices match. */
static int fit(Product *product, const Operation *operation, const Layout *a, const Layout *b,
               const Layout *c, const Layout *d) {
  *product = (Product){.operation = *operation, .a = *a, .b = *b, .c = *c, .d = *d};
  product->m = operation->of_a == LT_OP_T ? a->columns : a->rows;
  product->k = operation->of_a == LT_OP_T ? a->rows : a->columns;
  product->n = operation->of_b == LT_OP_T ? b->rows : b->columns;
  int64_t k = operation->of_b == LT_OP_T ? b->columns : b->rows;
  const Layout *layouts[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i)
    if (layouts[i]->ld < layouts[i]->rows || layouts[i]->batch != d->batch ||
        (layouts[i]->type != LT_TYPE_BF16 && layouts[i]->type != LT_TYPE_F32))
      return LT_INVALID_VALUE;
  if (k != product->k || d->rows != product->m || d->columns != product->n || c->rows != d->rows ||
      c->columns != d->columns)
    return LT_INVALID_VALUE;
  /* bf16 to bf16 or f32, f32 to f32. */
  if (a->type != b->type || c->type != d->type ||
      (a->type == LT_TYPE_F32 && d->type != LT_TYPE_F32))
    return LT_NOT_SUPPORTED;
  return LT_SUCCESS;
}

static double load(const char *bytes, int type, int64_t index) {
  float x;
  if (type == LT_TYPE_F32) {
    memcpy(&x, bytes + 4 * index, 4);
    return x;
  }
  uint16_t half;
  memcpy(&half, bytes + 2 * index, 2);
  uint32_t bits = (uint32_t)half << 16;
  memcpy(&x, &bits, 4);
  return x;
}

static void store(char *bytes, int type, int64_t index, double value) {
  float x = (float)value;
  if (type == LT_TYPE_F32) {
    memcpy(bytes + 4 * index, &x, 4);
    return;
  }
  uint32_t bits;
  memcpy(&bits, &x, 4);
  bits += 0x7fff + (bits >> 16 & 1); /* to nearest even */
  uint16_t half = (uint16_t)(bits >> 16);
  memcpy(bytes + 2 * index, &half, 2);
}

static double gelu(double x) {
  return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

static double gelu_gradient(double x) {
  double t = tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
}

static double element_of(const Product *p, const Layout *layout, const char *bytes, int32_t op,
                         int64_t row, int64_t column, int64_t batch) {
  int64_t place = op == LT_OP_T ? column + row * layout->ld : row + column * layout->ld;
  return load(bytes, layout->type, batch * layout->stride + place);
}

static double product_at(const Product *p, int64_t i, int64_t j, int64_t batch) {
  double sum = 0;
  for (int64_t k = 0; k < p->k; ++k)
    sum += element_of(p, &p->a, p->a_bytes, p->operation.of_a, i, k, batch) *
           element_of(p, &p->b, p->b_bytes, p->operation.of_b, k, j, batch);
  sum *= p->alpha;
  if (p->beta != 0)
    sum += p->beta * load(p->c_bytes, p->c.type, batch * p->c.stride + i + j * p->c.ld);
  return sum;
}

/* The element after the epilogue; aux has D's type. */
static double finish(const Product *p, double x, int64_t i, int64_t j) {
  uint32_t epilogue = p->operation.epilogue;
  char *bias = (char *)(uintptr_t)p->operation.bias, *aux = (char *)(uintptr_t)p->operation.aux;
  int64_t place = i + j * p->operation.aux_ld;
  if (epilogue & LT_EPILOGUE_BIAS)
    x += load(bias, p->d.type, i);
  if (epilogue == LT_EPILOGUE_GELU_AUX_BIAS)
    store(aux, p->d.type, place, x);
  if (epilogue == LT_EPILOGUE_GELU_AUX_BIAS || epilogue == LT_EPILOGUE_GELU_BIAS)
    return gelu(x);
  if (epilogue == LT_EPILOGUE_DGELU || epilogue == LT_EPILOGUE_DGELU_BGRAD)
    return x * gelu_gradient(load(aux, p->d.type, place));
  return x;
}

/* Gradients of a bias, which are sums of D's columns, of A's or of B's. */
static void store_sums(const Product *p) {
  char *bias = (char *)(uintptr_t)p->operation.bias;
  uint32_t epilogue = p->operation.epilogue;
  int ofD = epilogue == LT_EPILOGUE_DGELU_BGRAD, ofA = epilogue == LT_EPILOGUE_BGRADA,
      ofB = epilogue == LT_EPILOGUE_BGRADB;
  if (!ofA && !ofB && !ofD)
    return;
  for (int64_t i = 0; i < (ofB ? p->n : p->m); ++i) {
    double sum = 0;
    for (int64_t k = 0; k < (ofD ? p->n : p->k); ++k)
      sum += ofD   ? load(p->d_bytes, p->d.type, i + k * p->d.ld)
             : ofA ? element_of(p, &p->a, p->a_bytes, p->operation.of_a, i, k, 0)
                   : element_of(p, &p->b, p->b_bytes, p->operation.of_b, k, i, 0);
    store(bias, p->d.type, i, sum);
  }
}

/* Whether this run of the algorithm gives other bits than the one before. */
static int changes(uint32_t algorithm) {
  static int runs;
  const char *changing = getenv("LLMMEM_FAKE_CUBLASLT_CHANGES");
  return changing && strtoul(changing, NULL, 10) == algorithm && ++runs % 2 == 0;
}

static void run(void *context) {
  const Product *p = context;
  for (int64_t batch = 0; batch < p->d.batch; ++batch)
    for (int64_t j = 0; j < p->n; ++j)
      for (int64_t i = 0; i < p->m; ++i)
        store(p->d_bytes, p->d.type, batch * p->d.stride + i + j * p->d.ld,
              finish(p, product_at(p, i, j, batch), i, j));
  store_sums(p);
  if (changes(p->algorithm))
    p->d_bytes[0] ^= 1;
}

static int has_none(const Product *product) {
  const char *none = getenv("LLMMEM_FAKE_CUBLASLT_NONE");
  int is_gelu = product->operation.epilogue & (LT_EPILOGUE_GELU_BIAS & ~LT_EPILOGUE_BIAS);
  return none && (is_gelu || strcmp(none, "gelu") != 0);
}

/* Writes one algorithm. Returns 1. */
static int answer(const Product *product, const Preference *asked, uint32_t number_of_it,
                  uint32_t scheme, LtHeuristic *result) {
  Algorithm algorithm = {.workspace = number("LLMMEM_FAKE_CUBLASLT_WORKSPACE", asked->workspace),
                         .magic = MAGIC,
                         .reduction = scheme,
                         .m = product->m,
                         .n = product->n,
                         .k = product->k,
                         .number = number_of_it};
  memcpy(algorithm.alignments, asked->alignments, sizeof algorithm.alignments);
  memset(result, 0, sizeof *result);
  memcpy(&result->algorithm, &algorithm, sizeof algorithm);
  result->workspace_bytes = algorithm.workspace;
  return 1;
}

int cublasLtMatmulAlgoGetHeuristic(LtHandle handle, LtOperation operation, LtLayout a, LtLayout b,
                                   LtLayout c, LtLayout d, LtPreference preference, int wanted,
                                   LtHeuristic *results, int *found) {
  FAIL_IF_ASKED(cublasLtMatmulAlgoGetHeuristic);
  Product product;
  int status = fit(&product, operation, a, b, c, d);
  *found = 0;
  const Preference *asked = preference;
  llmmem_fake_cuda_note(
      "algorithm for %lld x %lld x %lld: reduction %u, alignments %u %u %u %u, "
      "bias %llu, aux %llu, workspace %llu",
      (long long)product.m, (long long)product.n, (long long)product.k, asked->reduction,
      asked->alignments[0], asked->alignments[1], asked->alignments[2], asked->alignments[3],
      (unsigned long long)product.operation.bias, (unsigned long long)product.operation.aux,
      (unsigned long long)asked->workspace);
  if (status != LT_SUCCESS || has_none(&product))
    return status;
  const char *scheme = getenv("LLMMEM_FAKE_CUBLASLT_SCHEMES");
  if (!scheme)
    *found = answer(&product, asked, 0, (uint32_t)number("LLMMEM_FAKE_CUBLASLT_REDUCTION", 0),
                    &results[0]);
  for (uint32_t k = 0; scheme && *scheme && *found < wanted; ++k) {
    char *end;
    uint32_t its_scheme = (uint32_t)strtoul(scheme, &end, 10);
    if ((its_scheme & ~asked->reduction) == 0)
      *found += answer(&product, asked, k, its_scheme, &results[*found]);
    scheme = *end ? end + 1 : end;
  }
  return LT_SUCCESS;
}

static int is_for(const Algorithm *algorithm, const Product *product) {
  return algorithm->magic == MAGIC && algorithm->m == product->m && algorithm->n == product->n &&
         algorithm->k == product->k;
}

int cublasLtMatmulAlgoCheck(LtHandle handle, LtOperation operation, LtLayout a, LtLayout b,
                            LtLayout c, LtLayout d, const LtAlgorithm *opaque,
                            LtHeuristic *result) {
  FAIL_IF_ASKED(cublasLtMatmulAlgoCheck);
  Product product;
  Algorithm algorithm;
  memcpy(&algorithm, opaque, sizeof algorithm);
  int status = fit(&product, operation, a, b, c, d);
  if (status == LT_SUCCESS && !is_for(&algorithm, &product))
    status = LT_INVALID_VALUE;
  result->state = status;
  result->workspace_bytes = algorithm.workspace;
  return status;
}

int cublasLtMatmulAlgoConfigGetAttribute(const LtAlgorithm *opaque, int attribute, void *value,
                                         size_t size, size_t *written) {
  Algorithm algorithm;
  memcpy(&algorithm, opaque, sizeof algorithm);
  if (attribute != LT_ALGO_REDUCTION)
    return LT_INVALID_VALUE;
  *written = size;
  return set(value, sizeof algorithm.reduction, &algorithm.reduction, size);
}

static void note_product(const Product *p, const void *workspace, size_t workspace_bytes) {
  char places[7][64], name_of_algorithm[32] = "";
  if (p->algorithm)
    snprintf(name_of_algorithm, sizeof name_of_algorithm, " by algorithm %u", p->algorithm);
  uint64_t addresses[] = {(uintptr_t)p->a_bytes, (uintptr_t)p->b_bytes, (uintptr_t)p->c_bytes,
                          (uintptr_t)p->d_bytes, p->operation.bias,     p->operation.aux,
                          (uintptr_t)workspace};
  for (int k = 0; k < 7; ++k)
    llmmem_fake_cuda_place(addresses[k], places[k], sizeof places[k]);
  llmmem_fake_cuda_note(
      "%smultiply %lld x %lld x %lld batch %d ops %s%s ld %lld %lld %lld %lld types %d %d %d "
      "alpha %g beta %g epilogue %u (%s, %s, %s, %s) bias %s aux %s workspace %s of %zu%s",
      llmmem_fake_cuda_is_capturing() ? "node " : "", (long long)p->m, (long long)p->n,
      (long long)p->k, p->d.batch, p->operation.of_a == LT_OP_T ? "T" : "N",
      p->operation.of_b == LT_OP_T ? "T" : "N", (long long)p->a.ld, (long long)p->b.ld,
      (long long)p->c.ld, (long long)p->d.ld, p->a.type, p->b.type, p->d.type, (double)p->alpha,
      (double)p->beta, p->operation.epilogue, places[0], places[1], places[2], places[3], places[4],
      places[5], places[6], workspace_bytes, name_of_algorithm);
}

static int is_aligned(const void *address, uint32_t alignment) {
  return (uintptr_t)address % alignment == 0;
}

int cublasLtMatmul(LtHandle handle, LtOperation operation, const void *alpha, const void *a,
                   LtLayout a_layout, const void *b, LtLayout b_layout, const void *beta,
                   const void *c, LtLayout c_layout, void *d, LtLayout d_layout,
                   const LtAlgorithm *opaque, void *workspace, size_t workspace_bytes,
                   void *stream) {
  FAIL_IF_ASKED(cublasLtMatmul);
  Product product;
  Algorithm algorithm;
  memcpy(&algorithm, opaque, sizeof algorithm);
  int status = fit(&product, operation, a_layout, b_layout, c_layout, d_layout);
  if (status != LT_SUCCESS)
    return status;
  if (!is_for(&algorithm, &product) || algorithm.workspace > workspace_bytes ||
      (workspace_bytes && !workspace) || !is_aligned(a, algorithm.alignments[0]) ||
      !is_aligned(b, algorithm.alignments[1]) || !is_aligned(c, algorithm.alignments[2]) ||
      !is_aligned(d, algorithm.alignments[3]))
    return LT_INVALID_VALUE;
  product.a_bytes = a, product.b_bytes = b, product.c_bytes = c, product.d_bytes = d;
  memcpy(&product.alpha, alpha, sizeof product.alpha);
  memcpy(&product.beta, beta, sizeof product.beta);
  product.algorithm = algorithm.number;
  note_product(&product, workspace, workspace_bytes);
  char name[64];
  snprintf(name, sizeof name, "cublasLtMatmul.%u", algorithm.number);
  llmmem_fake_cuda_take_time(name);
  /* An algorithm may write anywhere in its workspace. */
  if (!llmmem_fake_cuda_is_capturing()) {
    run(&product);
    return LT_SUCCESS;
  }
  Product *node = malloc(sizeof *node);
  *node = product;
  return llmmem_fake_cuda_node(run, node) ? 14 : LT_SUCCESS;
}
