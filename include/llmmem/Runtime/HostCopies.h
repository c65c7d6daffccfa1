/*===- HostCopies.h - Copies between the device's memory and the host's ----===*\
|*
|* On a CPU, llm.copy_up, llm.copy_down and updates on the host are lowered to these calls. There
|* the device's memory and the host's are two arenas of one machine:
|*
|*   llmmem_copy_start(to, from, bytes, LLMMEM_COPY_TO_HOST);    a copying thread runs it
|*   ...                                                         overlaps the copy
|*   llmmem_copy_wait(LLMMEM_COPY_TO_HOST);                      and follows it
|*
|* Each direction has a thread, which runs its copies one after another in the order of the starts.
|* Updates have a thread, too. The thread that starts the first call owns them, and they end with
|* it.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_RUNTIME_HOSTCOPIES_H
#define LLMMEM_RUNTIME_HOSTCOPIES_H

#include "llmmem/Runtime/Parallel.h"
#include <stdint.h>

LLMMEM_EXTERN_C_BEGIN

enum { LLMMEM_COPY_TO_HOST, LLMMEM_COPY_TO_DEVICE };

/* Copies at once. Source and destination do not overlap. */
void llmmem_copy(void *to, const void *from, int64_t bytes);

/* Until the wait the source must not be written, and the destination neither read nor written.
 * Where the system provides no thread, the copy is done when this returns. */
void llmmem_copy_start(void *to, const void *from, int64_t bytes, int64_t direction);

/* Returns when the first copy of this direction that was not waited for is done. A wait without a
 * copy ends the process. */
void llmmem_copy_wait(int64_t direction);

/* Makes the thread of updates call run(context, 0, 1), with a copy of the `bytes` bytes of
 * `context`, at most LLMMEM_MOST_CONTEXT (Started.h). Where the system provides no thread, it is
 * called at once. */
void llmmem_update_start(llmmem_iterations run, const void *context, int64_t bytes);

/* Returns when the first update that was not waited for is done. A wait without an update ends the
 * process. */
void llmmem_update_wait(void);

/* From now on limits the copies of this process, each direction separately, to this number of bytes
 * per second; 0 removes the limit. Tests of slow links use it: it changes times alone. */
void llmmem_throttle_copies(int64_t bytes_per_second);

LLMMEM_EXTERN_C_END

#endif /* LLMMEM_RUNTIME_HOSTCOPIES_H */
