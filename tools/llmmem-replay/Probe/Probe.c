/*===- Probe.c - Parts of a step by themselves ------------------------------===*/

#include "Probe/Probe.h"
#include "Bundle/Fill.h"
#include "Reference/Reference.h"
#include "Runner/Report.h"
#include "llmmem/Runtime/HostCopies.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { A, B, INITIAL, C, BIAS, AUX, OPERANDS, REPEATS = 10, CHECKED = 256 };

/* Some calls of the step, of which exactly one is a product. */
typedef struct {
  const Replay *replay;
  const Form *form;
  const Call *product;      /* of the program with a library: it names the operands */
  size_t first_call, calls; /* of the program that runs */
  int64_t timed;            /* the op that it is part of */
  void *kept[OPERANDS];     /* before it runs */
  int64_t bytes[OPERANDS];  /* 0: there is none */
} Probe;

/*===----------------------------------------------------------------------===*\
|* Operands
\*===----------------------------------------------------------------------===*/

static int64_t operand_bytes(const Form *form, int operand) {
  const llmmem_product_form *shape = &form->form;
  int64_t width = shape->c.type == LLMMEM_PRODUCT_BF16 ? 2 : 4;
  switch (operand) {
  case A:
    return matrix_bytes(&shape->a, shape->rows, shape->inner, shape->batch);
  case B:
    return matrix_bytes(&shape->b, shape->inner, shape->columns, shape->batch);
  case INITIAL:
    return matrix_bytes(&shape->initial, shape->rows, shape->columns, shape->batch);
  case C:
    return matrix_bytes(&shape->c, shape->rows, shape->columns, shape->batch);
  case BIAS:
    return width * (shape->epilogue == LLMMEM_EPILOGUE_BGRAD_A ? shape->rows : shape->columns);
  default:
    return width * ((shape->rows - 1) * shape->aux_pitch + shape->columns);
  }
}

static int has_operand(const Probe *probe, int operand) {
  return probe->product->words[operand].buffer != OF_NUMBER;
}

static ElementType type_of(const Form *form, int operand) {
  int64_t type = operand == A   ? form->form.a.type
                 : operand == B ? form->form.b.type
                                : form->form.c.type;
  return type == LLMMEM_PRODUCT_BF16 ? TYPE_BF16 : TYPE_F32;
}

static int fill_operand(Probe *probe, int operand) {
  ElementType type = type_of(probe->form, operand);
  int64_t bytes = operand_bytes(probe->form, operand);
  Buffer buffer = {.type = type, .make = MAKE_NORMAL, .stream = (uint64_t)operand + 1, .value = 1};
  void *host = malloc((size_t)bytes + 1);
  if (!host)
    return 1;
  probe->kept[operand] = host;
  probe->bytes[operand] = bytes;
  fill_all(&buffer, 0, bytes / bytes_of_type(type), host);
  return llmmem_cuda_upload(
      probe->replay->run, replay_word(probe->replay, probe->product->words[operand]), host, bytes);
}

static int fetch(const Probe *probe, int operand, void *to) {
  return llmmem_cuda_download(probe->replay->run, to,
                              replay_word(probe->replay, probe->product->words[operand]),
                              probe->bytes[operand]);
}

/* A result in place of an operand holds what was written last, so all are fetched again. */
static int fill_operands(Probe *probe) {
  for (int k = 0; k < OPERANDS; ++k)
    if (has_operand(probe, k) && fill_operand(probe, k))
      return 1;
  for (int k = 0; k < OPERANDS; ++k)
    if (probe->bytes[k] > 0 && fetch(probe, k, probe->kept[k]))
      return 1;
  return 0;
}

static int restore_operands(const Probe *probe) {
  for (int k = 0; k < OPERANDS; ++k)
    if (probe->bytes[k] > 0 &&
        llmmem_cuda_upload(probe->replay->run, replay_word(probe->replay, probe->product->words[k]),
                           probe->kept[k], probe->bytes[k]))
      return 1;
  return 0;
}

static void close_probe(Probe *probe) {
  for (int k = 0; k < OPERANDS; ++k)
    free(probe->kept[k]);
}

/*===----------------------------------------------------------------------===*\
|* One product
\*===----------------------------------------------------------------------===*/

static int capture_calls(const Probe *probe, int repeats) {
  return replay_capture(probe->replay, probe->first_call, probe->calls, repeats);
}

static int compute_twice(Probe *probe, void *first, void *second) {
  return capture_calls(probe, 1) || fill_operands(probe) ||
         llmmem_cuda_replay(probe->replay->run) || fetch(probe, C, first) ||
         restore_operands(probe) || llmmem_cuda_replay(probe->replay->run) ||
         fetch(probe, C, second);
}

