/*===- SocketJob.h - Where the ranks of a job without MPI meet --------------===*/

#ifndef LLMMEM_LIB_RUNTIME_SOCKETJOB_H
#define LLMMEM_LIB_RUNTIME_SOCKETJOB_H

#include "Sha256.h"

enum { MOST_SOCKET_RANKS = 1 << 16 };

/* Holds what the launcher's variables say. */
typedef struct {
  int32_t rank, ranks;
  char host[256];   /* The host of rank 0. */
  char listen[256]; /* Where rank 0 listens instead, if it has another name for itself; or "". */
  int port;
  double seconds; /* The limit for all of joining. */
  uint8_t token[SHA256_BYTES];
} SocketJob;

/* Returns the variable in which srun says how many tasks the step has. SLURM_NTASKS is the whole
 * allocation's in a shell of salloc, whose step has one. */
const char *llmmem_tasks_of_srun(void);

/* Returns 0, or 1 with the missing or wrong variable in `message`. */
int llmmem_read_socket_job(SocketJob *job, char *message, size_t size);

/* Opens a connection to each other rank, at `peers[rank]`; -1 at the own. A connection that does
 * not prove that it knows the job's token is refused, and the ranks go on meeting. Returns 1 with
 * the reason in `message`, which names the ranks and the address, at the latest after `seconds`. */
int llmmem_connect_ranks(const SocketJob *job, int *peers, char *message, size_t size);

#endif /* LLMMEM_LIB_RUNTIME_SOCKETJOB_H */
