/*===- SocketJob.c - Where the ranks of a job without MPI meet --------------===*/

#define _GNU_SOURCE /* MSG_NOSIGNAL, getaddrinfo, clock_gettime */
#include "SocketJob.h"
#include "JoinWatch.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/*===----------------------------------------------------------------------===*/
/* The launcher's variables                                                   */
/*===----------------------------------------------------------------------===*/

static const char *text_of(const char *variable) {
  const char *text = getenv(variable);
  return text && *text ? text : NULL;
}

/* The first host of "node[07-09,12],other": node07. */
static void first_host(const char *list, char *host, size_t size) {
  size_t used = 0;
  for (bool in_range = false; *list && *list != ',' && used + 1 < size; ++list) {
    if (in_range && (*list == '-' || *list == ']'))
      break;
    if (*list == '[')
      in_range = true;
    else
      host[used++] = *list;
  }
  host[used] = '\0';
}

/* A port that two steps of one machine rarely share. */
static int port_of_step(void) {
  const char *job = text_of("SLURM_JOB_ID"), *step = text_of("SLURM_STEP_ID");
  unsigned long number =
      (job ? strtoul(job, NULL, 10) : 0) * 97 + (step ? strtoul(step, NULL, 10) : 0);
  return 20000 + (int)(number % 30000);
}

static void read_address(SocketJob *job) {
  const char *address = text_of("MASTER_ADDR"), *port = text_of("MASTER_PORT"),
             *own = text_of("LLMMEM_PORT"), *nodes = text_of("SLURM_STEP_NODELIST");
  const char *agent = text_of("TORCHELASTIC_USE_AGENT_STORE");
  if (address)
    snprintf(job->host, sizeof job->host, "%s", address);
  else if (nodes)
    first_host(nodes, job->host, sizeof job->host);
  /* torchrun's agent itself listens at MASTER_PORT. */
  if (own)
    job->port = (int)strtol(own, NULL, 10);
  else if (port)
    job->port = (int)strtol(port, NULL, 10) + (agent && strcmp(agent, "True") == 0);
  else if (text_of("SLURM_PROCID"))
    job->port = port_of_step();
}

int llmmem_read_socket_job(SocketJob *job, char *message, size_t size) {
  bool is_torchrun = text_of("WORLD_SIZE") != NULL;
  const char *variables[] = {is_torchrun ? "RANK" : "SLURM_PROCID",
                             is_torchrun ? "WORLD_SIZE" : "SLURM_NTASKS"};
  int32_t *numbers[] = {&job->rank, &job->ranks};
  memset(job, 0, sizeof *job);
  for (int k = 0; k < 2; ++k) {
    const char *text = text_of(variables[k]);
    if (!text) {
      snprintf(message, size, "the launcher has not set %s", variables[k]);
      return 1;
    }
    *numbers[k] = (int32_t)strtol(text, NULL, 10);
  }
  if (job->ranks < 1 || job->rank < 0 || job->rank >= job->ranks) {
    snprintf(message, size, "%s is %d and %s %d; expected a rank below the number of ranks",
             variables[0], job->rank, variables[1], job->ranks);
    return 1;
  }
  read_address(job);
  if (!job->host[0] || job->port < 1 || job->port > 65535) {
    snprintf(message, size,
             "found no address of rank 0; expected MASTER_ADDR and MASTER_PORT (or LLMMEM_PORT)");
    return 1;
  }
  return 0;
}

/*===----------------------------------------------------------------------===*/
/* Bytes                                                                      */
/*===----------------------------------------------------------------------===*/

int llmmem_send_bytes(int socket, const void *bytes, size_t count) {
  for (const char *next = bytes; count > 0;) {
    ssize_t sent = send(socket, next, count, MSG_NOSIGNAL);
    if (sent <= 0 && errno == EINTR)
      continue;
    if (sent <= 0)
      return 1;
    next += sent;
    count -= (size_t)sent;
  }
  return 0;
}