static void multiply_in_place(void *context) {
  const Probe *probe = context;
  llmmem_product product = replay_product(probe->replay, probe->product, 0);
  product.initial = product.c;
  llmmem_cuda_multiply(probe->replay->run, &product);
}

/* Returns whether it is a call of the library that adds what lies elsewhere, and could lie in C. */
static int may_add_in_place(const Probe *probe) {
  const llmmem_product_form *shape = &probe->form->form;
  const Word *initial = &probe->product->words[INITIAL], *c = &probe->product->words[C];
  int is_apart = initial->buffer != c->buffer || initial->value != c->value;
  return strcmp(probe->replay->program->products, "library") == 0 && probe->bytes[INITIAL] > 0 &&
         is_apart && shape->initial.pitch == shape->c.pitch;
}

static int compute_in_place(Probe *probe, void *found) {
  uint64_t c = replay_word(probe->replay, probe->product->words[C]);
  return llmmem_cuda_capture(probe->replay->run, multiply_in_place, probe) ||
         restore_operands(probe) ||
         llmmem_cuda_upload(probe->replay->run, c, probe->kept[INITIAL], probe->bytes[INITIAL]) ||
         llmmem_cuda_replay(probe->replay->run) || fetch(probe, C, found);
}

static void print_form(const Probe *probe) {
  const llmmem_product_form *shape = &probe->form->form;
  const Timed *timed = &probe->replay->program->timed[probe->timed];
  printf("{\"products\":\"%s\",\"kind\":", probe->replay->program->products);
  print_text(stdout, timed->kind);
  fputs(",\"name\":", stdout);
  print_text(stdout, timed->name);
  printf(",\"batch\":%lld,\"rows\":%lld,\"columns\":%lld,\"inner\":%lld,\"type\":\"%s\","
         "\"transposed\":[%lld,%lld],\"epilogue\":%lld,\"workspace_bytes\":%lld",
         (long long)shape->batch, (long long)shape->rows, (long long)shape->columns,
         (long long)shape->inner, shape->c.type == LLMMEM_PRODUCT_BF16 ? "bf16" : "f32",
         (long long)shape->a.transposed, (long long)shape->b.transposed, (long long)shape->epilogue,
         (long long)shape->workspace_bytes);
}

/* What was measured of a product; `in_place` is -1 where it adds nothing, or always does so in C.
 */
typedef struct {
  double worst;
  int same, in_place;
  int64_t ns;
} Found;

static void print_found(const Probe *probe, const Found *found) {
  const llmmem_product_form *shape = &probe->form->form;
  double flops = 2.0 * (double)shape->batch * (double)shape->rows * (double)shape->columns *
                 (double)shape->inner;
  print_form(probe);
  printf(",\"equal_bits\":%s,\"worst_error\":", found->same ? "true" : "false");
  printf(isfinite(found->worst) ? "%.3g" : "null", found->worst);
  if (found->in_place >= 0)
    printf(",\"equal_in_place\":%s", found->in_place ? "true" : "false");
  printf(",\"ns\":%lld,\"tflops\":%.3f}\n", (long long)found->ns,
         found->ns > 0 ? 1e-3 * flops / (double)found->ns : 0.0);
  fflush(stdout);
}

static int probe_calls(Probe *probe) {
  size_t bytes = (size_t)operand_bytes(probe->form, C) + 1;
  void *first = malloc(bytes), *second = malloc(bytes);
  int failed = !first || !second || compute_twice(probe, first, second);
  if (!failed) {
    Operands operands = {probe->kept[A],    probe->kept[B],   probe->kept[INITIAL],
                         probe->kept[BIAS], probe->kept[AUX], first};
    Found found = {worst_error(probe->form, &operands, CHECKED, 7),
                   memcmp(first, second, bytes - 1) == 0, -1, 0};
    if (may_add_in_place(probe)) {
      failed = compute_in_place(probe, second);
      found.in_place = memcmp(first, second, bytes - 1) == 0;
    }
    failed = failed || capture_calls(probe, REPEATS) || llmmem_cuda_replay(probe->replay->run) ||
             llmmem_cuda_replay(probe->replay->run);
    found.ns = failed ? 0 : llmmem_cuda_replay_ns(probe->replay->run) / REPEATS;
    if (!failed)
      print_found(probe, &found);
  }
  free(first);
  free(second);
  return failed;
}

/* Returns whether the library has an algorithm. This is asked outside of the run, which would end.
 */
static int is_refused(Probe *probe) {
  llmmem_products *products = llmmem_cuda_products(probe->replay->run);
  llmmem_product product = replay_product(probe->replay, probe->product, 0);
  if (llmmem_cuda_choose_algorithm(probe->replay->run, &product) == 0)
    return 0;
  print_form(probe);
  fputs(",\"why\":", stdout);
  print_text(stdout, llmmem_products_message(products));
  fputs("}\n", stdout);
  return 1;
}

