/*===- Prices.c - What each op of a step adds to a replay of it -------------===*/

#include "Runner/Prices.h"
#include "Probe/Probe.h"
#include "Runner/EventCosts.h"
#include <stdlib.h>

/* The first run of each op loads code. */
enum { ROUNDS = 8 };

static int compare(const void *a, const void *b) {
  int64_t first = *(const int64_t *)a, second = *(const int64_t *)b;
  return (first > second) - (first < second);
}

/* Runs steps by turns: `marked` gets the times of each op, `step` the median of the replays. */
static int measure_rounds(Replay *replay, Profile *marked, int64_t *ns, int64_t *step) {
  int64_t replays[ROUNDS];
  replay->takes_marks = 0;
  if (replay_capture(replay, 0, replay->program->call_count, 1))
    return 1;
  replay->takes_marks = 1;
  for (int round = 0; round < ROUNDS; ++round) {
    if (llmmem_cuda_replay(replay->run))
      return 1;
    replays[round] = llmmem_cuda_replay_ns(replay->run);
    if (llmmem_cuda_run_marked(replay->run, replay_calls, replay, ns,
                               (int64_t)replay->program->timed_count) ||
        profile_add(marked, ns))
      return 1;
  }
  qsort(replays + 1, ROUNDS - 1, sizeof *replays, compare);
  *step = replays[1 + (ROUNDS - 1) / 2];
  return 0;
}

/* An op that calls nothing has no price. */
static int64_t time_of(const Profile *marked, size_t op) {
  size_t count;
  timed_calls(marked->program, (int64_t)op, &count);
  return count ? profile_median(marked, op) : 0;
}

static void price_all(const Profile *marked, int64_t step, int64_t *ns) {
  size_t count = marked->program->timed_count;
  int64_t sum = 0, calls = 0;
  for (size_t op = 0; op < count; ++op) {
    ns[op] = time_of(marked, op);
    sum += ns[op];
    calls += ns[op] > 0;
  }
  for (size_t op = 0; op < count; ++op)
    ns[op] = ns_without_events(ns[op], sum, step, calls);
}

int prices_measure(Replay *replay, Profile *profile) {
  Profile marked = {.program = replay->program};
  int64_t *ns = calloc(replay->program->timed_count + 1, sizeof *ns), step = 0;
  int failed = !ns || measure_rounds(replay, &marked, ns, &step);
  if (!failed) {
    price_all(&marked, step, ns);
    failed = profile_add(profile, ns);
  }
  profile_close(&marked);
  free(ns);
  return failed;
}
