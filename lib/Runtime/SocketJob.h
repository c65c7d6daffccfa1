/*===- SocketJob.h - Where the ranks of a job without MPI meet --------------===*/

#ifndef LLMMEM_LIB_RUNTIME_SOCKETJOB_H
#define LLMMEM_LIB_RUNTIME_SOCKETJOB_H

#include <stddef.h>
#include <stdint.h>

/* What the launcher's variables say. */
typedef struct {
  int32_t rank, ranks;
  char host[256]; /* of rank 0 */
  int port;
} SocketJob;

/* 0, or 1 with the variable that is missing in `message`. */
int llmmem_read_socket_job(SocketJob *job, char *message, size_t size);

/* A connection to each other rank, at `peers[rank]`; -1 at the own. 1 with the reason in `message`,
 * which names the ranks and the address. */
int llmmem_connect_ranks(const SocketJob *job, int *peers, char *message, size_t size);

/* All of the bytes; 1 where the other side has ended. */
int llmmem_send_bytes(int socket, const void *bytes, size_t count);
int llmmem_receive_bytes(int socket, void *bytes, size_t count);

#endif /* LLMMEM_LIB_RUNTIME_SOCKETJOB_H */
