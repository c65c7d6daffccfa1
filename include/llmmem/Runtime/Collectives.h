/*===- Collectives.h - What the ranks of a job do together -----------------===*\
|*
|* Declares the calls that collectives are lowered to (docs/Design/Ranks.md), and how a process
|* joins its job.
|*
|*   llmmem_ranks_begin(2, (int64_t[]){2, 4}, 0, message, sizeof message);   2 x 4 = 8 ranks
|*   llmmem_all_reduce(x, x, workspace, count, LLMMEM_ELEMENT_F32, 1);    over axis 0: 2 ranks
|*   llmmem_ranks_end();
|*
|* Ranks are numbered row-major over the axes. The bits of its axes name a group (bit k: axis k).
|* Its members agree on all other axes, and their positions follow the order of their ranks.
|* Without a job, and in groups of one rank, each call is the identity of its definition.
|*
|* Matrices are contiguous. Counts are elements and may exceed 2^31. Sums run over the positions
|* from 0 on, in f32 (f64 of f64, i32 of i32, which wraps), and are rounded once, so all ranks get
|* equal bits. No call allocates memory in proportion to its count. All ranks of a group make the
|* same calls in the same order, each from the thread that called llmmem_ranks_begin, or as started
|* calls (Started.h). A call that fails prints the rank and the reason, and ends the job. On GPUs,
|* after llmmem_ranks_use_device, addresses are the device's, and calls are work on its stream
|* (DeviceRanks.h).
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_RUNTIME_COLLECTIVES_H
#define LLMMEM_RUNTIME_COLLECTIVES_H

#include "llmmem/Runtime/Transport.h"
#include <stddef.h>
#include <stdint.h>

LLMMEM_EXTERN_C_BEGIN

enum {
  LLMMEM_ELEMENT_F32,
  LLMMEM_ELEMENT_F64,
  LLMMEM_ELEMENT_BF16,
  LLMMEM_ELEMENT_I32,
  LLMMEM_ELEMENT_F16,
  LLMMEM_ELEMENT_BYTE, /* It is moved and never summed. */
  LLMMEM_ELEMENT_TYPES
};

enum { LLMMEM_MOST_AXES = 8 };

/*===----------------------------------------------------------------------===*/
/* The job                                                                    */
/*===----------------------------------------------------------------------===*/

/* What a job does in addition to collectives on the host's memory. */
enum {
  /* It starts collectives (Started.h), which not every MPI can do. */
  LLMMEM_RANKS_START = 1,
  /* Its collectives are those of GPUs (DeviceRanks.h). The variables of torchrun and SLURM suffice
   * for these: messages of the host then go through sockets. */
  LLMMEM_RANKS_ON_DEVICES = 2
};

/* Joins the job that a launcher's variables in the environment name, by the transport of its MPI
 * (in the folder LLMMEM_TRANSPORTS, or in lib/llmmem next to the program's folder). Without these
 * variables it joins a job of one rank. Returns 0, or 1 with the reason in `message`, which
 * includes that the sizes of the mesh are not those of the job. llmmem_rank() and
 * llmmem_ranks_end() may be called after a failure, too. `uses` holds bits of the above. Where
 * other ranks never start, the process ends with code 1 and a message after LLMMEM_JOIN_SECONDS
 * (120). */
int llmmem_ranks_begin(int64_t axes, const int64_t *sizes, int uses, char *message,
                       int64_t message_bytes);

/* Does the same over an open transport, which must live until llmmem_ranks_end. */
int llmmem_ranks_join(llmmem_transport *transport, int64_t axes, const int64_t *sizes,
                      char *message, int64_t message_bytes);

/* Return the rank and the size of this thread's job; 0 and 1 without one. */
int64_t llmmem_rank(void);
int64_t llmmem_ranks(void);
/* Returns "Open MPI 4.1.4", for example, or "" without a job. */
const char *llmmem_transport_name(void);

/* Leaves the job for good. Call it once, on all ranks. */
void llmmem_ranks_end(void);

/* Ends all ranks of the job at once, for a failure that the others cannot know of. Does nothing
 * without a job, and after a llmmem_ranks_begin that failed, because that fails on all ranks. */
void llmmem_ranks_abort(int code);

/* All ranks call it when each knows that the job fails. From then on every rank ends by itself, and
 * llmmem_ranks_abort does nothing. */
void llmmem_ranks_end_alike(void);

/* Returns how many processes the launcher has started, according to its variables, before any job
 * is joined; 1 without a launcher. `variable` receives the name of the variable that says so. */
int64_t llmmem_launched_processes(const char **variable);

/*===----------------------------------------------------------------------===*/
/* Collectives; n is the number of ranks in the group, q this rank's position */
/*===----------------------------------------------------------------------===*/

int64_t llmmem_group_position(int64_t axes);

/* whole = the parts of the group in order. `count` counts the elements of one part. `part` may be
 * the q-th part of `whole`. */
void llmmem_all_gather(const void *part, void *whole, int64_t count, int64_t element, int64_t axes);

/* Does the same for parts of `bytes` bytes, whatever they hold. */
void llmmem_all_gather_bytes(const void *part, void *whole, int64_t bytes, int64_t axes);

/* `sum` may be `x`. `workspace` has n * ceil(count / n) elements; here and below it is null where n
 * is 1. */
void llmmem_all_reduce(const void *x, void *sum, void *workspace, int64_t count, int64_t element,
                       int64_t axes);

/* part = the q-th part of the sum of `whole`, which has n * count elements and is not changed.
 * `workspace` has n * count elements. */
void llmmem_reduce_scatter(const void *whole, void *part, void *workspace, int64_t count,
                           int64_t element, int64_t axes);

/* y = x of position `root`. The two may be the same. */
void llmmem_broadcast(const void *x, void *y, int64_t count, int64_t element, int64_t axes,
                      int64_t root);

/* sum = the sum at `root`, 0 elsewhere. `sum` may be `x`. `workspace` is as for llmmem_all_reduce.
 * */
void llmmem_reduce(const void *x, void *sum, void *workspace, int64_t count, int64_t element,
                   int64_t axes, int64_t root);

/* Part p of y = part q of x of position p. `count` counts the elements of one part. It does not
 * work in place. */
void llmmem_all_to_all(const void *x, void *y, int64_t count, int64_t element, int64_t axes);

/* Sends x to position q + shift and receives y from q - shift, modulo n where `wraps` is not 0; y =
 * 0 where there is no such position. It does not work in place. */
void llmmem_send_receive(const void *x, void *y, int64_t count, int64_t element, int64_t axes,
                         int64_t shift, int64_t wraps);

/* Exchanges data between stages of a pipeline: sends and receives start one by one, and all of them
 * are done when llmmem_exchange_end returns. Until then what is sent may not change, and what is
 * received may not be read. Between two positions messages arrive in the order in which they start.
 * `to` and `from` are positions in the group. */
void llmmem_exchange_send(const void *x, int64_t count, int64_t element, int64_t axes, int64_t to);
void llmmem_exchange_receive(void *y, int64_t count, int64_t element, int64_t axes, int64_t from);
void llmmem_exchange_end(int64_t axes);

LLMMEM_EXTERN_C_END

#endif /* LLMMEM_RUNTIME_COLLECTIVES_H */
