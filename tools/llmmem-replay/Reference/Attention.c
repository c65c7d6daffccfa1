/*===- Attention.c - Attention in float64 -----------------------------------===*/

#include "Reference/Attention.h"
#include "Bundle/Fill.h"
#include "llmmem/Runtime/Samples.h"
#include <math.h>

enum { MOST_HEAD = 512 };

int attention_fits(const AttentionShape *shape) {
  return shape->batch > 0 && shape->seq > 0 && shape->heads > 0 && shape->kv_heads > 0 &&
         shape->heads % shape->kv_heads == 0 && shape->head > 0 && shape->head <= MOST_HEAD &&
         shape->window >= 0;
}

/* A row is one query of one head. */
typedef struct {
  const AttentionShape *shape;
  const AttentionOperands *operands;
  int64_t batch, head, query;
} Row;

static double element(const Row *row, const void *bytes, int64_t index) {
  return read_number(row->shape->type,
                     (const char *)bytes + index * bytes_of_type(row->shape->type));
}

static int64_t wide(const Row *row) {
  const AttentionShape *shape = row->shape;
  return ((row->batch * shape->seq + row->query) * shape->heads + row->head) * shape->head;
}

static int64_t narrow(const Row *row, int64_t key) {
  const AttentionShape *shape = row->shape;
  int64_t group = row->head / (shape->heads / shape->kv_heads);
  return ((row->batch * shape->seq + key) * shape->kv_heads + group) * shape->head;
}

static double lse_of(const Row *row) {
  const AttentionShape *shape = row->shape;
  return ((const float *)row->operands
              ->lse)[(row->batch * shape->heads + row->head) * shape->seq + row->query];
}

static double dot(const Row *row, const void *a, int64_t i, const void *b, int64_t j) {
  double sum = 0;
  for (int64_t d = 0; d < row->shape->head; ++d)
    sum += element(row, a, i + d) * element(row, b, j + d);
  return sum;
}

static int64_t first_key(const Row *row) {
  int64_t window = row->shape->window;
  return window > 0 && row->query >= window ? row->query - window + 1 : 0;
}

static double score(const Row *row, int64_t key) {
  return row->shape->scale *
         dot(row, row->operands->q, wide(row), row->operands->k, narrow(row, key));
}

/* A number is rounded to its type, and factors of a second product to theirs before that:
 * `magnitude` is the sum of the terms' magnitudes. */
static double part_of_allowed(const Row *row, double found, double expected, double magnitude) {
  double rounding = row->shape->type == TYPE_BF16 ? 0x1p-7 : 0x1p-16;
  double error = fabs(found - expected) / (rounding * (fabs(expected) + magnitude) + 1e-30);
  return isnan(error) ? INFINITY : error;
}

static double larger(double a, double b) { return a > b ? a : b; }

/*===----------------------------------------------------------------------===*\
|* Forward
\*===----------------------------------------------------------------------===*/

static double row_error(const Row *row) {
  double out[MOST_HEAD] = {0}, magnitude[MOST_HEAD] = {0}, sum = 0, worst = 0;
  for (int64_t key = first_key(row); key <= row->query; ++key) {
    double power = exp(score(row, key));
    sum += power;
    for (int64_t d = 0; d < row->shape->head; ++d) {
      double term = power * element(row, row->operands->v, narrow(row, key) + d);
      out[d] += term;
      magnitude[d] += fabs(term);
    }
  }
  for (int64_t d = 0; d < row->shape->head; ++d)
    worst = larger(worst, part_of_allowed(row, element(row, row->operands->out, wide(row) + d),
                                          out[d] / sum, magnitude[d] / sum));
  double lse = fabs(lse_of(row) - log(sum)) / (1e-4 * (1 + fabs(log(sum))));
  return larger(worst, isnan(lse) ? INFINITY : lse);
}

static Row row_at(const AttentionShape *shape, const AttentionOperands *operands, uint64_t stream,
                  int64_t number) {
  uint64_t at = 3 * (uint64_t)number;
  return (Row){shape, operands, (int64_t)(llmmem_sample_word(stream, at) % (uint64_t)shape->batch),
               (int64_t)(llmmem_sample_word(stream, at + 1) % (uint64_t)shape->heads),
               (int64_t)(llmmem_sample_word(stream, at + 2) % (uint64_t)shape->seq)};
}

