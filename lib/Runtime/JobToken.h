/*===- JobToken.h - What the ranks of a job know, and no stranger does ------===*\
|*
|* A token consists of a secret and of the names that the launcher gives the job (torchrun's run,
|* SLURM's job and step), so that a rank of another job of the same user is a stranger, too.
|*
|* The secret is LLMMEM_JOB_TOKEN, where the environment has it. Otherwise it belongs to the user:
|* 64 digits in llmmem/job-token of $XDG_STATE_HOME (~/.local/state), which the first rank that
|* misses it makes, and which no other user may read. Machines that do not share home folders need
|* the variable.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_LIB_RUNTIME_JOBTOKEN_H
#define LLMMEM_LIB_RUNTIME_JOBTOKEN_H

#include "Sha256.h"

/* Returns 0, or 1 with the reason in `message`: the variable is too short to be a secret, or the
 * file cannot be made, is not the user's or is open to others. */
int llmmem_read_job_token(uint8_t token[SHA256_BYTES], char *message, size_t size);

#endif /* LLMMEM_LIB_RUNTIME_JOBTOKEN_H */
