/*===- Sockets.h - What hosts say to each other where there is no MPI -------===*\
|*
|* A job of GPUs that torchrun or srun started has no MPI: NCCL moves its tensors, and the rest
|* (NCCL's id, what all must agree on, checkpoints, digests) goes through TCP. Every two ranks have
|* a connection. Rank 0 listens where all can find it, at that address alone.
|*
|*   torchrun   RANK and WORLD_SIZE; rank 0 is at MASTER_ADDR and MASTER_PORT, or one port higher
|*              where torchrun's agent listens there (TORCHELASTIC_USE_AGENT_STORE)
|*   srun       SLURM_PROCID and SLURM_STEP_NUM_TASKS (else SLURM_NTASKS, which counts all steps in
|*              a shell of salloc); rank 0 is at MASTER_ADDR and MASTER_PORT, or at the first host
|*              of SLURM_STEP_NODELIST and a port of 20000 to 49999 by the step's number
|*
|* LLMMEM_PORT names another port. LLMMEM_LISTEN_ADDRESS says where rank 0 listens if its machine
|* does not have the address by which the others find it. Ranks prove to each other that they know
|* the job's token (JobToken.h). Their later messages are neither encrypted nor signed, so anybody
|* who can change the packets of the network is trusted. A rank that ends without leaving the job
|* ends all others.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_LIB_RUNTIME_SOCKETS_H
#define LLMMEM_LIB_RUNTIME_SOCKETS_H

#include "llmmem/Runtime/Transport.h"
#include <stddef.h>

/* Fills `transport`. Returns 1 with the reason in `message`: the launcher's variables are
 * incomplete, there is no token, rank 0's address cannot be taken, or ranks have not come within
 * LLMMEM_JOIN_SECONDS, which limits all of joining; it says which. */
int llmmem_open_sockets(llmmem_transport *transport, char *message, size_t size);

#endif /* LLMMEM_LIB_RUNTIME_SOCKETS_H */
