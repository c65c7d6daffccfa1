/*===- Sockets.h - What hosts say to each other where there is no MPI -------===*\
|*
|* A job of GPUs that torchrun or srun started has no MPI: its tensors are NCCL's, and what is left
|* (NCCL's id, what all must agree on, checkpoints, digests) goes through TCP. Every two ranks have
|* a connection; rank 0 listens where all can find it, at that address alone.
|*
|* | launcher | rank, ranks | rank 0 |
|* | torchrun | RANK, WORLD_SIZE | MASTER_ADDR, MASTER_PORT; one port more where its agent listens
|* there (TORCHELASTIC_USE_AGENT_STORE) |
|* | srun | SLURM_PROCID, SLURM_STEP_NUM_TASKS (else SLURM_NTASKS, which a shell of salloc has of
all
|* its steps) | MASTER_ADDR and MASTER_PORT, or the first host of SLURM_STEP_NODELIST, and a port of
|* 20000 to 49999 by the step's number |
|*
|* LLMMEM_PORT names another port, and LLMMEM_LISTEN_ADDRESS where rank 0 listens if its machine
|* does not have the address by which the others find it. Ranks prove to each other that they know
|* the job's token (JobToken.h). What they say afterwards is neither encrypted nor signed: whoever
|* can change the packets of the network is trusted. A rank that ends without leaving the job ends
|* all others.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_LIB_RUNTIME_SOCKETS_H
#define LLMMEM_LIB_RUNTIME_SOCKETS_H

#include "llmmem/Runtime/Transport.h"
#include <stddef.h>

/* Fills `transport`. 1 with the reason in `message`: the launcher's variables have holes, there is
 * no token, rank 0's address cannot be taken, or ranks have not come within LLMMEM_JOIN_SECONDS,
 * the end of all joining; it says which. */
int llmmem_open_sockets(llmmem_transport *transport, char *message, size_t size);

#endif /* LLMMEM_LIB_RUNTIME_SOCKETS_H */
