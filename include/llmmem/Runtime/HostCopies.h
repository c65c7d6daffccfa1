/*===- HostCopies.h - Copies between the device's memory and the host's ----===*\
|*
|* What llm.copy_up and llm.copy_down of a step on a CPU are lowered to. There the device's memory
|* and the host's are two arenas of one machine:
|*
|*   llmmem_copy_start(to, from, bytes, LLMMEM_COPY_UP);      a copying thread runs it
|*   ...                                                      what runs beside it
|*   llmmem_copy_wait(LLMMEM_COPY_UP);                        and is behind it
|*
|* Each direction has a thread, which runs its copies one after another in the order of the starts.
|* Both belong to the thread that starts the first copy, and end with it.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_RUNTIME_HOSTCOPIES_H
#define LLMMEM_RUNTIME_HOSTCOPIES_H

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

/* Copies of this process, each direction by itself, move at most so many bytes per second from now
 * on; 0: as many as they can. For tests of slow links: it changes times alone. */
void llmmem_throttle_copies(int64_t bytes_per_second);

#ifdef __cplusplus
}
#endif

#endif /* LLMMEM_RUNTIME_HOSTCOPIES_H */
