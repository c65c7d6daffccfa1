/*===- Replay.c - A bundle on a GPU -----------------------------------------===*/

#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "Runner/Replay.h"
#include "llmmem/Runtime/Samples.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/*===----------------------------------------------------------------------===*\
|* Opening
\*===----------------------------------------------------------------------===*/

static int fail_with_run(Replay *replay) {
  snprintf(replay->message, sizeof replay->message, "%s", llmmem_cuda_message(replay->run));
  return 1;
}

static int load_module(Replay *replay, size_t module) {
  Image found;
  const Image *image =
      bundle_image(replay->bundle, replay->program, module, llmmem_cuda_capability(replay->run),
                   &found, replay->message, sizeof replay->message);
  char *contents =
      image ? bundle_load(replay->bundle, image, replay->message, sizeof replay->message) : NULL;
  if (!contents)
    return 1;
  int failed = llmmem_cuda_load(replay->run, contents);
  free(contents);
  return failed ? fail_with_run(replay) : 0;
}

static int load_host_code(Replay *replay) {
  JsonItems names = replay->program->functions;
  replay->host_code = bundle_open_host_code(replay->bundle, replay->program, replay->message,
                                            sizeof replay->message);
  replay->functions = replay->host_code ? calloc(names.count + 1, sizeof *replay->functions) : NULL;
  for (size_t k = 0; replay->functions && k < names.count; ++k) {
    const char *name = names.items[k].kind == JSON_TEXT ? names.items[k].as.text : "";
    /* ISO C has no conversion from an object pointer to a function's. */
    *(void **)&replay->functions[k] = dlsym(replay->host_code, name);
    if (!replay->functions[k]) {
      snprintf(replay->message, sizeof replay->message, "the code of the host has no function '%s'",
               name);
      return 1;
    }
  }
  return !replay->functions;
}

static int load(Replay *replay) {
  const Program *program = replay->program;
  for (size_t k = 0; k < program->modules.count; ++k)
    if (load_module(replay, k))
      return 1;
  for (size_t k = 0; k < program->kernel_count; ++k)
    if (llmmem_cuda_add_kernel(replay->run, program->kernels[k].module, program->kernels[k].name))
      return fail_with_run(replay);
  return program->host_code ? load_host_code(replay) : 0;
}

void *allocate_pages(int64_t bytes) {
  void *pages =
      mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? NULL : pages;
}

void free_pages(void *pages, int64_t bytes) { munmap(pages, (size_t)bytes); }

static void *allocate_pinned(Replay *replay, int64_t bytes) {
  void *pages = allocate_pages(bytes);
  if (!pages) {
    snprintf(replay->message, sizeof replay->message,
             "not enough memory for %lld bytes on the host", (long long)bytes);
    return NULL;
  }
  if (llmmem_cuda_pin(replay->run, pages, bytes) == 0)
    return pages;
  free_pages(pages, bytes);
  fail_with_run(replay);
  return NULL;
}

static int allocate_on_host(Replay *replay) {
  const Bundle *bundle = replay->bundle;
  replay->host = calloc(bundle->buffer_count + 1, sizeof *replay->host);
  if (!replay->host)
    return 1;
  for (size_t k = 0; k < bundle->buffer_count; ++k)
    if (bundle->buffers[k].on_host && bundle->buffers[k].bytes > 0) {
      replay->host[k] = allocate_pinned(replay, bundle->buffers[k].bytes);
      if (!replay->host[k])
        return 1;
    }
  if (bundle->host_arena > 0)
    replay->host_arena = allocate_pinned(replay, bundle->host_arena);
  return bundle->host_arena > 0 && !replay->host_arena;
}

ReplayOutcome replay_open(Replay *replay, const Bundle *bundle, const Program *program,
                          llmmem_cuda *run) {
  memset(replay, 0, sizeof *replay);
  replay->bundle = bundle;
  replay->program = program;
  replay->run = run;
  replay->context_bytes = llmmem_cuda_measured_bytes(run);
  if (load(replay))
    return REPLAY_BAD;
  int64_t loaded = llmmem_cuda_measured_bytes(run);
  replay->code_bytes = loaded - replay->context_bytes;
  if (llmmem_cuda_reserve(run, bundle->resident, bundle->arena)) {
    fail_with_run(replay);
    return REPLAY_NO_MEMORY;
  }
  replay->reserved_bytes = llmmem_cuda_measured_bytes(run) - loaded;
  return allocate_on_host(replay) ? REPLAY_NO_MEMORY : REPLAY_DONE;
}

static void free_pinned(Replay *replay, void *pages, int64_t bytes) {
  if (!pages)
    return;
  llmmem_cuda_unpin(replay->run, pages);
  free_pages(pages, bytes);
}

void replay_close(Replay *replay) {
  for (size_t k = 0; replay->host && k < replay->bundle->buffer_count; ++k)
    free_pinned(replay, replay->host[k], replay->bundle->buffers[k].bytes);
  free_pinned(replay, replay->host_arena, replay->bundle ? replay->bundle->host_arena : 0);
  free(replay->host);
  free(replay->functions);
  replay->host = NULL;
  replay->functions = NULL;
  replay->host_arena = NULL;
}

/*===----------------------------------------------------------------------===*\
|* Calls
\*===----------------------------------------------------------------------===*/

