/*===- CallQueue.c - Calls that another thread runs one after another ------===*/

#define _GNU_SOURCE /* CLOCK_REALTIME */
#include "CallQueue.h"
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kMostCalls = 64 };

typedef struct {
  llmmem_iterations run;
  char context[LLMMEM_MOST_CONTEXT];
} Call;

struct CallQueue {
  void (*begin)(void *);
  void *context;
  pthread_t thread;
  bool has_thread;
  pthread_mutex_t lock; /* Guards everything below. */
  pthread_cond_t changed;
  int64_t started, done, waited; /* Count calls so far. */
  /* Says whether the thread ends: after the last call, or after the running one. */
  enum { GOES_ON, ENDS_AFTER_LAST, ENDS_NOW } end;
  bool runs;              /* Says whether a call runs. */
  Call calls[kMostCalls]; /* Call k is at k modulo kMostCalls. */
};

/*===----------------------------------------------------------------------===*/
/* The thread                                                                 */
/*===----------------------------------------------------------------------===*/

/* Returns the next call, or null at the end. It stays in its place until it is done. */
static Call *take_call(CallQueue *self) {
  pthread_mutex_lock(&self->lock);
  while (self->done == self->started && self->end == GOES_ON)
    pthread_cond_wait(&self->changed, &self->lock);
  bool is_left = self->done < self->started && self->end != ENDS_NOW;
  Call *call = is_left ? &self->calls[self->done % kMostCalls] : NULL;
  self->runs = is_left;
  pthread_mutex_unlock(&self->lock);
  return call;
}

static void *run_calls(void *context) {
  CallQueue *self = context;
  self->begin(self->context);
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

static bool start_thread(CallQueue *self) {
  /* Signals belong to the caller. */
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  self->has_thread = pthread_create(&self->thread, NULL, run_calls, self) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return self->has_thread;
}

static void free_queue(CallQueue *self) {
  pthread_cond_destroy(&self->changed);
  pthread_mutex_destroy(&self->lock);
  free(self);
}

CallQueue *llmmem_open_calls(void (*begin)(void *), void *context) {
  CallQueue *made = calloc(1, sizeof *made);
  if (!made)
    return NULL;
  made->begin = begin;
  made->context = context;
  pthread_mutex_init(&made->lock, NULL);
  pthread_cond_init(&made->changed, NULL);
  if (start_thread(made))
    return made;
  free_queue(made);
  return NULL;
}

void llmmem_close_calls(CallQueue *self) {
  if (!self)
    return;
  pthread_mutex_lock(&self->lock);
  if (self->end == GOES_ON)
    self->end = ENDS_AFTER_LAST;
  pthread_cond_broadcast(&self->changed);
  pthread_mutex_unlock(&self->lock);
  if (self->has_thread)
    pthread_join(self->thread, NULL);
  free_queue(self);
}

bool llmmem_stop_calls(CallQueue *self) {
  enum { SECONDS = 5 };
  if (!self || !self->has_thread || pthread_equal(self->thread, pthread_self()))
    return true;
  struct timespec end;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += SECONDS;
  pthread_mutex_lock(&self->lock);
  self->end = ENDS_NOW;
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

void llmmem_start_call(CallQueue *self, llmmem_iterations run, const void *context, int64_t bytes) {
  if (!self->has_thread) { /* It was stopped. */
    char now[LLMMEM_MOST_CONTEXT];
    memcpy(now, context, (size_t)bytes);
    run(now, 0, 1);
    return;
  }
  pthread_mutex_lock(&self->lock);
  /* The first of them always ends, because all ranks start the same collectives in the same order.
   * */
  while (self->started - self->done == kMostCalls)
    pthread_cond_wait(&self->changed, &self->lock);
  Call *call = &self->calls[self->started++ % kMostCalls];
  call->run = run;
  memcpy(call->context, context, (size_t)bytes);
  pthread_cond_broadcast(&self->changed);
  pthread_mutex_unlock(&self->lock);
}

static void wait_until_done(CallQueue *self, int64_t calls) {
  while (self->done < calls)
    pthread_cond_wait(&self->changed, &self->lock);
}

bool llmmem_wait_for_call(CallQueue *self) {
  if (!self->has_thread)
    return true;
  pthread_mutex_lock(&self->lock);
  bool is_started = self->waited < self->started;
  if (is_started)
    wait_until_done(self, ++self->waited);
  pthread_mutex_unlock(&self->lock);
  return is_started;
}

void llmmem_wait_for_all_calls(CallQueue *self) {
  if (!self || !self->has_thread || pthread_equal(self->thread, pthread_self()))
    return;
  pthread_mutex_lock(&self->lock);
  wait_until_done(self, self->started);
  pthread_mutex_unlock(&self->lock);
}
