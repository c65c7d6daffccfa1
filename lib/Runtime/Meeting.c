/*===- Meeting.c - How the ranks of a job without MPI find each other --------===*\
|*
|* Rank 0 listens where all can find it, receives where each other rank listens, and tells all.
|* Each of them then connects to those before it, and those after it connect to it. A connection is
|* a stranger until the handshake is complete. Strangers are served all at once, each byte as it
|* arrives, so that none of them holds up a rank.
|*
\*===----------------------------------------------------------------------===*/

#define _GNU_SOURCE /* accept4, POLLRDHUP */
#include "Handshake.h"
#include "SocketBytes.h"
#include "SocketJob.h"
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST_STRANGERS = 64 };

/* Says where a rank listens, as rank 0 tells the others. */
typedef struct {
  uint32_t address;
  int32_t port;
} Place;

/* Describes a connection that has not proved anything yet. */
typedef struct {
  int socket;
  uint32_t address;
  bool is_challenged;
  size_t received; /* Bytes of the hello, then of the answer. */
  Hello hello;
  Challenge challenge;
  Answer answer;
} Stranger;

typedef struct {
  const SocketJob *job;
  int *peers, listener;
  Place *places;                      /* Those of all ranks; filled on rank 0. */
  double end;                         /* The end of joining. */
  Stranger strangers[MOST_STRANGERS]; /* The oldest come first. */
  int num_strangers, turned_away;
  char *message;
  size_t size;
} Meeting;

static int fail(Meeting *meeting, const char *what, const char *why) {
  snprintf(meeting->message, meeting->size, "rank %d could not %s (rank 0 is to be at %s:%d): %s",
           meeting->job->rank, what, meeting->job->host, meeting->job->port, why);
  return 1;
}

/* Some systems have their own name for a loopback address. */
static void say_if_unreachable(const Meeting *meeting, char *text, size_t size) {
  struct sockaddr_in here = {0};
  socklen_t length = sizeof here;
  const char *host = meeting->job->host;
  getsockname(meeting->listener, (struct sockaddr *)&here, &length);
  uint32_t address = ntohl(here.sin_addr.s_addr);
  if (meeting->job->rank == 0 && address >> 24 == IN_LOOPBACKNET && strcmp(host, "localhost") &&
      strncmp(host, "127.", 4) != 0)
    snprintf(text, size,
             "; rank 0 listens at %u.%u.%u.%u, where no other machine comes; set "
             "LLMMEM_LISTEN_ADDRESS on rank 0 (0.0.0.0: all of its addresses)",
             address >> 24, address >> 16 & 255, address >> 8 & 255, address & 255);
}

/* Reports which ranks are missing: "1, 3". */
static int fail_missing(Meeting *meeting, int first) {
  char missing[256] = "", others[160] = "", unreachable[200] = "";
  size_t used = 0;
  for (int rank = first; rank < meeting->job->ranks && used + 16 < sizeof missing; ++rank)
    if (meeting->peers[rank] < 0)
      used +=
          (size_t)snprintf(missing + used, sizeof missing - used, "%s%d", used ? ", " : "", rank);
  if (meeting->turned_away)
    snprintf(others, sizeof others,
             "; %d connections without this job's token were turned away (LLMMEM_JOB_TOKEN must be "
             "the same for all ranks)",
             meeting->turned_away);
  say_if_unreachable(meeting, unreachable, sizeof unreachable);
  char why[700];
  snprintf(why, sizeof why, "rank %s did not come in time (LLMMEM_JOIN_SECONDS sets how long)%s%s",
           missing, others, unreachable);
  return fail(meeting, "meet all others", why);
}

/*===----------------------------------------------------------------------===*/
/* Listening                                                                  */
/*===----------------------------------------------------------------------===*/

