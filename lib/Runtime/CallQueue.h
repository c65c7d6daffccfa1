/*===- CallQueue.h - Calls that another thread runs one after another ------===*\
|*
|* What runs beside a step has a thread of its own: collectives (Started.c), and copies to and from
|* the host (HostCopies.c). One thread starts calls and waits for them, in the order of the starts.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_LIB_RUNTIME_CALLQUEUE_H
#define LLMMEM_LIB_RUNTIME_CALLQUEUE_H

#include "llmmem/Runtime/Started.h"
#include <stdbool.h>

typedef struct CallQueue CallQueue;

/* A queue whose thread calls begin(context) before all else. Null where the system gives no memory
 * or no thread: then calls run where they are started. */
CallQueue *llmmem_open_calls(void (*begin)(void *), void *context);

/* Has run(context, 0, 1) called, with a copy of the `bytes` bytes of `context`, at most
 * LLMMEM_MOST_CONTEXT. Waits where too many calls are started. */
void llmmem_start_call(CallQueue *queue, llmmem_iterations run, const void *context, int64_t bytes);

/* Returns when the first of the calls that was not waited for is done; false where there is none.
 */
bool llmmem_wait_for_call(CallQueue *queue);

/* These three do nothing for null. Nor do the first two wait on the queue's own thread. */
void llmmem_wait_for_all_calls(CallQueue *queue);
/* Begins no further call, and waits some seconds for the one that runs. Whether none runs now. */
bool llmmem_stop_calls(CallQueue *queue);
/* Runs all that was started, and frees the queue. */
void llmmem_close_calls(CallQueue *queue);

#endif /* LLMMEM_LIB_RUNTIME_CALLQUEUE_H */