int llmmem_receive_bytes(int socket, void *bytes, size_t count) {
  for (char *next = bytes; count > 0;) {
    ssize_t received = recv(socket, next, count, 0);
    if (received < 0 && errno == EINTR)
      continue;
    if (received <= 0)
      return 1;
    next += received;
    count -= (size_t)received;
  }
  return 0;
}

/*===----------------------------------------------------------------------===*/
/* Meeting                                                                    */
/*===----------------------------------------------------------------------===*/

/* What a rank says first. `port` is where it listens for later ranks, on the address from which it
 * connects. */
typedef struct {
  char magic[8];
  int32_t rank, ranks, port;
  uint32_t address; /* filled by rank 0 */
} Greeting;

static const char MAGIC[8] = "llmmem1";

typedef struct {
  const SocketJob *job;
  int *peers, listener;
  double end; /* seconds of the clock */
  char *message;
  size_t size;
} Meeting;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int fail(Meeting *meeting, const char *what, const char *why) {
  snprintf(meeting->message, meeting->size, "rank %d could not %s (rank 0 is to be at %s:%d): %s",
           meeting->job->rank, what, meeting->job->host, meeting->job->port, why);
  return 1;
}

/* Which ranks are missing: "1, 3". */
static int fail_missing(Meeting *meeting, int first) {
  char missing[256] = "";
  size_t used = 0;
  for (int rank = first; rank < meeting->job->ranks && used + 16 < sizeof missing; ++rank)
    if (rank != meeting->job->rank && meeting->peers[rank] < 0)
      used +=
          (size_t)snprintf(missing + used, sizeof missing - used, "%s%d", used ? ", " : "", rank);
  char why[400];
  snprintf(why, sizeof why, "rank %s did not come in time (LLMMEM_JOIN_SECONDS sets how long)",
           missing);
  return fail(meeting, "meet all others", why);
}

/* Listens at `port`; 0: any that is free. */
static int listen_at(Meeting *meeting, int port) {
  int yes = 1;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  meeting->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  setsockopt(meeting->listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (meeting->listener < 0 ||
      bind(meeting->listener, (struct sockaddr *)&address, sizeof address) != 0 ||
      listen(meeting->listener, meeting->job->ranks) != 0)
    return fail(meeting, "listen", strerror(errno));
  return 0;
}

static int port_of(int listener) {
  struct sockaddr_in address;
  socklen_t length = sizeof address;
  getsockname(listener, (struct sockaddr *)&address, &length);
  return ntohs(address.sin_port);
}

/* The next rank that comes; -1 where none does in time. */
static int accept_rank(Meeting *meeting, Greeting *greeting) {
  for (double left; (left = meeting->end - now()) > 0;) {
    struct pollfd ready = {meeting->listener, POLLIN, 0};
    if (poll(&ready, 1, (int)(1e3 * left) + 1) <= 0)
      continue;
    struct sockaddr_in from;
    socklen_t length = sizeof from;
    int peer = accept4(meeting->listener, (struct sockaddr *)&from, &length, SOCK_CLOEXEC);
    if (peer < 0)
      continue;
    struct timeval patience = {5, 0}; /* with a stranger */
    setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    bool is_known = !llmmem_receive_bytes(peer, greeting, sizeof *greeting) &&
                    memcmp(greeting->magic, MAGIC, sizeof MAGIC) == 0 && greeting->rank >= 0 &&
                    greeting->rank < meeting->job->ranks &&
                    greeting->ranks == meeting->job->ranks && meeting->peers[greeting->rank] < 0;
    if (!is_known) {
      close(peer);
      continue;
    }
    struct timeval forever = {0, 0};
    setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &forever, sizeof forever);
    greeting->address = from.sin_addr.s_addr;
    return peer;
  }
  return -1;
}

