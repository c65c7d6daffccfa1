/*===- SocketBytes.h - Connections and bytes, until a point in time ---------===*/

#ifndef LLMMEM_LIB_RUNTIME_SOCKETBYTES_H
#define LLMMEM_LIB_RUNTIME_SOCKETBYTES_H

#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>

/* Returns seconds of a clock that cannot be set. The ends below are in its seconds. */
double llmmem_seconds(void);

int llmmem_poll_until(struct pollfd *sockets, nfds_t count, double end);

/* Transfer all of the bytes. Return 1 where the other side has ended, or `end` has passed (errno is
 * ETIMEDOUT then, and 0 where the other side has closed the connection). */
int llmmem_send_until(int socket, const void *bytes, size_t count, double end);
int llmmem_receive_until(int socket, void *bytes, size_t count, double end);

/* Returns -1 with errno. */
int llmmem_connect_until(const struct sockaddr_in *address, double end);

#endif /* LLMMEM_LIB_RUNTIME_SOCKETBYTES_H */
