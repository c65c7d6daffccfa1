/*===- Sockets.c - What hosts say to each other where there is no MPI -------===*/

#define _GNU_SOURCE /* POLLRDHUP */
#include "Sockets.h"
#include "JoinWatch.h"
#include "SocketJob.h"
#include "TransportPairs.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct llmmem_group {
  int rank, size;
  int *ranks; /* Those of the job, by position. */
};

typedef struct {
  llmmem_transport *transport;
  SocketJob job;
  int *peers;         /* Indexed by rank; -1 means this one. */
  llmmem_group world; /* The group of all ranks. */
  pthread_t watch;
  atomic_bool closes; /* Others may end from now on. */
  int wakes[2];       /* A pipe that ends the watch. */
} Sockets;

/*===----------------------------------------------------------------------===*/
/* Ranks that end                                                             */
/*===----------------------------------------------------------------------===*/

/* NCCL waits for ever for a rank that has ended, so its end also ends this one. A rank that is
 * alive and does not answer is waited for without end: how long a step takes is not known. */
static void *watch_peers(void *argument) {
  Sockets *self = argument;
  int ranks = self->job.ranks;
  struct pollfd *watched = calloc((size_t)ranks + 1, sizeof *watched);
  if (!watched)
    return NULL;
  for (int rank = 0; rank < ranks; ++rank)
    watched[rank] = (struct pollfd){self->peers[rank], POLLRDHUP, 0};
  watched[ranks] = (struct pollfd){self->wakes[0], POLLIN, 0};
  while (!watched[ranks].revents) {
    poll(watched, (nfds_t)ranks + 1, -1);
    for (int rank = 0; rank < ranks; ++rank)
      if (watched[rank].revents && !atomic_load(&self->closes)) {
        fprintf(stderr, "llmmem: rank %d: rank %d has ended, and so does the job\n", self->job.rank,
                rank);
        _exit(1);
      } else if (watched[rank].revents) {
        watched[rank].fd = -1;
      }
  }
  free(watched);
  return NULL;
}

/*===----------------------------------------------------------------------===*/
/* Pairs                                                                      */
/*===----------------------------------------------------------------------===*/

static int failed(Sockets *self, int rank) {
  snprintf(self->transport->message, sizeof self->transport->message,
           "the connection to rank %d is broken", rank);
  return 1;
}

