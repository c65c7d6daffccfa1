/*===- Started.c - Calls that run beside the step --------------------------===*/

#define _GNU_SOURCE /* pthread_setname_np */
#include "llmmem/Runtime/Started.h"
#include "DeviceRanks.h"
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kMostCalls = 64 };

typedef struct {
  llmmem_iterations run;
  char context[LLMMEM_MOST_CONTEXT];
} Call;

struct Communication {
  Job *job;
  pthread_t thread;
  bool has_thread;
  pthread_mutex_t lock; /* of all below */
  pthread_cond_t changed;
  int64_t started, done, waited; /* calls so far */
  bool ends, stops;              /* behind the last call; behind the one that runs now */
  bool runs;                     /* a call, in which it may speak to the transport */
  Call calls[kMostCalls];        /* call k at k modulo kMostCalls */
};

/*===----------------------------------------------------------------------===*/
/* The thread of communication                                                */
/*===----------------------------------------------------------------------===*/

/* The next call, or null at the end. It stays where it is until it is done. */
static Call *take_call(Communication *self) {
  pthread_mutex_lock(&self->lock);
  while (self->done == self->started && !self->ends && !self->stops)
    pthread_cond_wait(&self->changed, &self->lock);
  bool is_left = self->done < self->started && !self->stops;
  Call *call = is_left ? &self->calls[self->done % kMostCalls] : NULL;
  self->runs = is_left;
  pthread_mutex_unlock(&self->lock);
  return call;
}

static void *communicate(void *context) {
  Communication *self = context;
  llmmem_enter_job(self->job);
  /* The pool of threads is the step's. */
  llmmem_set_threads(1);
  for (Call *call; (call = take_call(self));) {
    call->run(call->context, 0, 1);
    pthread_mutex_lock(&self->lock);
    ++self->done;
    self->runs = false;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
  }
  return NULL;
}

/* Where the system gives no thread, calls run where they are started. */
static void start_thread(Communication *self) {
  /* Signals are the caller's. */
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  self->has_thread = pthread_create(&self->thread, NULL, communicate, self) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static Communication *open_communication(Job *job) {
  Communication *made = calloc(1, sizeof *made);
  if (!made)
    return NULL;
  made->job = job;
  pthread_mutex_init(&made->lock, NULL);
  pthread_cond_init(&made->changed, NULL);
  start_thread(made);
  return made;
}

void llmmem_close_communication(Communication *self) {
  if (!self)
    return;
  pthread_mutex_lock(&self->lock);
  self->ends = true;
  pthread_cond_broadcast(&self->changed);
  pthread_mutex_unlock(&self->lock);
  if (self->has_thread)
    pthread_join(self->thread, NULL);
  pthread_cond_destroy(&self->changed);
  pthread_mutex_destroy(&self->lock);
  free(self);
}

bool llmmem_stop_communication(Communication *self) {
  enum { SECONDS = 5 };
  if (!self || !self->has_thread || pthread_equal(self->thread, pthread_self()))
    return true;
  struct timespec end;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += SECONDS;
  pthread_mutex_lock(&self->lock);
  self->stops = true;
  pthread_cond_broadcast(&self->changed);
  int code = 0;
  while (self->runs && code == 0)
    code = pthread_cond_timedwait(&self->changed, &self->lock, &end);
  bool is_quiet = !self->runs;
  pthread_mutex_unlock(&self->lock);
  if (is_quiet) {
    pthread_join(self->thread, NULL);
    self->has_thread = false;
  }
  return is_quiet;
}

/*===----------------------------------------------------------------------===*/
/* Starts and waits                                                           */
/*===----------------------------------------------------------------------===*/

_Noreturn static void fail(const char *what) {
  fprintf(stderr, "llmmem: rank %lld: %s\n", (long long)llmmem_rank(), what);
  llmmem_ranks_abort(1);
  exit(1);
}

/* The job's, opened at its first start; null where calls run at once. */
static Communication *communication(void) {
  Communication **slot = llmmem_communication();
  if (!slot)
    return NULL;
  if (!*slot)
    *slot = open_communication(llmmem_current_job());
  return *slot && (*slot)->has_thread ? *slot : NULL;
}

void llmmem_start(llmmem_iterations run, const void *context, int64_t bytes) {
  if (bytes > LLMMEM_MOST_CONTEXT)
    fail("a started call has more arguments than the runtime keeps");
  Call now;
  DeviceRanks *device = llmmem_device_of_job();
  if (device) {
    memcpy(now.context, context, (size_t)bytes);
    llmmem_device_start(device, run, now.context);
    return;
  }
  Communication *self = communication();
  if (!self) {
    memcpy(now.context, context, (size_t)bytes);
    run(now.context, 0, 1);
    return;
  }
  pthread_mutex_lock(&self->lock);
  /* All ranks start the same calls in the same order, so the first of them always ends. */
  while (self->started - self->done == kMostCalls)
    pthread_cond_wait(&self->changed, &self->lock);
  Call *call = &self->calls[self->started++ % kMostCalls];
  call->run = run;
  memcpy(call->context, context, (size_t)bytes);
  pthread_cond_broadcast(&self->changed);
  pthread_mutex_unlock(&self->lock);
}

static void wait_until_done(Communication *self, int64_t calls) {
  while (self->done < calls)
    pthread_cond_wait(&self->changed, &self->lock);
}

void llmmem_wait(void) {
  DeviceRanks *device = llmmem_device_of_job();
  if (device) {
    llmmem_device_wait(device);
    return;
  }
  Communication *self = communication();
  if (!self)
    return;
  pthread_mutex_lock(&self->lock);
  bool is_started = self->waited < self->started;
  if (is_started)
    wait_until_done(self, ++self->waited);
  pthread_mutex_unlock(&self->lock);
  if (!is_started)
    fail("waits for a call that nobody started");
}

void llmmem_wait_for_all_started(Communication *self) {
  if (!self || !self->has_thread || pthread_equal(self->thread, pthread_self()))
    return;
  pthread_mutex_lock(&self->lock);
  wait_until_done(self, self->started);
  pthread_mutex_unlock(&self->lock);
}
