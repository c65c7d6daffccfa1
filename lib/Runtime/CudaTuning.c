/*===- CudaTuning.c - Which algorithm of a matmul takes least time ----------===*/

#include "CudaRun.h"
#include "llmmem/Alignment.h"
#include "llmmem/Runtime/Samples.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_CANDIDATES = 8, WARM_CALLS = 2, TIMED_CALLS = 8 };
enum { PIECE_BYTES = 4 << 20, ALIGNMENT = LLMMEM_ARENA_ALIGNMENT };

/*===----------------------------------------------------------------------===*\
|* Operands
\*===----------------------------------------------------------------------===*/

/* Describes the matmul on operands of its own, which lie one after another. */
typedef struct {
  llmmem_cuda *run;
  llmmem_product product;
  uint64_t begin;
  int64_t read_bytes, result_begin, bytes; /* Bytes of all; results follow what is only read. */
  int is_allocated;                        /* It lies outside of the arena. */
  uint16_t *numbers;                       /* A piece of normal numbers in bf16. */
  char *piece;
} Trial;

static int64_t matrix_bytes(const llmmem_matrix_form *matrix, int64_t rows, int64_t columns,
                            int64_t batch) {
  int64_t lines = matrix->transposed ? columns : rows, line = matrix->transposed ? rows : columns;
  return ((batch - 1) * matrix->stride + (lines - 1) * matrix->pitch + line) *
         (matrix->type == LLMMEM_PRODUCT_BF16 ? 2 : 4);
}

