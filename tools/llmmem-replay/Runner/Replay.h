/*===- Replay.h - A bundle on a GPU -----------------------------------------===*/

#ifndef LLMMEM_TOOLS_LLMMEM_REPLAY_REPLAY_H
#define LLMMEM_TOOLS_LLMMEM_REPLAY_REPLAY_H

#include "Bundle/Bundle.h"
#include "llmmem/Runtime/Cuda.h"

typedef struct {
  const Bundle *bundle;
  const Program *program;
  llmmem_cuda *run;
  void **host; /* of each buffer, its memory where it lies on the host */
  void *host_arena;
  /* The library of updates on the host, and its functions. It is never closed: graphs of the run
   * call them. */
  void *host_code;
  llmmem_host_kernel *functions;
  int takes_marks; /* whether calls are timed */
  /* The bytes that the device has less: since it was opened, by the kernels' code, by what was
   * reserved. */
  int64_t context_bytes, code_bytes, reserved_bytes;
  char message[4096];
} Replay;

typedef enum { REPLAY_DONE, REPLAY_BAD, REPLAY_NO_MEMORY } ReplayOutcome;

/* Loads the program's kernels onto the device of `run`, and reserves the step's memory. The reason
 * of a failure is in `message`; closed either way. */
ReplayOutcome replay_open(Replay *replay, const Bundle *bundle, const Program *program,
                          llmmem_cuda *run);
/* Releases what is not the run's. */
void replay_close(Replay *replay);

/* Makes all calls once; `context` is the Replay. */
void replay_calls(void *context);

/* Records `count` of the calls from `first` on, so many times, and runs nothing. */
int replay_capture(const Replay *replay, size_t first, size_t count, int repeats);

/* Makes one of the calls. */
void replay_call(const Replay *replay, size_t number);
/* Returns the product of a call of the library, with addresses of this run. */
llmmem_product replay_product(const Replay *replay, const Call *call, int64_t number);

/* Returns zeros on pages of their own, as pinning takes whole pages, or null if there is no memory.
 */
void *allocate_pages(int64_t bytes);
void free_pages(void *pages, int64_t bytes);

/* Returns the address of a byte of a buffer, or the number. */
uint64_t replay_word(const Replay *replay, Word word);

/* Computes the hash of all parameters as they are now. */
int replay_digest(Replay *replay, uint64_t *digest);

#endif /* LLMMEM_TOOLS_LLMMEM_REPLAY_REPLAY_H */
