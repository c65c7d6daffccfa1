/*===- Attention.h - Attention in float64 -----------------------------------===*/

#ifndef LLMMEM_TOOLS_LLMMEM_REPLAY_ATTENTION_H
#define LLMMEM_TOOLS_LLMMEM_REPLAY_ATTENTION_H

#include "Bundle/Bundle.h"
#include "llmmem/Runtime/ExternC.h"

LLMMEM_EXTERN_C_BEGIN

/* Attention is causal; a query sees the `window` keys up to itself, or all of them where that is 0.
 * Queries and what is of their shape are [batch, seq, heads, head], keys and values [batch, seq,
 * kv_heads, head], lse [batch, heads, seq] in f32. */
typedef struct {
  int64_t batch, seq, heads, kv_heads, head, window;
  double scale;
  ElementType type; /* of all but lse: f32 or bf16 */
} AttentionShape;

typedef struct {
  const void *q, *k, *v, *out, *lse, *dout, *dq, *dk, *dv;
} AttentionOperands;

/* Returns whether this is a shape, and one that the functions below compute. */
int attention_fits(const AttentionShape *shape);

/* Returns the worst error of out and lse, of `count` rows that `stream` chooses, in parts of what
 * rounding explains: above 1 is wrong. */
double attention_error(const AttentionShape *shape, const AttentionOperands *operands,
                       int64_t count, uint64_t stream);
/* Returns the same of dq, and of dk and dv; out and lse are operands, as they are of the kernels.
 */
double attention_grad_error(const AttentionShape *shape, const AttentionOperands *operands,
                            int64_t count, uint64_t stream);

LLMMEM_EXTERN_C_END

#endif /* LLMMEM_TOOLS_LLMMEM_REPLAY_ATTENTION_H */
