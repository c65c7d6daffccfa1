/*===- Started.h - Calls that run beside the step --------------------------===*\
|*
|* What started collectives (docs/Design/Ranks.md, "Overlap") are lowered to:
|*
|*   llmmem_start(run, &context, sizeof context);     the thread of communication runs it
|*   ...                                              what runs beside it
|*   llmmem_wait();                                   and is behind it
|*
|* One thread of a rank runs what its rank started, one after another in the order of the starts.
|* While it runs a call, no other thread of the rank speaks to the transport: collectives that are
|* called directly first wait until all that was started is done.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_RUNTIME_STARTED_H
#define LLMMEM_RUNTIME_STARTED_H

#include "llmmem/Runtime/Parallel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Three addresses for each of 128 values of a bucket, and a few. */
enum { LLMMEM_MOST_CONTEXT = 4096 };

/* Has run(context, 0, 1) called, with a copy of the `bytes` bytes of `context`, at most
 * LLMMEM_MOST_CONTEXT; of what they point to nothing may change before the wait. Without a job, and
 * over a transport that is not `serialized`, it is called at once. */
void llmmem_start(llmmem_iterations run, const void *context, int64_t bytes);

/* Returns when the first of the started calls that was not waited for is done. A wait for nothing
 * ends the job. */
void llmmem_wait(void);

#ifdef __cplusplus
}
#endif

#endif /* LLMMEM_RUNTIME_STARTED_H */