double attention_error(const AttentionShape *shape, const AttentionOperands *operands,
                       int64_t count, uint64_t stream) {
  double worst = 0;
  for (int64_t k = 0; k < count; ++k) {
    Row row = row_at(shape, operands, stream, k);
    worst = larger(worst, row_error(&row));
  }
  return worst;
}

/*===----------------------------------------------------------------------===*\
|* Backward
\*===----------------------------------------------------------------------===*/

/* The values of one pair: its probability, the gradient of its score, and the terms of that. */
typedef struct {
  double probability, slope, magnitude;
} Pair;

static Pair pair_of(const Row *row, int64_t key, double delta) {
  const AttentionOperands *operands = row->operands;
  double p = exp(score(row, key) - lse_of(row)),
         dp = dot(row, operands->dout, wide(row), operands->v, narrow(row, key));
  return (Pair){p, row->shape->scale * p * (dp - delta),
                row->shape->scale * p * (fabs(dp) + fabs(delta))};
}

static double delta_of(const Row *row) {
  return dot(row, row->operands->dout, wide(row), row->operands->out, wide(row));
}

static double query_error(const Row *row) {
  double dq[MOST_HEAD] = {0}, magnitude[MOST_HEAD] = {0}, worst = 0, delta = delta_of(row);
  for (int64_t key = first_key(row); key <= row->query; ++key) {
    Pair pair = pair_of(row, key, delta);
    for (int64_t d = 0; d < row->shape->head; ++d) {
      double k = element(row, row->operands->k, narrow(row, key) + d);
      dq[d] += pair.slope * k;
      magnitude[d] += pair.magnitude * fabs(k);
    }
  }
  for (int64_t d = 0; d < row->shape->head; ++d)
    worst = larger(worst, part_of_allowed(row, element(row, row->operands->dq, wide(row) + d),
                                          dq[d], magnitude[d]));
  return worst;
}

typedef struct {
  double dk[MOST_HEAD], dv[MOST_HEAD], of_dk[MOST_HEAD], of_dv[MOST_HEAD];
} KeySums;

/* Adds what one head contributes to its key's gradients: every query that sees it. */
static void add_queries(Row row, int64_t key, KeySums *sums) {
  for (row.query = key; row.query < row.shape->seq; ++row.query) {
    if (key < first_key(&row))
      continue;
    Pair pair = pair_of(&row, key, delta_of(&row));
    for (int64_t d = 0; d < row.shape->head; ++d) {
      double q = element(&row, row.operands->q, wide(&row) + d),
             dout = element(&row, row.operands->dout, wide(&row) + d);
      sums->dk[d] += pair.slope * q;
      sums->of_dk[d] += pair.magnitude * fabs(q);
      sums->dv[d] += pair.probability * dout;
      sums->of_dv[d] += pair.probability * fabs(dout);
    }
  }
}

/* Computes the gradients of the key at the query's position, for the heads that share it. */
static double key_error(Row row) {
  KeySums sums = {{0}, {0}, {0}, {0}};
  int64_t key = row.query, shared = row.shape->heads / row.shape->kv_heads;
  row.head = row.head / shared * shared;
  int64_t place = narrow(&row, key);
  for (int64_t head = 0; head < shared; ++head, ++row.head)
    add_queries(row, key, &sums);
  --row.head;
  double worst = 0;
  for (int64_t d = 0; d < row.shape->head; ++d) {
    worst = larger(worst, part_of_allowed(&row, element(&row, row.operands->dk, place + d),
                                          sums.dk[d], sums.of_dk[d]));
    worst = larger(worst, part_of_allowed(&row, element(&row, row.operands->dv, place + d),
                                          sums.dv[d], sums.of_dv[d]));
  }
  return worst;
}

double attention_grad_error(const AttentionShape *shape, const AttentionOperands *operands,
                            int64_t count, uint64_t stream) {
  double worst = 0;
  for (int64_t k = 0; k < count; ++k) {
    Row row = row_at(shape, operands, stream, k);
    worst = larger(worst, larger(query_error(&row), key_error(row)));
  }
  return worst;
}