/*===----------------------------------------------------------------------===*\
|* All products
\*===----------------------------------------------------------------------===*/

size_t timed_calls(const Program *program, int64_t timed, size_t *count) {
  size_t first = 0;
  while (first < program->call_count &&
         !(program->calls[first].kind == CALL_MARK && program->calls[first].number == timed))
    ++first;
  size_t end = ++first;
  while (end < program->call_count && program->calls[end].kind != CALL_MARK)
    ++end;
  *count = end > first ? end - first : 0;
  return first;
}

static size_t count_products(const Program *program, size_t first, size_t count) {
  size_t products = 0;
  for (size_t k = first; k < first + count; ++k)
    products += program->calls[k].kind == CALL_MULTIPLY;
  return products;
}

int probe_products(Replay *replay) {
  const Program *library =
      bundle_program(replay->bundle, "library", llmmem_cuda_capability(replay->run));
  int by_library = replay->program == library;
  int64_t timed = -1;
  char *seen = calloc(library->form_count + 1, 1);
  int failed = !seen;
  for (size_t k = 0; k < library->call_count && !failed; ++k) {
    const Call *call = &library->calls[k];
    if (call->kind == CALL_MARK)
      timed = call->number;
    int is_timed = timed >= 0 && (size_t)timed < library->timed_count;
    if (call->kind != CALL_MULTIPLY || !is_timed || seen[call->number])
      continue;
    Probe probe = {.replay = replay,
                   .form = &library->forms[call->number],
                   .product = call,
                   .first_call = k,
                   .calls = 1,
                   .timed = timed};
    size_t count, first = timed_calls(library, timed, &count);
    /* Another program's calls of the op compute the same only where it is this product alone. */
    if (!by_library && count_products(library, first, count) != 1)
      continue;
    if (!by_library)
      probe.first_call = timed_calls(replay->program, timed, &probe.calls);
    seen[call->number] = 1;
    if (!by_library || !is_refused(&probe))
      failed = probe_calls(&probe);
    /* A file of algorithms that cannot be locked or written is no product's refusal. */
    failed = failed || *llmmem_cuda_message(replay->run);
    close_probe(&probe);
  }
  free(seen);
  return failed;
}

/*===----------------------------------------------------------------------===*\
|* Copies
\*===----------------------------------------------------------------------===*/

enum { COPY_BYTES = 256 << 20 };

typedef struct {
  llmmem_cuda *run;
  void *host;
  int64_t direction; /* -1: on the device */
} Copying;

static void copy(void *context) {
  const Copying *copying = context;
  uint64_t arena = llmmem_cuda_arena(copying->run), host = (uint64_t)(uintptr_t)copying->host;
  for (int k = 0; k < REPEATS; ++k) {
    if (copying->direction < 0)
      llmmem_cuda_copy(copying->run, arena + COPY_BYTES, arena, COPY_BYTES);
    else if (copying->direction == LLMMEM_COPY_TO_HOST)
      llmmem_cuda_host_copy(copying->run, host, arena, COPY_BYTES, LLMMEM_COPY_TO_HOST);
    else
      llmmem_cuda_host_copy(copying->run, arena, host, COPY_BYTES, LLMMEM_COPY_TO_DEVICE);
  }
}

int probe_copies(llmmem_cuda *run) {
  static const char *const names[] = {"on_device", "to_host", "from_host"};
  const int64_t directions[] = {-1, LLMMEM_COPY_TO_HOST, LLMMEM_COPY_TO_DEVICE};
  Copying copying = {run, allocate_pages(COPY_BYTES), 0};
  if (!copying.host)
    return 1;
  int failed = llmmem_cuda_reserve(run, 0, 2 * (int64_t)COPY_BYTES) ||
               llmmem_cuda_pin(run, copying.host, COPY_BYTES);
  fputs("{", stdout);
  for (int k = 0; k < 3 && !failed; ++k) {
    copying.direction = directions[k];
    failed = llmmem_cuda_capture(run, copy, &copying) || llmmem_cuda_replay(run) ||
             llmmem_cuda_replay(run);
    double ns = (double)llmmem_cuda_replay_ns(run);
    printf("%s\"%s_gb_per_s\":%.3f", k ? "," : "", names[k],
           ns > 0 ? (double)REPEATS * COPY_BYTES / ns : 0.0);
  }
  fputs("}\n", stdout);
  llmmem_cuda_unpin(run, copying.host);
  free_pages(copying.host, COPY_BYTES);
  return failed;
}
