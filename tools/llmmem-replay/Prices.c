/*===- Prices.c - Times of a step's ops, each in a graph of its own ---------===*/

#include "Prices.h"
#include "Probe.h"
#include <stdlib.h>
#include <string.h>

enum { REPEATS = 10 };

/* The op before `number` that has its key; `number` if it is the first. Ops without a key are like
 * no other. */
static size_t first_of_key(const Program *program, size_t number) {
  for (size_t k = 0; *program->timed[number].key && k < number; ++k)
    if (strcmp(program->timed[k].key, program->timed[number].key) == 0)
      return k;
  return number;
}

/* The first replay loads code, the second is measured. */
static int measure(const Replay *replay, size_t number, int64_t *ns) {
  size_t count, first = timed_calls(replay->program, (int64_t)number, &count);
  *ns = 0;
  if (count == 0)
    return 0;
  if (replay_capture(replay, first, count, REPEATS) || llmmem_cuda_replay(replay->run) ||
      llmmem_cuda_replay(replay->run))
    return 1;
  *ns = llmmem_cuda_replay_ns(replay->run) / REPEATS;
  return 0;
}

int prices_measure(Replay *replay, Profile *profile) {
  const Program *program = replay->program;
  int64_t *ns = calloc(program->timed_count + 1, sizeof *ns);
  int failed = !ns;
  for (size_t k = 0; k < program->timed_count && !failed; ++k) {
    size_t first = first_of_key(program, k);
    if (first == k)
      failed = measure(replay, k, &ns[k]);
    else
      ns[k] = ns[first];
  }
  failed = failed || profile_add(profile, ns);
  free(ns);
  return failed;
}
