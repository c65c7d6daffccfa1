/*===- Ranks.h - The job of a thread, for the collectives ------------------===*/

#ifndef LLMMEM_LIB_RUNTIME_RANKS_H
#define LLMMEM_LIB_RUNTIME_RANKS_H

#include "llmmem/Runtime/Collectives.h"

typedef struct {
  llmmem_transport *transport; /* null: one rank, no job */
  llmmem_group *group;
  int32_t size, position;
} Members;

/* The group of this thread's rank over `axes`. Of one rank, without a transport, without a job. */
Members llmmem_members(int64_t axes);

/* Prints the rank, what failed and the transport's reason, and ends the job. */
_Noreturn void llmmem_ranks_fail(const Members *members, const char *call, int64_t bytes);

#endif /* LLMMEM_LIB_RUNTIME_RANKS_H */
