/*===- ProbeAttention.c - Attention of a step by itself ---------------------===*/

#include "Bundle/Fill.h"
#include "Probe/Probe.h"
#include "Reference/Attention.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { Q, K, V, OUT, LSE, DOUT, DQ, DK, DV, TENSORS, REPEATS = 10, CHECKED = 64 };

/* Where a tensor lies: whole, or as columns of another whose rows are `pitch` elements apart. */
typedef struct {
  uint64_t address;
  int64_t begin, pitch;
} Place;

/* The operands and results, in the order of the op's. */
typedef struct {
  const Replay *replay;
  const Timed *timed;
  AttentionShape shape;
  size_t first_call, calls;
  int inputs, tensors; /* forward: q, k, v of q, k, v, out, lse */
  Place places[TENSORS];
} Probe;

static int64_t bytes_of(const AttentionShape *shape, int tensor) {
  int64_t rows = shape->batch * shape->seq, width = bytes_of_type(shape->type);
  if (tensor == LSE)
    return rows * shape->heads * (int64_t)sizeof(float);
  int is_narrow = tensor == K || tensor == V || tensor == DK || tensor == DV;
  return rows * (is_narrow ? shape->kv_heads : shape->heads) * shape->head * width;
}

/* Sends the tensor to its place, or fetches it: row by row where it is columns. */
static int copy_tensor(const Probe *probe, int tensor, void *data, int is_upload) {
  llmmem_cuda *cuda = probe->replay->run;
  const Place *place = &probe->places[tensor];
  int64_t bytes = bytes_of(&probe->shape, tensor), width = bytes_of_type(probe->shape.type);
  int64_t rows = place->pitch > 0 ? probe->shape.batch * probe->shape.seq : 1;
  for (int64_t row = 0; row < rows; ++row) {
    uint64_t there = place->address + (uint64_t)((place->begin + row * place->pitch) * width);
    char *here = (char *)data + row * (bytes / rows);
    if (is_upload ? llmmem_cuda_upload(cuda, there, here, bytes / rows)
                  : llmmem_cuda_download(cuda, here, there, bytes / rows))
      return 1;
  }
  return 0;
}

static int run(const Probe *probe, int repeats) {
  return replay_capture(probe->replay, probe->first_call, probe->calls, repeats) ||
         llmmem_cuda_replay(probe->replay->run);
}

/* Results may replace operands, so operands are sent before each run. */
static int compute(Probe *probe, void *const *data, void *const *results) {
  for (int k = 0; k < probe->inputs; ++k)
    if (copy_tensor(probe, k, data[k], /*is_upload=*/1))
      return 1;
  if (run(probe, 1))
    return 1;
  for (int k = probe->inputs; k < probe->tensors; ++k)
    if (copy_tensor(probe, k, results[k], /*is_upload=*/0))
      return 1;
  return 0;
}

static double error_of(const Probe *probe, void *const *data) {
  AttentionOperands operands = {.q = data[Q],
                                .k = data[K],
                                .v = data[V],
                                .out = data[OUT],
                                .lse = data[LSE],
                                .dout = data[DOUT],
                                .dq = data[DQ],
                                .dk = data[DK],
                                .dv = data[DV]};
  return probe->tensors > LSE + 1 ? attention_grad_error(&probe->shape, &operands, CHECKED, 7)
                                  : attention_error(&probe->shape, &operands, CHECKED, 7);
}

static void print_found(const Probe *probe, double worst, int same) {
  const AttentionShape *shape = &probe->shape;
  int64_t ns = llmmem_cuda_replay_ns(probe->replay->run) / REPEATS;
  printf("{\"products\":\"generated\",\"kind\":\"%s\",\"batch\":%lld,\"seq\":%lld,\"heads\":%lld,"
         "\"kv_heads\":%lld,\"head\":%lld,\"equal_bits\":%s,\"worst_error\":",
         probe->timed->kind, (long long)shape->batch, (long long)shape->seq,
         (long long)shape->heads, (long long)shape->kv_heads, (long long)shape->head,
         same ? "true" : "false");
  printf(isfinite(worst) ? "%.3g" : "null", worst);
  printf(",\"ns\":%lld,\"tflops\":%.3f}\n", (long long)ns,
         ns > 0 ? 1e-3 * (double)probe->timed->flops / (double)ns : 0.0);
  fflush(stdout);
}