/* Both directions run at once, so that two that send much never wait for each other. */
static int exchange(void *state, llmmem_group *group, const void *sent, int64_t sent_bytes,
                    int32_t to, void *received, int64_t received_bytes, int32_t from) {
  Sockets *self = state;
  const char *out = sent;
  char *in = received;
  int64_t sends = to < 0 ? 0 : sent_bytes, receives = from < 0 ? 0 : received_bytes;
  int target = to < 0 ? -1 : self->peers[group->ranks[to]];
  int source = from < 0 ? -1 : self->peers[group->ranks[from]];
  while (sends > 0 || receives > 0) {
    struct pollfd ready[2] = {{sends > 0 ? target : -1, POLLOUT, 0},
                              {receives > 0 ? source : -1, POLLIN, 0}};
    if (poll(ready, 2, -1) < 0 && errno != EINTR)
      return failed(self, group->ranks[to < 0 ? from : to]);
    if (ready[0].revents) {
      ssize_t done = send(target, out, (size_t)sends, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (done < 0 && errno != EAGAIN && errno != EINTR)
        return failed(self, group->ranks[to]);
      out += done > 0 ? done : 0;
      sends -= done > 0 ? done : 0;
    }
    if (ready[1].revents) {
      ssize_t done = recv(source, in, (size_t)receives, MSG_DONTWAIT);
      if (done == 0 || (done < 0 && errno != EAGAIN && errno != EINTR))
        return failed(self, group->ranks[from]);
      in += done > 0 ? done : 0;
      receives -= done > 0 ? done : 0;
    }
  }
  return 0;
}

static Pairs pairs_of(void *state, llmmem_group *group) {
  return (Pairs){state, group, group->rank, group->size, exchange};
}

static int scatter(void *state, llmmem_group *group, const void *whole, llmmem_pieces pieces,
                   void *received) {
  return scatter_in_pairs(pairs_of(state, group), whole, pieces, received);
}

static int gather(void *state, llmmem_group *group, void *whole, llmmem_pieces pieces) {
  return gather_in_pairs(pairs_of(state, group), whole, pieces);
}

static int broadcast(void *state, llmmem_group *group, void *data, int64_t bytes, int32_t root) {
  if (group->rank != root)
    return exchange(state, group, NULL, 0, -1, data, bytes, root);
  for (int position = 0; position < group->size; ++position)
    if (position != root && exchange(state, group, data, bytes, position, NULL, 0, -1))
      return 1;
  return 0;
}

static int barrier(void *state, llmmem_group *group) {
  char *each = calloc((size_t)group->size, 1);
  int code = !each || gather(state, group, each, (llmmem_pieces){group->size, 1});
  free(each);
  return code;
}

/* Stages of a pipeline exchange values on devices, which NCCL does. */
static int start_send(void *state, llmmem_group *group, const void *sent, int64_t bytes,
                      int32_t to) {
  (void)group, (void)sent, (void)bytes, (void)to;
  snprintf(((Sockets *)state)->transport->message, LLMMEM_TRANSPORT_MESSAGE,
           "sockets carry no messages between stages; expected NCCL");
  return 1;
}

static int start_receive(void *state, llmmem_group *group, void *received, int64_t bytes,
                         int32_t from) {
  (void)received;
  return start_send(state, group, NULL, bytes, from);
}

static int wait_all(void *state, llmmem_group *group) {
  return start_send(state, group, NULL, 0, 0);
}

/*===----------------------------------------------------------------------===*/
/* Groups and the job                                                         */
/*===----------------------------------------------------------------------===*/

typedef struct {
  int32_t color, key, rank;
} Member;

static int by_key(const void *left, const void *right) {
  const Member *a = left, *b = right;
  return a->key != b->key ? (a->key > b->key) - (a->key < b->key)
                          : (a->rank > b->rank) - (a->rank < b->rank);
}

static int open_group(void *state, int32_t color, int32_t key, llmmem_group **group) {
  Sockets *self = state;
  int ranks = self->job.ranks;
  Member *all = calloc((size_t)ranks, sizeof *all);
  llmmem_group *made = calloc(1, sizeof *made);
  int *members = calloc((size_t)ranks, sizeof *members);
  int code = !all || !made || !members;
  if (!code) {
    all[self->job.rank] = (Member){color, key, 0};
    llmmem_pieces pieces = {ranks * (int64_t)sizeof *all, sizeof *all};
    code = gather(state, &self->world, all, pieces);
  }
  if (code) {
    free(all), free(made), free(members);
    return 1;
  }
  /* The connection says whose each is: no number of another rank is an index here. */
  for (int rank = 0; rank < ranks; ++rank)
    all[rank].rank = rank;
  qsort(all, (size_t)ranks, sizeof *all, by_key);
  *made = (llmmem_group){0, 0, members};
  for (int k = 0; k < ranks; ++k)
    if (all[k].color == color) {
      if (all[k].rank == self->job.rank)
        made->rank = made->size;
      members[made->size++] = all[k].rank;
    }
  free(all);
  *group = made;
  return 0;
}

/* After the barrier every rank has said so, and may be slower than others to print its reason. */
static void fail_together(void *state) {
  Sockets *self = state;
  atomic_store(&self->closes, true);
  barrier(self, &self->world);
}

/* The others see the connections break. */
static void abort_job(void *state, int32_t code) {
  (void)state;
  fflush(NULL);
  _exit(code);
}

static void close_job(void *state) {
  Sockets *self = state;
  /* This is set before this rank answers, because any rank that has passed may end. */
  atomic_store(&self->closes, true);
  barrier(self, &self->world);
  if (write(self->wakes[1], "", 1) == 1)
    pthread_join(self->watch, NULL);
  for (int rank = 0; rank < self->job.ranks; ++rank)
    if (self->peers[rank] >= 0)
      close(self->peers[rank]);
}

static int start_watch(Sockets *self) {
  return pipe(self->wakes) != 0 || pthread_create(&self->watch, NULL, watch_peers, self) != 0;
}

int llmmem_open_sockets(llmmem_transport *transport, char *message, size_t size) {
  Sockets *self = calloc(1, sizeof *self);
  if (!self || llmmem_read_socket_job(&self->job, message, size)) {
    free(self);
    return 1;
  }
  int ranks = self->job.ranks;
  self->transport = transport;
  self->peers = calloc((size_t)ranks, sizeof *self->peers);
  self->world = (llmmem_group){self->job.rank, ranks, calloc((size_t)ranks, sizeof(int))};
  /* Ranks see the end themselves, and say who is missing. But the system may look for a host's
   * address for longer, and cannot be told to stop. */
  enum { GRACE = 2 };
  JoinWatch *watch = llmmem_start_join_watch(llmmem_join_seconds() + GRACE);
  int code = !self->peers || !self->world.ranks ||
             llmmem_connect_ranks(&self->job, self->peers, message, size);
  llmmem_stop_join_watch(watch);
  if (code) {
    free(self);
    return 1;
  }
  for (int rank = 0; rank < ranks; ++rank)
    self->world.ranks[rank] = rank;
  if (start_watch(self)) {
    snprintf(message, size, "the system gives no thread to watch other ranks");
    return 1;
  }
  *transport = (llmmem_transport){.version = LLMMEM_TRANSPORT_VERSION,
                                  .rank = self->job.rank,
                                  .ranks = ranks,
                                  .name = "sockets",
                                  .state = self,
                                  .fail_together = fail_together,
                                  LLMMEM_TRANSPORT_CALLS};
  return 0;
}
