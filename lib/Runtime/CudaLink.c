/*===- CudaLink.c - Streams for what overlaps the step ----------------------===*/

#include "CudaRun.h"

static const char WHAT[] = "starting a call that overlaps the step";

int llmmem_cuda_open_link(llmmem_cuda *run, int number) {
  CudaDriver *driver = &run->driver;
  Link *link = &run->links[number];
  if (run->failed ||
      check(run, driver->stream_create(&link->stream, CU_STREAM_NON_BLOCKING), "making a stream") ||
      check(run, driver->event_create(&link->forked, CU_EVENT_DISABLE_TIMING), "making an event"))
    return 1;
  for (int k = 0; k < MOST_STARTS; ++k)
    if (check(run, driver->event_create(&link->ended[k], CU_EVENT_DISABLE_TIMING),
              "making an event"))
      return 1;
  return 0;
}

/* In a run with marks, records the time before (0) or after (1) a started call, on its stream. */
static void mark_link(llmmem_cuda *run, CUstream stream, size_t side) {
  size_t number = 2 * run->timing.starts + side;
  if (run->timing.is_marked && !llmmem_cuda_make_marks(run, &run->timing.link_marks, number + 1))
    check(run, run->driver.event_record(run->timing.link_marks.events[number], stream), WHAT);
}

static void swap_streams(llmmem_cuda *run, Link *link) {
  CUstream other = run->stream;
  run->stream = link->stream;
  link->stream = other;
  run->on_link = !run->on_link;
}

void llmmem_cuda_fork(llmmem_cuda *run, int number) {
  Link *link = &run->links[number];
  if (launches(run) && !check(run, run->driver.event_record(link->forked, run->stream), WHAT))
    check(run, run->driver.stream_wait_event(link->stream, link->forked, 0), WHAT);
  if (launches(run))
    mark_link(run, link->stream, 0);
  swap_streams(run, link);
}

void llmmem_cuda_end_fork(llmmem_cuda *run, int number, int64_t start) {
  Link *link = &run->links[number];
  if (launches(run)) {
    mark_link(run, run->stream, 1);
    run->timing.starts += (size_t)run->timing.is_marked;
    check(run, run->driver.event_record(link->ended[start % MOST_STARTS], run->stream), WHAT);
  }
  swap_streams(run, link);
}

void llmmem_cuda_join(llmmem_cuda *run, int number, int64_t start) {
  CUevent ended = run->links[number].ended[start % MOST_STARTS];
  if (launches(run))
    check(run, run->driver.stream_wait_event(run->stream, ended, 0),
          "waiting for a call that overlaps the step");
}

void llmmem_cuda_wait_for_host(llmmem_cuda *run) {
  if (run->host.pinned_count == 0 && !run->host.updates)
    return;
  run->driver.stream_wait(run->stream);
  for (int number = 0; number < LINKS; ++number)
    if (run->links[number].stream)
      run->driver.stream_wait(run->links[number].stream);
}

static void close_link(llmmem_cuda *run, Link *link) {
  if (!link->stream)
    return;
  run->driver.stream_destroy(link->stream);
  if (link->forked)
    run->driver.event_destroy(link->forked);
  for (int k = 0; k < MOST_STARTS; ++k)
    if (link->ended[k])
      run->driver.event_destroy(link->ended[k]);
}

void llmmem_cuda_close_links(llmmem_cuda *run) {
  for (int number = 0; number < LINKS; ++number)
    close_link(run, &run->links[number]);
}
