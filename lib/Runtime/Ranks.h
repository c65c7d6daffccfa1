/*===- Ranks.h - The job of a thread, for the collectives ------------------===*/

#ifndef LLMMEM_LIB_RUNTIME_RANKS_H
#define LLMMEM_LIB_RUNTIME_RANKS_H

#include "CallQueue.h"
#include "llmmem/Runtime/Collectives.h"
#include <stdbool.h>

typedef struct {
  llmmem_transport *transport; /* null: one rank, no job */
  llmmem_group *group;
  int32_t size, position;
} Members;

/* The group of this thread's rank over `axes`, for a call that follows at once: what was started is
 * done then. Of one rank, without a transport, without a job. */
Members llmmem_members(int64_t axes);

/* The groups over `axes`, of this thread's job. Example: over bit 1 of a mesh 2 x 4, the rank 6 has
 * size 4, position 2 and color 1. */
typedef struct {
  int32_t exists; /* 0: the mesh has not all of these axes */
  int32_t size, position, color;
} GroupOfAxes;
GroupOfAxes llmmem_group_of_axes(int64_t axes);

/* From `root`'s bytes to all of the group's, on the host. */
void llmmem_broadcast_bytes(void *data, int64_t bytes, int64_t axes, int64_t root);

/* Called by all ranks, each of which then ends the job with a message of its own. */
void llmmem_ranks_fail_together(void);

/* Prints the rank, what failed and the transport's reason, and ends the job. */
_Noreturn void llmmem_ranks_fail(const Members *members, const char *call, int64_t bytes);

/*===----------------------------------------------------------------------===*/
/* The thread of communication (Started.c)                                    */
/*===----------------------------------------------------------------------===*/

typedef struct Job Job;
typedef struct DeviceRanks DeviceRanks;

/* This thread's job; null without one. */
Job *llmmem_current_job(void);
/* Makes `job` this thread's: of the thread of communication. */
void llmmem_enter_job(Job *job);

/* Where this thread's job keeps what it has started; null without a job, and where its transport is
 * called from one thread alone. */
CallQueue **llmmem_communication(void);
/* Both do nothing for null. */
void llmmem_wait_for_all_started(CallQueue *communication);
void llmmem_close_communication(CallQueue *communication);

/* Before the job is aborted by this thread: lets the thread of communication begin no further call,
 * and waits some seconds for the one that runs. Whether it runs none now; true for null, and on
 * that thread itself. */
bool llmmem_stop_communication(CallQueue *communication);

/*===----------------------------------------------------------------------===*/
/* Collectives on a device (DeviceRanks.c)                                    */
/*===----------------------------------------------------------------------===*/

/* Where this thread's job keeps what makes its collectives on a device; null without a job. */
DeviceRanks **llmmem_device_ranks(void);
/* The same; null where they are the transport's. */
DeviceRanks *llmmem_device_of_job(void);

#endif /* LLMMEM_LIB_RUNTIME_RANKS_H */
