/*===- CallQueue.h - Calls that another thread runs one after another ------===*\
|*
|* Calls that overlap a step have a thread of their own: collectives (Started.c), and copies to and
|* from the host (HostCopies.c). One thread starts calls and waits for them, in the order of the
|* starts.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_LIB_RUNTIME_CALLQUEUE_H
#define LLMMEM_LIB_RUNTIME_CALLQUEUE_H

#include "llmmem/Runtime/Started.h"
#include <stdbool.h>

typedef struct CallQueue CallQueue;

/* Opens a queue whose thread calls begin(context) first. Returns null where the system provides no
 * memory or no thread: then calls run where they are started. */
CallQueue *llmmem_open_calls(void (*begin)(void *), void *context);

/* Makes the thread call run(context, 0, 1), with a copy of the `bytes` bytes of `context`, at most
 * LLMMEM_MOST_CONTEXT. Waits where too many calls are started. */
void llmmem_start_call(CallQueue *queue, llmmem_iterations run, const void *context, int64_t bytes);

/* Returns true when the first call that was not waited for is done, or false where there is none.
 * */
bool llmmem_wait_for_call(CallQueue *queue);

/* These three do nothing for null. The first two do not wait on the queue's own thread. */
void llmmem_wait_for_all_calls(CallQueue *queue);
/* Begins no further call, and waits some seconds for the running one. Returns whether none runs
 * now. */
bool llmmem_stop_calls(CallQueue *queue);
/* Runs all that was started, and frees the queue. */
void llmmem_close_calls(CallQueue *queue);

#endif /* LLMMEM_LIB_RUNTIME_CALLQUEUE_H */
