/*===- CudaProducts.h - Matmuls of a GPU by cuBLASLt ----------------------===*\
|*
|*   C = epilogue(alpha * A B + initial)      for each of `batch` matmuls
|*
|* Matrices are row-major here, as everywhere in llmmem: A has `rows` x `inner`, B `inner` x
|* `columns`, C and initial `rows` x `columns`. cuBLASLt is column-major, where the same bytes are
|* the transposed matrices. So it computes C^T = B^T A^T, with our B as its A and our A as its B,
|* and nothing is moved. In exported names `product` is a matmul with its epilogue, as in the op
|* `llm.library_product`.
|*
|*   llmmem_products *products = llmmem_products_open("libcublasLt.so.13", message, sizeof message);
|*   llmmem_products_choose(products, &product);             asks for an algorithm, once a form
|*   llmmem_products_multiply(products, &product, stream);   may be captured
|*   llmmem_products_close(products);
|*
|* An algorithm is chosen once for each form (sizes, types, layouts, epilogue, workspace), and
|* every matmul of that form uses it, so that equal operands give equal bits. It is the first
|* answer of the library's heuristic that does not add partial sums of several blocks
|* (LT_REDUCTION_NONE), or one that was given. The table can be read and filled, so that another
|* process uses the same algorithms.
|*
|* Functions return 0, or 1 and then llmmem_products_message says why.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_RUNTIME_CUDAPRODUCTS_H
#define LLMMEM_RUNTIME_CUDAPRODUCTS_H

#include "llmmem/Runtime/ExternC.h"
#include <stddef.h>
#include <stdint.h>

LLMMEM_EXTERN_C_BEGIN

enum { LLMMEM_PRODUCT_F32, LLMMEM_PRODUCT_BF16 };

/* The epilogue is applied to x = alpha * A B + initial before the only rounding and the store.
 * `bias` has `columns` elements of C's type. `aux` is a matrix of C's sizes and type, whose rows
 * are `aux_pitch` elements apart, a multiple of 8. */
enum {
  LLMMEM_EPILOGUE_NONE,          /* C = x */
  LLMMEM_EPILOGUE_BIAS,          /* C = x + bias, in each row */
  LLMMEM_EPILOGUE_GELU_BIAS,     /* C = gelu(x + bias) */
  LLMMEM_EPILOGUE_GELU_AUX_BIAS, /* The same; also writes aux = x + bias. */
  LLMMEM_EPILOGUE_DGELU,         /* C = x * gelu'(aux) */
  LLMMEM_EPILOGUE_DGELU_BGRAD,   /* The same; also writes bias = the sum of C's rows. */
  LLMMEM_EPILOGUE_BGRAD_B,       /* C = x; also writes bias = the sum of the rows of B. */
  LLMMEM_EPILOGUE_BGRAD_A,       /* C = x; also writes bias[i] = the sum of row i of A; it has
                                  *                                    `rows` elements */
  LLMMEM_EPILOGUES
};

/* All members of these structs have 8 bytes, because compiled code writes them as words. */

/* Rows begin `pitch` elements apart, and matrices of a batch `stride` (0: all use the same matrix).
 * With `transposed`, memory holds the transposed matrix, and `pitch` applies to its rows. Every
 * address is a multiple of `alignment` bytes, 256 at most. */
typedef struct {
  int64_t type, pitch, transposed, stride, alignment;
} llmmem_matrix_form;

/* Describes what all matmuls of one algorithm have in common. `initial` is C itself or another
 * matrix; its pitch is 0 if there is none. */
typedef struct {
  int64_t rows, columns, inner, batch;
  llmmem_matrix_form a, b, initial, c;
  int64_t epilogue, aux_pitch, workspace_bytes;
} llmmem_product_form;

/* Addresses are the device's, and 0 if there is none. `number` identifies the matmul, so that the
 * compiler can name its op in a message. */
typedef struct {
  llmmem_product_form form;
  uint64_t a, b, initial, c, bias, aux, workspace;
  double alpha;
  int64_t number;
} llmmem_product;

typedef struct llmmem_products llmmem_products;

/* Returns null if `library` (a name for dlopen) is not a working cuBLASLt, with the reason in
 * `message`. The device's context must be current. */
llmmem_products *llmmem_products_open(const char *library, char *message, size_t size);
void llmmem_products_close(llmmem_products *products);
const char *llmmem_products_message(const llmmem_products *products);
/* Returns 130100 for 13.1.0. */
int64_t llmmem_products_version(const llmmem_products *products);

int llmmem_products_choose(llmmem_products *products, const llmmem_product *product);
/* Returns whether there is an algorithm for the matmul's form; if not, the message says so. Chooses
 * none. An address only says whether the operand exists. */
int llmmem_products_can(llmmem_products *products, const llmmem_product *product);
/* Computes a matmul for whose form an algorithm was chosen. */
int llmmem_products_multiply(llmmem_products *products, const llmmem_product *product,
                             void *stream);

/*===----------------------------------------------------------------------===*\
|* The table of algorithms.
\*===----------------------------------------------------------------------===*/

typedef struct {
  llmmem_product_form form;
  uint64_t data[8];        /* Opaque; the same for the same version and device. */
  int64_t workspace_bytes; /* The bytes that it needs, at most the form's. */
  int64_t ns;              /* The time that it took when it was chosen; 0 means that it was not
                            * timed. */
  int64_t is_given;        /* It comes from a file of another run. */
  int64_t may_split;       /* It may add parts of a sum, in one order. */
  int64_t is_checked;      /* It was found to run on this device. */
} llmmem_product_algorithm;

size_t llmmem_products_count(const llmmem_products *products);
const llmmem_product_algorithm *llmmem_products_algorithm(const llmmem_products *products,
                                                          size_t number);
/* Returns null if the form has none yet. */
const llmmem_product_algorithm *llmmem_products_find(const llmmem_products *products,
                                                     const llmmem_product_form *form);
/* Makes matmuls of its form use this algorithm. The first of them checks it. */
int llmmem_products_give(llmmem_products *products, const llmmem_product_algorithm *algorithm);

/* Returns how many algorithms may be given for the form, at most `most`, and writes them in the
 * order of the library's heuristic. They run here in the form's workspace and add up in one order:
 * without parts of a sum (LT_REDUCTION_NONE), or with parts in f32 in the workspace that a second
 * kernel adds (LT_REDUCTION_COMPUTE_TYPE). Returns 0 if the library has none. */
int64_t llmmem_products_candidates(llmmem_products *products, const llmmem_product *product,
                                   llmmem_product_algorithm *found, int64_t most);
/* Computes the matmul by this algorithm of its form, whichever is chosen. */
int llmmem_products_try(llmmem_products *products, const llmmem_product *product,
                        const llmmem_product_algorithm *algorithm, void *stream);

LLMMEM_EXTERN_C_END

#endif /* LLMMEM_RUNTIME_CUDAPRODUCTS_H */
