/*===- DeviceRanks.h - Collectives of GPUs, by NCCL --------------------------===*\
|*
|* A step on GPUs makes the calls of Collectives.h with addresses of the device. NCCL, which is
|* opened by name, then computes them on the stream of the run. They return before they are done,
|* and a step that makes them can be captured as a graph, because NCCL's calls can be captured.
|* NCCL reduces by itself, so workspaces of sums may be null.
|*
|*   llmmem_ranks_begin(1, (int64_t[]){4}, LLMMEM_RANKS_ON_DEVICES, message, sizeof message);
|*   llmmem_ranks_use_device(run, "libnccl.so.2", message, sizeof message);
|*   llmmem_cuda_capture(run, step, context);     the step calls llmmem_all_reduce
|*   llmmem_cuda_replay(run);
|*   llmmem_ranks_leave_device(0);                before llmmem_cuda_close
|*   llmmem_ranks_end();
|*
|* Messages of the host to other ranks (llmmem_all_gather_bytes) still use the transport.
|*
|* There is one communicator for each set of axes whose groups have several ranks. Started calls
|* (Started.h) run on a second stream, after everything that the step has launched before. A wait
|* makes the step's stream wait for them, and the host waits for nothing. Two streams never use
|* communicators at once: a direct call waits for all started ones.
|*
|* Sums have the bits that NCCL's algorithm for this topology gives, the same on all ranks. A call
|* that fails ends the job, as those of Collectives.h do.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_RUNTIME_DEVICERANKS_H
#define LLMMEM_RUNTIME_DEVICERANKS_H

#include "llmmem/Runtime/Collectives.h"
#include "llmmem/Runtime/Cuda.h"

LLMMEM_EXTERN_C_BEGIN

/* Hands the collectives of this thread's job to NCCL, by `library` (a name for dlopen). All ranks
 * call it after llmmem_ranks_begin. `library` may be null in a job of one rank. `run` must live
 * until llmmem_ranks_leave_device. If it is null, addresses are the host's, for a NCCL that has no
 * device (on the emulator), and started calls run at once. Returns 0, or 1 on all ranks with the
 * reason in `message`; it fails without a job, too. */
int llmmem_ranks_use_device(llmmem_cuda *run, const char *library, char *message,
                            int64_t message_bytes);

/* Gives collectives back to the transport. All ranks call it when the job is done; a single rank
 * calls it with `failed` not 0 when it has failed. Does nothing where they are the transport's. */
void llmmem_ranks_leave_device(int failed);

/* Returns "NCCL 2.28.9", for example, or "" where collectives are the transport's. */
const char *llmmem_device_ranks_name(void);

/* Returns the device's free bytes before the communicators were made, less those after it. NCCL
 * takes more when two ranks first communicate. Returns 0 without a device. */
int64_t llmmem_device_ranks_bytes(void);

/* Returns the device of this process: its number among those of its machine, according to the
 * launcher's variables; 0 where it is alone. */
int64_t llmmem_local_rank(void);

LLMMEM_EXTERN_C_END

#endif /* LLMMEM_RUNTIME_DEVICERANKS_H */
