/*===- ProductParts.h - Threads for a library's matmuls ---------------------===*\
|*
|* A library that divides a product among threads of its own makes all of them wait for the slowest
|* at every step inside, and its pool takes cores from ours. So a product is divided here, into
|* more parts than threads, and the library computes each part on the thread that takes it.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_LIB_RUNTIME_PRODUCTPARTS_H
#define LLMMEM_LIB_RUNTIME_PRODUCTPARTS_H

#include "llmmem/Runtime/ExternC.h"
#include <stdint.h>

LLMMEM_EXTERN_C_BEGIN

/* Describes some rows and columns of C, with the whole sum of each element. */
typedef struct {
  int64_t row, rows, column, columns;
} llmmem_part;

typedef void llmmem_multiply_part(void *context, const llmmem_part *part);

/* Names the library (of dlopen) whose OpenMP, if it has loaded one, parts are computed with. No
 * parts may be computed meanwhile. */
void llmmem_use_openmp_of(void *library);

/* Calls `multiply` for parts that cover C, each element once, on the threads of this thread's
 * loops. The parts depend only on sizes and the number of threads, so equal operands have equal
 * bits whichever thread takes a part. Meanwhile the OpenMP that was named, if any, runs on the
 * calling thread alone. */
void llmmem_for_product_parts(int64_t rows, int64_t columns, llmmem_multiply_part *multiply,
                              void *context);

LLMMEM_EXTERN_C_END

#endif /* LLMMEM_LIB_RUNTIME_PRODUCTPARTS_H */
