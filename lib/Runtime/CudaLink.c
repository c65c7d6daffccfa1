/*===- CudaLink.c - A second stream, for what runs beside the step ----------===*/

#include "CudaRun.h"
#include <stdlib.h>

static const char WHAT[] = "starting a call beside the step";

int llmmem_cuda_open_link(llmmem_cuda *run) {
  CudaDriver *driver = &run->driver;
  if (run->failed ||
      check(run, driver->stream_create(&run->link, CU_STREAM_NON_BLOCKING), "making a stream") ||
      check(run, driver->event_create(&run->forked, CU_EVENT_DISABLE_TIMING), "making an event"))
    return 1;
  for (int k = 0; k < MOST_STARTS; ++k)
    if (check(run, driver->event_create(&run->ended[k], CU_EVENT_DISABLE_TIMING),
              "making an event"))
      return 1;
  return 0;
}

/* Of a run with marks: the time before (0) or after (1) a started call, on its stream. */
static void mark_link(llmmem_cuda *run, CUstream link, size_t side) {
  size_t number = 2 * run->starts + side;
  if (run->is_marked &&
      !llmmem_cuda_make_marks(run, &run->link_marks, &run->link_mark_count, number + 1))
    check(run, run->driver.event_record(run->link_marks[number], link), WHAT);
}

static void swap_streams(llmmem_cuda *run) {
  CUstream other = run->stream;
  run->stream = run->link;
  run->link = other;
  run->on_link = !run->on_link;
}

void llmmem_cuda_fork(llmmem_cuda *run) {
  if (!run->failed && !run->is_choosing &&
      !check(run, run->driver.event_record(run->forked, run->stream), WHAT))
    check(run, run->driver.stream_wait_event(run->link, run->forked, 0), WHAT);
  if (!run->failed && !run->is_choosing)
    mark_link(run, run->link, 0);
  swap_streams(run);
}

void llmmem_cuda_end_fork(llmmem_cuda *run, int64_t number) {
  if (!run->failed && !run->is_choosing) {
    mark_link(run, run->stream, 1);
    run->starts += (size_t)run->is_marked;
    check(run, run->driver.event_record(run->ended[number % MOST_STARTS], run->stream), WHAT);
  }
  swap_streams(run);
}

void llmmem_cuda_join(llmmem_cuda *run, int64_t number) {
  if (!run->failed && !run->is_choosing)
    check(run, run->driver.stream_wait_event(run->stream, run->ended[number % MOST_STARTS], 0),
          "waiting for a call beside the step");
}

void llmmem_cuda_close_link(llmmem_cuda *run) {
  if (!run->link)
    return;
  run->driver.stream_destroy(run->link);
  for (size_t k = 0; k < run->link_mark_count; ++k)
    run->driver.event_destroy(run->link_marks[k]);
  free(run->link_marks);
  if (run->forked)
    run->driver.event_destroy(run->forked);
  for (int k = 0; k < MOST_STARTS; ++k)
    if (run->ended[k])
      run->driver.event_destroy(run->ended[k]);
}
