/*===- Started.h - Calls that overlap the step ------------------------------===*\
|*
|* Started collectives (docs/Design/Ranks.md, "Overlap") are lowered to these calls:
|*
|*   llmmem_start(run, &context, sizeof context);     the thread of communication runs it
|*   ...                                              overlaps the call
|*   llmmem_wait();                                   and follows it
|*
|* One thread of a rank runs what its rank started, one call after another in the order of the
|* starts. While it runs a call, no other thread of the rank uses the transport: direct collectives
|* first wait until all started ones are done.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_RUNTIME_STARTED_H
#define LLMMEM_RUNTIME_STARTED_H

#include "llmmem/Runtime/Parallel.h"

LLMMEM_EXTERN_C_BEGIN

/* This is enough for three addresses for each of 128 values of a bucket, and a few more. */
enum { LLMMEM_MOST_CONTEXT = 4096 };

/* Makes the thread call run(context, 0, 1), with a copy of the `bytes` bytes of `context`, at most
 * LLMMEM_MOST_CONTEXT. What they point to must not change before the wait. Without a job, and over
 * a transport that is not `serialized`, it is called at once. */
void llmmem_start(llmmem_iterations run, const void *context, int64_t bytes);

/* Returns when the first started call that was not waited for is done. A wait without a start ends
 * the job. */
void llmmem_wait(void);

LLMMEM_EXTERN_C_END

#endif /* LLMMEM_RUNTIME_STARTED_H */