uint64_t replay_word(const Replay *replay, Word word) {
  if (word.buffer == OF_NUMBER)
    return (uint64_t)word.value;
  if (word.buffer == OF_ARENA)
    return llmmem_cuda_arena(replay->run) + (uint64_t)word.value;
  if (word.buffer == OF_HOST_ARENA)
    return (uint64_t)(uintptr_t)replay->host_arena + (uint64_t)word.value;
  const Buffer *buffer = &replay->bundle->buffers[word.buffer];
  uint64_t begin = buffer->on_host ? (uint64_t)(uintptr_t)replay->host[word.buffer]
                                   : llmmem_cuda_resident(replay->run) + (uint64_t)buffer->offset;
  return begin + (uint64_t)word.value;
}

static void launch(const Replay *replay, const Call *call) {
  uint64_t values[MOST_ARGUMENTS];
  for (size_t k = 0; k < call->count; ++k)
    values[k] = replay_word(replay, call->words[k]);
  llmmem_cuda_launch_mapped(replay->run, call->number, call->grid[0], call->grid[1], call->grid[2],
                            call->block[0], call->block[1], call->block[2], call->bytes, values,
                            (int64_t)call->count, call->maps, (int64_t)call->map_count);
}

llmmem_product replay_product(const Replay *replay, const Call *call, int64_t number) {
  const Program *library =
      bundle_program(replay->bundle, "library", llmmem_cuda_capability(replay->run));
  const Form *form = &library->forms[call->number];
  uint64_t places[7];
  for (size_t k = 0; k < 7; ++k)
    places[k] = replay_word(replay, call->words[k]);
  return (llmmem_product){.form = form->form,
                          .a = places[0],
                          .b = places[1],
                          .initial = places[2],
                          .c = places[3],
                          .bias = places[4],
                          .aux = places[5],
                          .workspace = places[6],
                          .alpha = form->alpha,
                          .number = number};
}

static void multiply(const Replay *replay, const Call *call, int64_t number) {
  llmmem_product product = replay_product(replay, call, number);
  llmmem_cuda_multiply(replay->run, &product);
}

static void copy(const Replay *replay, const Call *call) {
  uint64_t to = replay_word(replay, call->words[0]), from = replay_word(replay, call->words[1]);
  if (call->kind == CALL_COPY)
    llmmem_cuda_copy(replay->run, to, from, call->bytes);
  else if (call->kind == CALL_HOST_COPY)
    llmmem_cuda_host_copy(replay->run, to, from, call->bytes, call->number);
  else
    llmmem_cuda_host_copy_start(replay->run, to, from, call->bytes, call->number);
}

static void update(const Replay *replay, const Call *call) {
  uint64_t values[MOST_ARGUMENTS];
  for (size_t k = 0; k < call->count; ++k)
    values[k] = replay_word(replay, call->words[k]);
  llmmem_host_kernel function = replay->functions[call->number];
  if (call->kind == CALL_UPDATE)
    llmmem_cuda_update(replay->run, function, values, (int64_t)call->count);
  else
    llmmem_cuda_update_start(replay->run, function, values, (int64_t)call->count);
}

void replay_call(const Replay *replay, size_t number) {
  const Call *call = &replay->program->calls[number];
  switch (call->kind) {
  case CALL_LAUNCH:
    launch(replay, call);
    break;
  case CALL_MULTIPLY:
    multiply(replay, call, (int64_t)number);
    break;
  case CALL_COPY:
  case CALL_HOST_COPY:
  case CALL_START_HOST_COPY:
    copy(replay, call);
    break;
  case CALL_WAIT_FOR_HOST_COPY:
    llmmem_cuda_host_copy_wait(replay->run, call->number);
    break;
  case CALL_UPDATE:
  case CALL_START_UPDATE:
    update(replay, call);
    break;
  case CALL_WAIT_FOR_UPDATE:
    llmmem_cuda_update_wait(replay->run);
    break;
  case CALL_MARK:
    if (replay->takes_marks)
      llmmem_cuda_mark(replay->run, call->number);
    break;
  }
}

void replay_calls(void *context) {
  const Replay *replay = context;
  for (size_t k = 0; k < replay->program->call_count; ++k)
    replay_call(replay, k);
}

typedef struct {
  const Replay *replay;
  size_t first, count;
  int repeats;
} CallRange;

static void repeat_calls(void *context) {
  const CallRange *range = context;
  for (int repeat = 0; repeat < range->repeats; ++repeat)
    for (size_t k = 0; k < range->count; ++k)
      replay_call(range->replay, range->first + k);
}

int replay_capture(const Replay *replay, size_t first, size_t count, int repeats) {
  CallRange range = {replay, first, count, repeats};
  return llmmem_cuda_capture(replay->run, repeat_calls, &range);
}

/*===----------------------------------------------------------------------===*\
|* The digest
\*===----------------------------------------------------------------------===*/

static int digest_buffer(Replay *replay, const Buffer *buffer, const char *on_host, char *piece,
                         int64_t most, uint64_t *digest) {
  for (int64_t at = 0; at < buffer->bytes; at += most) {
    int64_t count = buffer->bytes - at < most ? buffer->bytes - at : most;
    if (!on_host && llmmem_cuda_download(
                        replay->run, piece,
                        llmmem_cuda_resident(replay->run) + (uint64_t)(buffer->offset + at), count))
      return 1;
    *digest = llmmem_content_hash_from(*digest, on_host ? on_host + at : piece, (size_t)count);
  }
  return 0;
}

int replay_digest(Replay *replay, uint64_t *digest) {
  const int64_t most = 64 << 20;
  char *piece = malloc((size_t)most);
  int failed = !piece;
  *digest = 0;
  for (size_t k = 0; k < replay->bundle->buffer_count && !failed; ++k)
    if (strcmp(replay->bundle->buffers[k].role, "param") == 0)
      failed =
          digest_buffer(replay, &replay->bundle->buffers[k], replay->host[k], piece, most, digest);
  free(piece);
  return failed;
}