/* Listens at one address alone; port 0 means any free one. */
static int listen_at(Meeting *meeting, struct sockaddr_in address) {
  int yes = 1;
  if (meeting->listener >= 0)
    close(meeting->listener);
  meeting->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  setsockopt(meeting->listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (meeting->listener >= 0 &&
      bind(meeting->listener, (struct sockaddr *)&address, sizeof address) == 0 &&
      listen(meeting->listener, meeting->job->ranks + MOST_STRANGERS) == 0)
    return 0;
  char why[160];
  snprintf(why, sizeof why, "%s%s", strerror(errno),
           errno == EADDRNOTAVAIL ? "; it is no address of rank 0's machine, and "
                                    "LLMMEM_LISTEN_ADDRESS names one (0.0.0.0: all of them)"
                                  : "");
  return fail(meeting, "listen", why);
}

static int port_of(int listener) {
  struct sockaddr_in address = {0};
  socklen_t length = sizeof address;
  getsockname(listener, (struct sockaddr *)&address, &length);
  return ntohs(address.sin_port);
}

static void forget(Meeting *meeting, int number) {
  if (meeting->strangers[number].socket >= 0)
    close(meeting->strangers[number].socket);
  --meeting->num_strangers;
  memmove(&meeting->strangers[number], &meeting->strangers[number + 1],
          (size_t)(meeting->num_strangers - number) * sizeof *meeting->strangers);
}

static void turn_away(Meeting *meeting, int number) {
  ++meeting->turned_away;
  forget(meeting, number);
}

/* A rank whose connection is closed for a later stranger tries again. A connection that is closed
 * for lack of room may know the token. */
static void let_in(Meeting *meeting) {
  struct sockaddr_in from = {0};
  socklen_t length = sizeof from;
  int peer =
      accept4(meeting->listener, (struct sockaddr *)&from, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
  bool has_no_room = peer < 0 && (errno == EMFILE || errno == ENFILE);
  if (has_no_room && meeting->num_strangers)
    forget(meeting, 0);
  else if (has_no_room)
    usleep(50000); /* The waiting connection is still there, and poll would return at once. */
  if (peer < 0)
    return;
  if (meeting->num_strangers == MOST_STRANGERS)
    forget(meeting, 0);
  meeting->strangers[meeting->num_strangers++] =
      (Stranger){.socket = peer, .address = from.sin_addr.s_addr};
}

/* Says what is wrong with a rank that knows the token. `first` is the least rank that this one
 * waits for. */
static Refusal judge(const Meeting *meeting, const Hello *hello, int first) {
  if (hello->ranks != meeting->job->ranks)
    return OTHER_RANKS;
  if (hello->rank < first || hello->rank >= meeting->job->ranks || hello->port < 1 ||
      hello->port > 65535)
    return NO_SUCH_RANK;
  return meeting->peers[hello->rank] >= 0 ? RANK_IS_THERE : ADMITTED;
}

static void admit(Meeting *meeting, int number, int first) {
  Stranger *known = &meeting->strangers[number];
  Refusal refusal = judge(meeting, &known->hello, first);
  Verdict verdict = {refusal};
  /* It fits into what the system buffers of a new connection. */
  bool is_said = send(known->socket, &verdict, sizeof verdict, MSG_NOSIGNAL | MSG_DONTWAIT) ==
                 (ssize_t)sizeof verdict;
  if (is_said && refusal == ADMITTED) {
    int rank = known->hello.rank, yes = 1;
    setsockopt(known->socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    fcntl(known->socket, F_SETFL, 0);
    meeting->peers[rank] = known->socket;
    meeting->places[rank] = (Place){known->address, known->hello.port};
    known->socket = -1;
  }
  forget(meeting, number);
}

/* Takes what a stranger has sent. */
static void hear(Meeting *meeting, int number, int first) {
  Stranger *self = &meeting->strangers[number];
  const SocketJob *job = meeting->job;
  char *into = self->is_challenged ? (char *)&self->answer : (char *)&self->hello;
  size_t whole = self->is_challenged ? sizeof self->answer : sizeof self->hello;
  ssize_t count = recv(self->socket, into + self->received, whole - self->received, MSG_DONTWAIT);
  if (count < 0 && (errno == EINTR || errno == EAGAIN))
    return;
  self->received += count > 0 ? (size_t)count : 0;
  bool is_wrong =
      count <= 0 || (!self->is_challenged && !llmmem_may_be_hello(&self->hello, self->received));
  if (!is_wrong && self->received < whole)
    return;
  if (!is_wrong && !self->is_challenged) {
    is_wrong =
        llmmem_challenge(job->token, &self->hello, job->rank, job->ranks, &self->challenge) ||
        send(self->socket, &self->challenge, sizeof self->challenge, MSG_NOSIGNAL | MSG_DONTWAIT) !=
            (ssize_t)sizeof self->challenge;
    self->is_challenged = true;
    self->received = 0;
  } else if (!is_wrong &&
             llmmem_trust_answer(job->token, &self->hello, &self->challenge, &self->answer)) {
    admit(meeting, number, first);
    return;
  } else {
    is_wrong = true;
  }
  if (is_wrong)
    turn_away(meeting, number);
}

/* A rank that has ended before all have met may come again. */
static void lose(Meeting *meeting, int rank) {
  close(meeting->peers[rank]);
  meeting->peers[rank] = -1;
}

static int count_missing(const Meeting *meeting, int first) {
  int missing = 0;
  for (int rank = first; rank < meeting->job->ranks; ++rank)
    missing += meeting->peers[rank] < 0;
  return missing;
}

/* Waits until all ranks from `first` on have come. */
static int wait_for_ranks(Meeting *meeting, int first) {
  int ranks = meeting->job->ranks;
  struct pollfd *sockets = calloc(1 + MOST_STRANGERS + (size_t)ranks, sizeof *sockets);
  if (!sockets)
    return fail(meeting, "meet all others", "out of memory");
  while (count_missing(meeting, first) && llmmem_seconds() < meeting->end) {
    int strangers = meeting->num_strangers;
    struct pollfd *of_ranks = sockets + 1 + strangers;
    sockets[0] = (struct pollfd){meeting->listener, POLLIN, 0};
    for (int k = 0; k < strangers; ++k)
      sockets[1 + k] = (struct pollfd){meeting->strangers[k].socket, POLLIN, 0};
    for (int rank = first; rank < ranks; ++rank)
      of_ranks[rank - first] = (struct pollfd){meeting->peers[rank], POLLRDHUP, 0};
    if (llmmem_poll_until(sockets, (nfds_t)(1 + strangers + ranks - first), meeting->end) <= 0)
      continue;
    for (int rank = first; rank < ranks; ++rank)
      if (of_ranks[rank - first].revents)
        lose(meeting, rank);
    /* The loop runs backwards, because a removed one moves those after it. */
    for (int k = strangers; k-- > 0;)
      if (sockets[1 + k].revents)
        hear(meeting, k, first);
    if (sockets[0].revents)
      let_in(meeting);
  }
  free(sockets);
  return count_missing(meeting, first) ? fail_missing(meeting, first) : 0;
}

/*===----------------------------------------------------------------------===*/
/* Connecting                                                                 */
/*===----------------------------------------------------------------------===*/

typedef enum { MET, CLOSED, REFUSED } Outcome;

static Outcome refuse(Meeting *meeting, const char *why) {
  fail(meeting, "meet all others", why);
  return REFUSED;
}

static Outcome refuse_by(Meeting *meeting, int other, Refusal refusal) {
  char why[200];
  const SocketJob *job = meeting->job;
  if (refusal == RANK_IS_THERE)
    snprintf(why, sizeof why, "another process is rank %d already; give each its own rank",
             job->rank);
  else if (refusal == OTHER_RANKS)
    snprintf(why, sizeof why,
             "this rank was told of %d ranks and rank %d of another number; start all with one "
             "launcher",
             job->ranks, other);
  else
    snprintf(why, sizeof why, "rank %d waits for no rank %d", other, job->rank);
  return refuse(meeting, why);
}

/* Listens at a free port of the address from which `peer` is connected. */
static int listen_for_local_peers(Meeting *meeting, int peer) {
  struct sockaddr_in here = {0};
  socklen_t length = sizeof here;
  getsockname(peer, (struct sockaddr *)&here, &length);
  here.sin_port = 0;
  return listen_at(meeting, here);
}

static Outcome shake_hands(Meeting *meeting, int peer, int other) {
  const SocketJob *job = meeting->job;
  Hello hello;
  Challenge challenge;
  Answer answer;
  Verdict verdict;
  if (other == 0 && listen_for_local_peers(meeting, peer))
    return REFUSED;
  if (llmmem_say_hello(job->rank, job->ranks, port_of(meeting->listener), &hello))
    return refuse(meeting, "the system gives no random numbers");
  if (llmmem_send_until(peer, &hello, sizeof hello, meeting->end) ||
      llmmem_receive_until(peer, &challenge, sizeof challenge, meeting->end))
    return CLOSED;
  if (!llmmem_is_challenge(&challenge))
    return refuse(meeting, "what listens there is no rank of this llmmem; LLMMEM_PORT names "
                           "another port");
  if (!llmmem_trust_challenge(job->token, &hello, &challenge) || challenge.rank != other)
    return refuse(meeting, "who listens there has another token, so it is of another job "
                           "(LLMMEM_PORT names another port), or on a machine with another home "
                           "folder (LLMMEM_JOB_TOKEN, the same for all ranks)");
  llmmem_answer(job->token, &hello, &challenge, &answer);
  if (llmmem_send_until(peer, &answer, sizeof answer, meeting->end) ||
      llmmem_receive_until(peer, &verdict, sizeof verdict, meeting->end))
    return CLOSED;
  return verdict.refusal == ADMITTED ? MET : refuse_by(meeting, other, (Refusal)verdict.refusal);
}

static int connect_to(Meeting *meeting, const struct sockaddr_in *address, int rank) {
  char why[200];
  do {
    int peer = llmmem_connect_until(address, meeting->end);
    snprintf(why, sizeof why, "rank %d has not answered: %s", rank,
             peer < 0 ? strerror(errno) : "it closed the connection");
    Outcome outcome = peer < 0 ? CLOSED : shake_hands(meeting, peer, rank);
    if (outcome == MET) {
      meeting->peers[rank] = peer;
      return 0;
    }
    if (peer >= 0)
      close(peer);
    if (outcome == REFUSED)
      return 1;
    usleep(50000);
  } while (llmmem_seconds() < meeting->end);
  return fail(meeting, "connect", why);
}

static int find_host(Meeting *meeting, const char *host, struct sockaddr_in *address) {
  struct addrinfo wanted = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found = NULL;
  int code = getaddrinfo(host, NULL, &wanted, &found);
  if (code != 0)
    return fail(meeting, "find that host", gai_strerror(code));
  memcpy(address, found->ai_addr, sizeof *address);
  address->sin_port = htons((uint16_t)meeting->job->port);
  freeaddrinfo(found);
  return 0;
}

/*===----------------------------------------------------------------------===*/
/* Meeting                                                                    */
/*===----------------------------------------------------------------------===*/

/* Runs on rank 0. */
static int gather_places(Meeting *meeting) {
  const SocketJob *job = meeting->job;
  struct sockaddr_in address;
  if (find_host(meeting, job->listen[0] ? job->listen : job->host, &address) ||
      listen_at(meeting, address) || wait_for_ranks(meeting, 1))
    return 1;
  for (int rank = 1; rank < job->ranks; ++rank)
    if (llmmem_send_until(meeting->peers[rank], meeting->places,
                          (size_t)job->ranks * sizeof *meeting->places, meeting->end))
      return fail(meeting, "tell all ranks of each other", "one has ended");
  return 0;
}

static int connect_to_place(Meeting *meeting, Place place, int rank) {
  if (place.port < 1 || place.port > 65535)
    return fail(meeting, "meet all others", "rank 0 names a port that is none");
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)place.port),
                                .sin_addr.s_addr = place.address};
  return connect_to(meeting, &address, rank);
}

