/*===- Fill.h - What the buffers of a step hold -----------------------------===*/

#ifndef LLMMEM_TOOLS_LLMMEM_REPLAY_FILL_H
#define LLMMEM_TOOLS_LLMMEM_REPLAY_FILL_H

#include "Bundle/Bundle.h"
#include "llmmem/Runtime/Cuda.h"

/* Token ids, batch after batch, as llmmem-run feeds them without --shuffle. */
typedef struct {
  int32_t *ids; /* null where they are those of a text */
  char *text;
  int32_t id_of_byte[256];
  size_t count;
} Tokens;

/* Reads the bytes of a text, or numbers separated by white space; the reason of a failure in
 * `message`.
 */
int tokens_read(Tokens *tokens, const char *path, int is_text, int64_t vocabulary, char *message,
                size_t size);
void tokens_free(Tokens *tokens);

/* Writes elements `first` to `first + count` of what `buffer` holds at first, as bytes. */
void fill_elements(const Buffer *buffer, uint64_t seed, int64_t first, int64_t count, void *to);

/* Writes the first `count` of them, by all threads. */
void fill_all(const Buffer *buffer, uint64_t seed, int64_t count, void *to);

/* The inputs of step `number`, counted from 0. */
typedef struct {
  const Tokens *tokens;
  uint64_t seed;
  double rate;
  int64_t number;
} StepInputs;

/* Both return 0, or 1 and then llmmem_cuda_message says why. `host` has the address of each buffer
 * that lies on the host. */
int fill_at_first(llmmem_cuda *run, const Bundle *bundle, uint64_t seed, void *const *host);
int fill_before_step(llmmem_cuda *run, const Bundle *bundle, const StepInputs *inputs,
                     void *const *host);

/* Returns the loss in the bytes of its buffer. */
double read_number(ElementType type, const void *bytes);

#endif /* LLMMEM_TOOLS_LLMMEM_REPLAY_FILL_H */
