/*===- CudaHost.c - The host's memory, copies to and from it, its updates ---===*/

#include "CudaRun.h"
#include "llmmem/Runtime/HostCopies.h"
#include <stdlib.h>
#include <string.h>

static const char WHAT[] = "copying between the device and the host",
                  WHAT_UPDATES[] = "updating on the host";

/*===----------------------------------------------------------------------===*\
|* Memory
\*===----------------------------------------------------------------------===*/

int llmmem_cuda_pin(llmmem_cuda *run, void *begin, int64_t bytes) {
  if (run->failed)
    return 1;
  void **larger = realloc(run->host.pinned, (run->host.pinned_count + 1) * sizeof *larger);
  if (!larger)
    return fail(run, "pinning memory of the host", "not enough memory on the host");
  run->host.pinned = larger;
  if (check(run, run->driver.host_pin(begin, (size_t)bytes, 0), "pinning memory of the host"))
    return 1;
  larger[run->host.pinned_count++] = begin;
  return 0;
}

/* It runs after a failure, too, because the caller may free the memory next. */
int llmmem_cuda_unpin(llmmem_cuda *run, void *begin) {
  for (size_t k = 0; k < run->host.pinned_count; ++k)
    if (run->host.pinned[k] == begin) {
      run->host.pinned[k] = run->host.pinned[--run->host.pinned_count];
      return run->driver.host_unpin(begin) != 0;
    }
  return 1;
}

void llmmem_cuda_unpin_all(llmmem_cuda *run) {
  while (run->host.pinned_count > 0)
    llmmem_cuda_unpin(run, run->host.pinned[0]);
  free(run->host.pinned);
  run->host.pinned = NULL;
}

/*===----------------------------------------------------------------------===*\
|* Copies
\*===----------------------------------------------------------------------===*/

void llmmem_cuda_host_copy(llmmem_cuda *run, uint64_t to, uint64_t from, int64_t bytes,
                           int64_t direction) {
  if (!launches(run))
    return;
  CUresult result =
      direction == LLMMEM_COPY_TO_HOST
          ? run->driver.download((void *)(uintptr_t)to, from, (size_t)bytes, run->stream)
          : run->driver.upload(to, (const void *)(uintptr_t)from, (size_t)bytes, run->stream);
  check(run, result, WHAT);
}

static int link_of(int64_t direction) {
  return direction == LLMMEM_COPY_TO_HOST ? LINK_TO_HOST : LINK_TO_DEVICE;
}

void llmmem_cuda_host_copy_start(llmmem_cuda *run, uint64_t to, uint64_t from, int64_t bytes,
                                 int64_t direction) {
  int number = link_of(direction);
  Link *link = &run->links[number];
  if (run->failed || (!link->stream && llmmem_cuda_open_link(run, number)))
    return;
  llmmem_cuda_fork(run, number);
  llmmem_cuda_host_copy(run, to, from, bytes, direction);
  llmmem_cuda_end_fork(run, number, link->started++);
}

static void wait_for_first(llmmem_cuda *run, int number, const char *what, const char *why_not) {
  Link *link = &run->links[number];
  if (run->failed)
    return;
  if (link->waited == link->started)
    fail(run, what, why_not);
  else
    llmmem_cuda_join(run, number, link->waited++);
}

void llmmem_cuda_host_copy_wait(llmmem_cuda *run, int64_t direction) {
  wait_for_first(run, link_of(direction), WHAT, "waits for a copy that nobody started");
}

void llmmem_cuda_forget_copies(llmmem_cuda *run) {
  for (int number = LINK_TO_HOST; number <= LINK_OF_UPDATES; ++number)
    run->links[number].started = run->links[number].waited = 0;
}

/*===----------------------------------------------------------------------===*\
|* Updates
\*===----------------------------------------------------------------------===*/

/* Runs on a thread of the driver. */
static void run_update(void *data) {
  const CudaUpdate *update = data;
  llmmem_set_threads(update->threads);
  update->kernel(update->words);
}

/* Runs with marks use the same words repeatedly. */
static CudaUpdate *find_update(llmmem_cuda *run, llmmem_host_kernel kernel, const uint64_t *words,
                               int64_t count) {
  for (CudaUpdate *known = run->host.updates; known; known = known->next)
    if (known->kernel == kernel && known->threads == llmmem_threads() && known->count == count &&
        memcmp(known->words, words, (size_t)count * sizeof *words) == 0)
      return known;
  return NULL;
}

static CudaUpdate *keep_update(llmmem_cuda *run, llmmem_host_kernel kernel, const uint64_t *words,
                               int64_t count) {
  CudaUpdate *kept = find_update(run, kernel, words, count);
  if (kept)
    return kept;
  kept = malloc(sizeof *kept + (size_t)count * sizeof *words);
  if (!kept)
    return NULL;
  kept->next = run->host.updates;
  kept->kernel = kernel;
  kept->threads = llmmem_threads();
  kept->count = count;
  memcpy(kept->words, words, (size_t)count * sizeof *words);
  return run->host.updates = kept;
}

void llmmem_cuda_free_updates(llmmem_cuda *run) {
  for (CudaUpdate *next; run->host.updates; run->host.updates = next) {
    next = run->host.updates->next;
    free(run->host.updates);
  }
}

void llmmem_cuda_update(llmmem_cuda *run, llmmem_host_kernel kernel, const uint64_t *words,
                        int64_t count) {
  if (!launches(run))
    return;
  CudaUpdate *update = keep_update(run, kernel, words, count);
  if (!update)
    fail(run, WHAT_UPDATES, "not enough memory on the host");
  else
    check(run, run->driver.launch_host(run->stream, run_update, update), WHAT_UPDATES);
}

void llmmem_cuda_update_start(llmmem_cuda *run, llmmem_host_kernel kernel, const uint64_t *words,
                              int64_t count) {
  Link *link = &run->links[LINK_OF_UPDATES];
  if (run->failed || (!link->stream && llmmem_cuda_open_link(run, LINK_OF_UPDATES)))
    return;
  llmmem_cuda_fork(run, LINK_OF_UPDATES);
  llmmem_cuda_update(run, kernel, words, count);
  llmmem_cuda_end_fork(run, LINK_OF_UPDATES, link->started++);
}

void llmmem_cuda_update_wait(llmmem_cuda *run) {
  wait_for_first(run, LINK_OF_UPDATES, WHAT_UPDATES, "waits for an update that nobody started");
}