static int connect_to(Meeting *meeting, struct sockaddr_in address, int rank) {
  char why[200] = "nobody answers";
  do {
    int peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
    if (peer >= 0 && connect(peer, (struct sockaddr *)&address, sizeof address) == 0) {
      setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
      meeting->peers[rank] = peer;
      return 0;
    }
    snprintf(why, sizeof why, "rank %d has not answered: %s", rank, strerror(errno));
    if (peer >= 0)
      close(peer);
    usleep(50000);
  } while (now() < meeting->end);
  return fail(meeting, "connect", why);
}

static int find_host(Meeting *meeting, struct sockaddr_in *address) {
  struct addrinfo wanted = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found = NULL;
  int code = getaddrinfo(meeting->job->host, NULL, &wanted, &found);
  if (code != 0)
    return fail(meeting, "find that host", gai_strerror(code));
  *address = *(struct sockaddr_in *)(void *)found->ai_addr;
  address->sin_port = htons((uint16_t)meeting->job->port);
  freeaddrinfo(found);
  return 0;
}

static Greeting greet(const Meeting *meeting) {
  Greeting greeting = {.rank = meeting->job->rank, .ranks = meeting->job->ranks};
  memcpy(greeting.magic, MAGIC, sizeof MAGIC);
  greeting.port = port_of(meeting->listener);
  return greeting;
}

/* Rank 0 hears where each rank listens, and tells all. */
static int gather_places(Meeting *meeting, Greeting *places) {
  int ranks = meeting->job->ranks;
  for (int known = 1; known < ranks; ++known) {
    Greeting greeting;
    int peer = accept_rank(meeting, &greeting);
    if (peer < 0)
      return fail_missing(meeting, 1);
    meeting->peers[greeting.rank] = peer;
    places[greeting.rank] = greeting;
  }
  for (int rank = 1; rank < ranks; ++rank)
    if (llmmem_send_bytes(meeting->peers[rank], places, (size_t)ranks * sizeof *places))
      return fail(meeting, "tell all ranks of each other", "one has ended");
  return 0;
}

/* Each other rank connects to those before it, and is connected to by those behind it. */
static int meet_others(Meeting *meeting, Greeting *places) {
  int rank = meeting->job->rank, ranks = meeting->job->ranks;
  struct sockaddr_in first;
  Greeting own = greet(meeting);
  if (find_host(meeting, &first) || connect_to(meeting, first, 0))
    return 1;
  if (llmmem_send_bytes(meeting->peers[0], &own, sizeof own) ||
      llmmem_receive_bytes(meeting->peers[0], places, (size_t)ranks * sizeof *places))
    return fail(meeting, "meet all others",
                "rank 0 has ended, or is of another job (LLMMEM_PORT names another port)");
  for (int other = 1; other < rank; ++other) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)places[other].port),
                                  .sin_addr.s_addr = places[other].address};
    if (connect_to(meeting, address, other) ||
        llmmem_send_bytes(meeting->peers[other], &own, sizeof own))
      return meeting->message[0] ? 1 : fail(meeting, "greet a rank", strerror(errno));
  }
  for (int known = rank + 1; known < ranks; ++known) {
    Greeting greeting;
    int peer = accept_rank(meeting, &greeting);
    if (peer < 0)
      return fail_missing(meeting, rank + 1);
    meeting->peers[greeting.rank] = peer;
  }
  return 0;
}

int llmmem_connect_ranks(const SocketJob *job, int *peers, char *message, size_t size) {
  Meeting meeting = {job, peers, -1, now() + (double)llmmem_join_seconds(), message, size};
  message[0] = '\0';
  for (int rank = 0; rank < job->ranks; ++rank)
    peers[rank] = -1;
  Greeting *places = calloc((size_t)job->ranks, sizeof *places);
  if (!places) {
    snprintf(message, size, "out of memory");
    return 1;
  }
  int failed = listen_at(&meeting, job->rank == 0 ? job->port : 0);
  if (!failed)
    failed = job->rank == 0 ? gather_places(&meeting, places) : meet_others(&meeting, places);
  free(places);
  if (meeting.listener >= 0)
    close(meeting.listener);
  return failed;
}
