/*===- HostCopies.h - Copies between the device's memory and the host's ----===*\
|*
|* What llm.copy_up, llm.copy_down and updates on the host of a step on a CPU are lowered to. There
the device's memory
|* and the host's are two arenas of one machine:
|*
|*   llmmem_copy_start(to, from, bytes, LLMMEM_COPY_UP);      a copying thread runs it
|*   ...                                                      what runs beside it
|*   llmmem_copy_wait(LLMMEM_COPY_UP);                        and is behind it
|*
|* Each direction has a thread, which runs its copies one after another in the order of the starts,
|* and so have updates. They belong to the thread that starts the first, and end with it.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_RUNTIME_HOSTCOPIES_H
#define LLMMEM_RUNTIME_HOSTCOPIES_H

#include "llmmem/Runtime/Parallel.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { LLMMEM_COPY_UP, LLMMEM_COPY_DOWN };

/* Copies at once; of what is copied nothing overlaps. */
void llmmem_copy(void *to, const void *from, int64_t bytes);

/* Until the wait nobody may write what is read, or read or write what is written. Where the system
 * gives no thread, the copy is over when this returns. */
void llmmem_copy_start(void *to, const void *from, int64_t bytes, int64_t direction);

/* Returns when the first copy of this direction that was not waited for is done. A wait for nothing
 * ends the process. */
void llmmem_copy_wait(int64_t direction);

/* Has run(context, 0, 1) called by the thread of updates, with a copy of the `bytes` bytes of
 * `context`, at most LLMMEM_MOST_CONTEXT (Started.h); where the system gives no thread, at once. */
void llmmem_update_start(llmmem_iterations run, const void *context, int64_t bytes);

/* Returns when the first update that was not waited for is done. A wait for nothing ends the
 * process. */
void llmmem_update_wait(void);

/* Copies of this process, each direction by itself, move at most so many bytes per second from now
 * on; 0: as many as they can. For tests of slow links: it changes times alone. */
void llmmem_throttle_copies(int64_t bytes_per_second);

#ifdef __cplusplus
}
#endif

#endif /* LLMMEM_RUNTIME_HOSTCOPIES_H */
