/*===- Reference.h - Products in float64 ------------------------------------===*/

#ifndef LLMMEM_TOOLS_LLMMEM_REPLAY_REFERENCE_H
#define LLMMEM_TOOLS_LLMMEM_REPLAY_REFERENCE_H

#include "Bundle/Bundle.h"

/* The operands of a product in the host's memory, before it was computed, and C after it. Null:
 * there is none. */
typedef struct {
  const void *a, *b, *initial, *bias, *aux, *c;
} Operands;

/* Returns the bytes from the first element of a matrix to the end of its last, all of a batch. */
int64_t matrix_bytes(const llmmem_matrix_form *matrix, int64_t rows, int64_t columns,
                     int64_t batch);

/* Returns the worst error of `count` elements of C that `stream` chooses, in parts of what rounding
 * the result and summing in f32 explain. */
double worst_error(const Form *form, const Operands *operands, int64_t count, uint64_t stream);

#endif /* LLMMEM_TOOLS_LLMMEM_REPLAY_REFERENCE_H */
