/*===- HostCopies.c - Copies between the device's memory and the host's ----===*/

#define _GNU_SOURCE /* clock_nanosleep */
#include "llmmem/Runtime/HostCopies.h"
#include "CallQueue.h"
#include "llmmem/Runtime/Runtime.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kUpdates = LLMMEM_COPY_TO_DEVICE + 1, kQueues };

static _Atomic int64_t throttle; /* Bytes per second; 0 means no limit. */

void llmmem_throttle_copies(int64_t bytes_per_second) { throttle = bytes_per_second; }

/*===----------------------------------------------------------------------===*/
/* A copy                                                                     */
/*===----------------------------------------------------------------------===*/

static void sleep_until(int64_t ns) {
  const int64_t kSecond = 1000000000;
  struct timespec end = {.tv_sec = ns / kSecond, .tv_nsec = ns % kSecond};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) != 0)
    ;
}

/* A throttled copy has its bytes at the end of its time, so a reader that does not wait sees old
 * ones. */
void llmmem_copy(void *to, const void *from, int64_t bytes) {
  int64_t rate = throttle;
  if (rate > 0)
    sleep_until(llmmem_clock() + (int64_t)(1e9 * (double)bytes / (double)rate));
  memcpy(to, from, (size_t)bytes);
}

typedef struct {
  void *to;
  const void *from;
  int64_t bytes;
} Copy;

static void run_copy(void *context, int64_t begin, int64_t end) {
  (void)begin, (void)end;
  const Copy *copy = context;
  llmmem_copy(copy->to, copy->from, copy->bytes);
}

/*===----------------------------------------------------------------------===*/
/* The threads of copies and updates                                          */
/*===----------------------------------------------------------------------===*/

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key; /* Each thread's queues: one for each direction, and that of updates. */
static bool has_key;

static void close_queues(void *queues) {
  for (int number = 0; number < kQueues; ++number)
    llmmem_close_calls(((CallQueue **)queues)[number]);
  free(queues);
}

static void make_key(void) { has_key = pthread_key_create(&key, close_queues) == 0; }

/* Loops of updates have as many threads as those of the step. */
static void begin(void *threads) { llmmem_set_threads((int)(intptr_t)threads); }

/* Returns this thread's queue; null where the system provides none. */
static CallQueue *queue_of(int64_t number) {
  pthread_once(&once, make_key);
  CallQueue **queues = has_key ? pthread_getspecific(key) : NULL;
  if (has_key && !queues) {
    queues = calloc(kQueues, sizeof *queues);
    if (!queues || pthread_setspecific(key, queues) != 0) {
      free(queues);
      return NULL;
    }
  }
  if (queues && !queues[number])
    queues[number] = llmmem_open_calls(begin, (void *)(intptr_t)llmmem_threads());
  return queues ? queues[number] : NULL;
}

static void wait_for_first(int64_t number, const char *what) {
  CallQueue *queue = queue_of(number);
  if (!queue || llmmem_wait_for_call(queue))
    return;
  fprintf(stderr, "llmmem: waits for %s that nobody started\n", what);
  exit(1);
}

void llmmem_copy_start(void *to, const void *from, int64_t bytes, int64_t direction) {
  Copy copy = {to, from, bytes};
  CallQueue *queue = queue_of(direction);
  if (queue)
    llmmem_start_call(queue, run_copy, &copy, sizeof copy);
  else
    llmmem_copy(to, from, bytes);
}

void llmmem_copy_wait(int64_t direction) { wait_for_first(direction, "a copy"); }

/*===----------------------------------------------------------------------===*/
/* Updates                                                                    */
/*===----------------------------------------------------------------------===*/

void llmmem_update_start(llmmem_iterations run, const void *context, int64_t bytes) {
  if (bytes > LLMMEM_MOST_CONTEXT) {
    fprintf(stderr, "llmmem: an update has more arguments than the runtime keeps\n");
    exit(1);
  }
  CallQueue *queue = queue_of(kUpdates);
  if (queue) {
    llmmem_start_call(queue, run, context, bytes);
    return;
  }
  char now[LLMMEM_MOST_CONTEXT];
  memcpy(now, context, (size_t)bytes);
  run(now, 0, 1);
}

void llmmem_update_wait(void) { wait_for_first(kUpdates, "an update"); }