/* Gives `*place` the next bytes, where the matmul has such an operand. */
static void lay(Trial *trial, uint64_t *place, int64_t bytes) {
  if (*place == 0)
    return;
  *place = (uint64_t)trial->bytes;
  trial->bytes += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Places are distances from the beginning, counted from a multiple of the alignment that is not 0.
 * */
static void lay_out(Trial *trial) {
  llmmem_product *product = &trial->product;
  const llmmem_product_form *form = &product->form;
  int64_t width = form->c.type == LLMMEM_PRODUCT_BF16 ? 2 : 4,
          longest = form->rows > form->columns ? form->rows : form->columns;
  int in_place = product->initial == product->c;
  trial->bytes = ALIGNMENT;
  lay(trial, &product->a, matrix_bytes(&form->a, form->rows, form->inner, form->batch));
  lay(trial, &product->b, matrix_bytes(&form->b, form->inner, form->columns, form->batch));
  if (!in_place && product->initial)
    lay(trial, &product->initial,
        matrix_bytes(&form->initial, form->rows, form->columns, form->batch));
  trial->read_bytes = trial->bytes;
  lay(trial, &product->bias, width * longest);
  lay(trial, &product->aux, width * form->rows * form->aux_pitch);
  trial->result_begin = trial->read_bytes;
  lay(trial, &product->c, matrix_bytes(&form->c, form->rows, form->columns, form->batch));
  if (in_place)
    product->initial = product->c;
  lay(trial, &product->workspace, form->workspace_bytes);
}

/* Uses the arena, which holds no value between steps, or memory that is released later. Returns 1
 * where neither is large enough. */
static int find_memory(Trial *trial) {
  llmmem_cuda *run = trial->run;
  if ((uint64_t)trial->bytes <= run->memory.arena_bytes) {
    trial->begin = run->memory.arena;
    return 0;
  }
  trial->is_allocated = 1;
  return run->driver.memory_alloc(&trial->begin, (size_t)trial->bytes) != 0;
}

static void move_to_memory(Trial *trial) {
  llmmem_product *product = &trial->product;
  uint64_t *places[] = {&product->a,    &product->b,   &product->initial,  &product->c,
                        &product->bias, &product->aux, &product->workspace};
  for (size_t k = 0; k < sizeof places / sizeof *places; ++k)
    if (*places[k])
      *places[k] += trial->begin;
}

/* Times depend on numbers: zeros take less power, so clocks stay higher. */
static int make_numbers(Trial *trial) {
  trial->numbers = malloc(PIECE_BYTES);
  trial->piece = malloc(PIECE_BYTES);
  if (!trial->numbers || !trial->piece)
    return fail(trial->run, "timing matmuls", "not enough memory on the host");
  uint64_t stream = llmmem_sample_stream(1);
  /* Some thousand numbers repeat, because a normal number takes long to sample. */
  enum { SAMPLED = 1 << 14 };
  for (size_t k = 0; k < PIECE_BYTES / sizeof *trial->numbers; ++k) {
    float x = (float)llmmem_sample_normal(stream, k % SAMPLED);
    uint32_t bits;
    if (k >= SAMPLED) {
      trial->numbers[k] = trial->numbers[(k * 7 + k / SAMPLED) % SAMPLED];
      continue;
    }
    memcpy(&bits, &x, sizeof bits);
    trial->numbers[k] = (uint16_t)(bits >> 16);
  }
  return 0;
}

static int fill(Trial *trial) {
  llmmem_cuda *run = trial->run;
  for (int64_t at = 0; at < trial->bytes; at += PIECE_BYTES) {
    int64_t count = trial->bytes - at < PIECE_BYTES ? trial->bytes - at : PIECE_BYTES;
    if (llmmem_cuda_upload(run, trial->begin + (uint64_t)at, trial->numbers, count))
      return 1;
  }
  return 0;
}

/*===----------------------------------------------------------------------===*\
|* Times and bits
\*===----------------------------------------------------------------------===*/

static int try_times(Trial *trial, const llmmem_product_algorithm *candidate, int times) {
  for (int k = 0; k < times; ++k)
    if (llmmem_products_try(trial->run->matmuls.products, &trial->product, candidate,
                            trial->run->stream))
      return 1;
  return 0;
}

/* Returns the mean of some calls. An algorithm that the library refuses to run takes for ever. */
static int64_t time_of(Trial *trial, const llmmem_product_algorithm *candidate) {
  llmmem_cuda *run = trial->run;
  int64_t ns = 0;
  if (try_times(trial, candidate, WARM_CALLS) ||
      llmmem_cuda_make_marks(run, &run->timing.marks, 2) ||
      check(run, run->driver.event_record(run->timing.marks.events[0], run->stream),
            "timing matmuls") ||
      try_times(trial, candidate, TIMED_CALLS) ||
      check(run, run->driver.event_record(run->timing.marks.events[1], run->stream),
            "timing matmuls") ||
      check(run, run->driver.stream_wait(run->stream), "timing matmuls") ||
      llmmem_cuda_read_marks(run, &ns, 1))
    return INT64_MAX;
  return ns / TIMED_CALLS;
}

/* Hashes everything that one call writes, from the same numbers. */
static int hash_once(Trial *trial, const llmmem_product_algorithm *candidate, uint64_t *hash) {
  llmmem_cuda *run = trial->run;
  if (fill(trial) || try_times(trial, candidate, 1))
    return 1;
  int64_t end =
      trial->product.workspace ? (int64_t)(trial->product.workspace - trial->begin) : trial->bytes;
  *hash = 0;
  for (int64_t at = trial->result_begin; at < end; at += PIECE_BYTES) {
    int64_t count = end - at < PIECE_BYTES ? end - at : PIECE_BYTES;
    if (llmmem_cuda_download(run, trial->piece, trial->begin + (uint64_t)at, count))
      return 1;
    *hash = llmmem_content_hash_from(*hash, trial->piece, (size_t)count);
  }
  return 0;
}

/* Checks what the schemes claim: equal numbers give equal bits twice. */
static int is_deterministic(Trial *trial, const llmmem_product_algorithm *candidate) {
  uint64_t first, second;
  return hash_once(trial, candidate, &first) == 0 && hash_once(trial, candidate, &second) == 0 &&
         first == second;
}

/* Returns the fastest of the candidates, the first of equals; null if none is left. */
static llmmem_product_algorithm *find_fastest(llmmem_product_algorithm *candidates, int64_t count) {
  llmmem_product_algorithm *best = NULL;
  for (int64_t k = 0; k < count; ++k)
    if (candidates[k].ns < INT64_MAX && (!best || candidates[k].ns < best->ns))
      best = &candidates[k];
  return best;
}

static int tune(Trial *trial, llmmem_product_algorithm *candidates, int64_t count) {
  llmmem_cuda *run = trial->run;
  if (make_numbers(trial) || fill(trial))
    return 1;
  for (int64_t k = 0; k < count && !run->failed; ++k)
    candidates[k].ns = time_of(trial, &candidates[k]);
  llmmem_product_algorithm *best = NULL;
  while (!run->failed && (best = find_fastest(candidates, count)) && !is_deterministic(trial, best))
    best->ns = INT64_MAX;
  if (run->failed)
    return 1;
  return best && llmmem_products_give(run->matmuls.products, best)
             ? fail(run, "timing matmuls", llmmem_products_message(run->matmuls.products))
             : 0;
}

int llmmem_cuda_tune(llmmem_cuda *run, const llmmem_product *product) {
  llmmem_product_algorithm candidates[MOST_CANDIDATES];
  int64_t count =
      llmmem_products_candidates(run->matmuls.products, product, candidates, MOST_CANDIDATES);
  if (count == 0)
    return 0;
  Trial trial = {.run = run, .product = *product};
  lay_out(&trial);
  int failed = 0, has_memory = !find_memory(&trial);
  if (has_memory) {
    move_to_memory(&trial);
    failed = tune(&trial, candidates, count);
  }
  if (has_memory && trial.is_allocated)
    run->driver.memory_free(trial.begin);
  free(trial.numbers);
  free(trial.piece);
  return failed;
}
