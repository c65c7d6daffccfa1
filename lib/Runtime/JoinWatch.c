/*===- JoinWatch.c - An end to waiting for ranks that never start ----------===*/

#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "JoinWatch.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct JoinWatch {
  pthread_t thread;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  bool is_stopped;
  long seconds;
};

enum { DEFAULT_SECONDS = 120, MOST_SECONDS = 365 * 24 * 3600 };

long llmmem_join_seconds(void) {
  const char *text = getenv("LLMMEM_JOIN_SECONDS");
  long seconds = text ? strtol(text, NULL, 10) : 0;
  return seconds <= 0 ? DEFAULT_SECONDS : seconds < MOST_SECONDS ? seconds : MOST_SECONDS;
}

/* Returns this rank's number, which launchers give before MPI does. */
static const char *rank_of_launcher(void) {
  static const char *const variables[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "RANK",
                                          "SLURM_PROCID"};
  for (size_t k = 0; k < sizeof variables / sizeof *variables; ++k)
    if (getenv(variables[k]))
      return getenv(variables[k]);
  return "?";
}

static void *watch_until_stopped(void *argument) {
  JoinWatch *watch = argument;
  struct timespec end;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += watch->seconds;
  pthread_mutex_lock(&watch->mutex);
  int code = 0;
  while (!watch->is_stopped && code == 0)
    code = pthread_cond_timedwait(&watch->changed, &watch->mutex, &end);
  if (!watch->is_stopped) {
    fprintf(stderr,
            "llmmem: rank %s has waited %ld s for the other ranks to start; see whether all of "
            "them run the same llmmem-run (LLMMEM_JOIN_SECONDS sets how long to wait)\n",
            rank_of_launcher(), watch->seconds);
    _exit(1);
  }
  pthread_mutex_unlock(&watch->mutex);
  return NULL;
}

JoinWatch *llmmem_start_join_watch(long seconds) {
  JoinWatch *watch = calloc(1, sizeof *watch);
  if (!watch)
    return NULL;
  watch->seconds = seconds;
  pthread_mutex_init(&watch->mutex, NULL);
  pthread_cond_init(&watch->changed, NULL);
  if (pthread_create(&watch->thread, NULL, watch_until_stopped, watch) != 0) {
    free(watch);
    return NULL;
  }
  return watch;
}

void llmmem_stop_join_watch(JoinWatch *watch) {
  if (!watch)
    return;
  pthread_mutex_lock(&watch->mutex);
  watch->is_stopped = true;
  pthread_cond_signal(&watch->changed);
  pthread_mutex_unlock(&watch->mutex);
  pthread_join(watch->thread, NULL);
  pthread_cond_destroy(&watch->changed);
  pthread_mutex_destroy(&watch->mutex);
  free(watch);
}
