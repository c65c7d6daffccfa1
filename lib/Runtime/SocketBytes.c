/*===- SocketBytes.c - Connections and bytes, until a point in time ---------===*/

#define _GNU_SOURCE /* SOCK_CLOEXEC, clock_gettime */
#include "SocketBytes.h"
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

double llmmem_seconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int llmmem_poll_until(struct pollfd *sockets, nfds_t count, double end) {
  const double most = 1e6; /* Milliseconds, of which poll takes an int. */
  double left = 1e3 * (end - llmmem_seconds());
  return poll(sockets, count, left <= 0 ? 0 : left < most ? (int)left + 1 : (int)most);
}

/* Waits until `socket` is ready. Returns 1 where `end` passes first. */
static int wait_until(int socket, short events, double end) {
  while (llmmem_seconds() < end) {
    struct pollfd ready = {socket, events, 0};
    if (llmmem_poll_until(&ready, 1, end) > 0)
      return 0;
  }
  errno = ETIMEDOUT;
  return 1;
}

int llmmem_send_until(int socket, const void *bytes, size_t count, double end) {
  for (const char *next = bytes; count > 0;) {
    if (wait_until(socket, POLLOUT, end))
      return 1;
    ssize_t sent = send(socket, next, count, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EINTR && errno != EAGAIN)
      return 1;
    next += sent > 0 ? sent : 0;
    count -= sent > 0 ? (size_t)sent : 0;
  }
  return 0;
}

int llmmem_receive_until(int socket, void *bytes, size_t count, double end) {
  for (char *next = bytes; count > 0;) {
    if (wait_until(socket, POLLIN, end))
      return 1;
    ssize_t received = recv(socket, next, count, MSG_DONTWAIT);
    if (received == 0)
      errno = 0;
    if (received == 0 || (received < 0 && errno != EINTR && errno != EAGAIN))
      return 1;
    next += received > 0 ? received : 0;
    count -= received > 0 ? (size_t)received : 0;
  }
  return 0;
}

/* The system may give a port without a listener to the very connection that looks for one. */
static int is_own_other_side(int socket) {
  struct sockaddr_in here = {0}, there = {0};
  socklen_t length = sizeof here;
  getsockname(socket, (struct sockaddr *)&here, &length);
  length = sizeof there;
  getpeername(socket, (struct sockaddr *)&there, &length);
  return here.sin_port == there.sin_port && here.sin_addr.s_addr == there.sin_addr.s_addr;
}

static int finish_connecting(int peer, const struct sockaddr_in *address, double end) {
  int code = 0;
  socklen_t length = sizeof code;
  if (connect(peer, (const struct sockaddr *)address, sizeof *address) != 0) {
    if (errno != EINPROGRESS || wait_until(peer, POLLOUT, end))
      return errno;
    getsockopt(peer, SOL_SOCKET, SO_ERROR, &code, &length);
  }
  return code ? code : is_own_other_side(peer) ? ECONNREFUSED : 0;
}

int llmmem_connect_until(const struct sockaddr_in *address, double end) {
  int peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), yes = 1;
  if (peer < 0)
    return -1;
  int code = finish_connecting(peer, address, end);
  if (code) {
    close(peer);
    errno = code;
    return -1;
  }
  fcntl(peer, F_SETFL, 0);
  setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  return peer;
}