static int meet_others(Meeting *meeting) {
  const SocketJob *job = meeting->job;
  struct sockaddr_in first;
  if (find_host(meeting, job->host, &first) || connect_to(meeting, &first, 0))
    return 1;
  if (llmmem_receive_until(meeting->peers[0], meeting->places,
                           (size_t)job->ranks * sizeof *meeting->places, meeting->end))
    return fail(meeting, "meet all others",
                errno == ETIMEDOUT ? "rank 0 still waits for others (LLMMEM_JOIN_SECONDS sets how "
                                     "long)"
                                   : "rank 0 has ended");
  for (int other = 1; other < job->rank; ++other)
    if (connect_to_place(meeting, meeting->places[other], other))
      return 1;
  return wait_for_ranks(meeting, job->rank + 1);
}

/* Closes what is left open, and all connections of a rank that has failed. */
static void finish(Meeting *meeting, bool failed) {
  while (meeting->num_strangers)
    forget(meeting, meeting->num_strangers - 1);
  if (meeting->listener >= 0)
    close(meeting->listener);
  for (int rank = 0; failed && rank < meeting->job->ranks; ++rank)
    if (meeting->peers[rank] >= 0)
      lose(meeting, rank);
  free(meeting->places);
  free(meeting);
}

int llmmem_connect_ranks(const SocketJob *job, int *peers, char *message, size_t size) {
  message[0] = '\0';
  for (int rank = 0; rank < job->ranks; ++rank)
    peers[rank] = -1;
  Meeting *meeting = calloc(1, sizeof *meeting);
  Place *places = calloc((size_t)job->ranks, sizeof *places);
  if (!meeting || !places) {
    free(meeting);
    free(places);
    snprintf(message, size, "out of memory");
    return 1;
  }
  meeting->job = job;
  meeting->peers = peers;
  meeting->places = places;
  meeting->listener = -1;
  meeting->end = llmmem_seconds() + job->seconds;
  meeting->message = message;
  meeting->size = size;
  bool failed = job->rank == 0 ? gather_places(meeting) : meet_others(meeting);
  finish(meeting, failed);
  return failed;
}
