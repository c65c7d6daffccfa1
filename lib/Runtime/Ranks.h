/*===- Ranks.h - The job of a thread, for the collectives ------------------===*/

#ifndef LLMMEM_LIB_RUNTIME_RANKS_H
#define LLMMEM_LIB_RUNTIME_RANKS_H

#include "CallQueue.h"
#include "llmmem/Runtime/Collectives.h"
#include <stdbool.h>

typedef struct {
  llmmem_transport *transport; /* Null means one rank and no job. */
  llmmem_group *group;
  int32_t size, position;
} Members;

/* Returns the group of this thread's rank over `axes`, for a call that follows at once, because all
 * started calls are done then. Without a job it has one rank and no transport. */
Members llmmem_members(int64_t axes);

/* Describes the groups over `axes`, of this thread's job. Example: over bit 1 of a mesh 2 x 4, the
 * rank 6 has size 4, position 2 and color 1. */
typedef struct {
  int32_t exists; /* The value 0 means that the mesh lacks some of these axes. */
  int32_t size, position, color;
} GroupOfAxes;
GroupOfAxes llmmem_group_of_axes(int64_t axes);

/* Copies `root`'s bytes to all of the group, on the host. */
void llmmem_broadcast_bytes(void *data, int64_t bytes, int64_t axes, int64_t root);

/* All ranks call it, and each then ends the job with a message of its own. */
void llmmem_ranks_fail_together(void);

/* Prints the rank, what failed and the transport's reason, and ends the job. */
_Noreturn void llmmem_ranks_fail(const Members *members, const char *call, int64_t bytes);

/*===----------------------------------------------------------------------===*/
/* The thread of communication (Started.c)                                    */
/*===----------------------------------------------------------------------===*/

typedef struct Job Job;
typedef struct DeviceRanks DeviceRanks;

/* Returns this thread's job; null without one. */
Job *llmmem_current_job(void);
/* Makes `job` this thread's, for the thread of communication. */
void llmmem_enter_job(Job *job);

/* Returns where this thread's job keeps its started calls; null without a job, and where its
 * transport is called from one thread alone. */
CallQueue **llmmem_communication(void);
/* Both do nothing for null. */
void llmmem_wait_for_all_started(CallQueue *communication);
void llmmem_close_communication(CallQueue *communication);

/* Runs before this thread aborts the job: lets the thread of communication begin no further call,
 * and waits some seconds for the running one. Returns whether none runs now; true for null, and on
 * that thread itself. */
bool llmmem_stop_communication(CallQueue *communication);

/*===----------------------------------------------------------------------===*/
/* Collectives on a device (DeviceRanks.c)                                    */
/*===----------------------------------------------------------------------===*/

/* Returns where this thread's job keeps what makes its collectives on a device; null without a job.
 * */
DeviceRanks **llmmem_device_ranks(void);
/* Returns that; null where collectives are the transport's. */
DeviceRanks *llmmem_device_of_job(void);

#endif /* LLMMEM_LIB_RUNTIME_RANKS_H */