/* Computes twice; `data` has the results of the first time. */
static int probe_twice(Probe *probe, void **data) {
  void *again[TENSORS] = {NULL};
  int failed = 0, same = 1;
  for (int k = probe->inputs; k < probe->tensors; ++k) {
    again[k] = malloc((size_t)bytes_of(&probe->shape, k) + 1);
    failed |= !again[k];
  }
  failed = failed || compute(probe, data, data) || compute(probe, data, again);
  for (int k = probe->inputs; k < probe->tensors && !failed; ++k)
    same &= memcmp(data[k], again[k], (size_t)bytes_of(&probe->shape, k)) == 0;
  if (!failed && !(failed = run(probe, REPEATS)))
    print_found(probe, error_of(probe, data), same);
  for (int k = 0; k < TENSORS; ++k)
    free(again[k]);
  return failed;
}

static int is_forward(const Timed *timed) { return strcmp(timed->kind, "attention") == 0; }
static int is_gradient(const Timed *timed) { return strcmp(timed->kind, "attention_grad") == 0; }

/* Returns 0 where the places of all its tensors are known and in the arena. */
static int find_places(Probe *probe) {
  const Timed *timed = probe->timed;
  JsonItems items = json_items(json_find(timed->attention, "tensors"));
  if (items.count != (size_t)probe->tensors)
    return 1;
  for (int k = 0; k < probe->tensors; ++k) {
    int64_t number = json_integer(&items.items[k], "place", -1);
    if (number < 0 || number >= (int64_t)timed->place_count ||
        timed->places[number].buffer < OF_ARENA)
      return 1;
    probe->places[k] = (Place){replay_word(probe->replay, timed->places[number]),
                               json_integer(&items.items[k], "begin", 0),
                               json_integer(&items.items[k], "pitch", 0)};
  }
  return 0;
}

/* Finds the first call of such an op, by itself or after what it needs. */
static int find(const Replay *replay, int (*is_it)(const Timed *timed), int inputs, int tensors,
                Probe *probe) {
  const Program *program = replay->program;
  for (size_t k = 0; k < program->timed_count; ++k) {
    const Timed *timed = &program->timed[k];
    if (!timed->attention || !is_it(timed))
      continue;
    int64_t window = json_integer(timed->attention, "window", 0);
    probe->replay = replay;
    probe->timed = timed;
    probe->shape = (AttentionShape){
        json_integer(timed->attention, "batch", 0),
        json_integer(timed->attention, "seq", 0),
        json_integer(timed->attention, "heads", 0),
        json_integer(timed->attention, "kv_heads", 0),
        json_integer(timed->attention, "head", 0),
        window,
        json_number(timed->attention, "scale", 1),
        strstr(timed->key, "xf32") && !strstr(timed->key, "xbf16") ? TYPE_F32 : TYPE_BF16};
    probe->inputs = inputs;
    probe->tensors = tensors;
    probe->first_call = timed_calls(program, (int64_t)k, &probe->calls);
    if (find_places(probe))
      continue;
    return attention_fits(&probe->shape);
  }
  return 0;
}

static int is_same_shape(const AttentionShape *a, const AttentionShape *b) {
  return a->batch == b->batch && a->seq == b->seq && a->heads == b->heads &&
         a->kv_heads == b->kv_heads && a->head == b->head && a->window == b->window &&
         a->scale == b->scale && a->type == b->type;
}

int probe_attention(Replay *replay) {
  Probe forward, gradient;
  void *data[TENSORS] = {NULL};
  if (!find(replay, is_forward, OUT, LSE + 1, &forward))
    return 0;
  int failed = 0;
  for (int k = 0; k < TENSORS; ++k) {
    int64_t bytes = bytes_of(&forward.shape, k);
    data[k] = malloc((size_t)bytes + 1);
    Buffer buffer = {.type = k == LSE ? TYPE_F32 : forward.shape.type,
                     .make = MAKE_NORMAL,
                     .stream = (uint64_t)k + 1,
                     .value = 1};
    if (data[k])
      fill_all(&buffer, 0, bytes / bytes_of_type(buffer.type), data[k]);
    failed |= !data[k];
  }
  failed = failed || probe_twice(&forward, data);
  /* The gradient's operands are what the forward has just given. */
  int is_same = find(replay, is_gradient, DQ, TENSORS, &gradient) &&
                is_same_shape(&gradient.shape, &forward.shape);
  if (is_same)
    failed = failed || probe_twice(&gradient, data);
  for (int k = 0; k < TENSORS; ++k)
    free(data[k]);
  return failed;
}
