/*===- Started.c - Calls that overlap the step -----------------------------===*/

#include "llmmem/Runtime/Started.h"
#include "DeviceRanks.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*===----------------------------------------------------------------------===*/
/* The thread of communication                                                */
/*===----------------------------------------------------------------------===*/

static void enter_job(void *job) { llmmem_enter_job(job); }

void llmmem_close_communication(CallQueue *self) { llmmem_close_calls(self); }

bool llmmem_stop_communication(CallQueue *self) { return llmmem_stop_calls(self); }

void llmmem_wait_for_all_started(CallQueue *self) { llmmem_wait_for_all_calls(self); }

/* Returns the job's queue, opened at its first start; null where calls run at once. */
static CallQueue *communication(void) {
  CallQueue **slot = llmmem_communication();
  if (!slot)
    return NULL;
  if (!*slot)
    *slot = llmmem_open_calls(enter_job, llmmem_current_job());
  return *slot;
}

/*===----------------------------------------------------------------------===*/
/* Starts and waits                                                           */
/*===----------------------------------------------------------------------===*/

_Noreturn static void fail(const char *what) {
  fprintf(stderr, "llmmem: rank %lld: %s\n", (long long)llmmem_rank(), what);
  llmmem_ranks_abort(1);
  exit(1);
}

void llmmem_start(llmmem_iterations run, const void *context, int64_t bytes) {
  if (bytes > LLMMEM_MOST_CONTEXT)
    fail("a started call has more arguments than the runtime keeps");
  char now[LLMMEM_MOST_CONTEXT];
  DeviceRanks *device = llmmem_device_of_job();
  if (device) {
    memcpy(now, context, (size_t)bytes);
    llmmem_device_start(device, run, now);
    return;
  }
  CallQueue *self = communication();
  if (!self) {
    memcpy(now, context, (size_t)bytes);
    run(now, 0, 1);
    return;
  }
  llmmem_start_call(self, run, context, bytes);
}

void llmmem_wait(void) {
  DeviceRanks *device = llmmem_device_of_job();
  if (device) {
    llmmem_device_wait(device);
    return;
  }
  CallQueue *self = communication();
  if (self && !llmmem_wait_for_call(self))
    fail("waits for a call that nobody started");
}
