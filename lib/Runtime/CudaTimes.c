/*===- CudaTimes.c - Times of a step's calls, by events ---------------------===*/

#include "CudaRun.h"
#include <stdlib.h>

enum { MOST_MARKS = 1 << 20, MOST_FILLS = 64 };
/* Takes about ten milliseconds at today's memory bandwidths: launches of a few thousand kernels. */
static const size_t HEAD_START_BYTES = (size_t)40 << 30;

int llmmem_cuda_make_marks(llmmem_cuda *run, Marks *marks, size_t count) {
  if (count <= marks->count)
    return 0;
  CUevent *larger = count <= MOST_MARKS ? realloc(marks->events, count * sizeof *larger) : NULL;
  if (!larger)
    return fail(run, "timing the step", "not enough memory on the host");
  marks->events = larger;
  for (; marks->count < count; ++marks->count)
    if (check(run, run->driver.event_create(&larger[marks->count], CU_EVENT_DEFAULT),
              "timing the step"))
      return 1;
  return 0;
}

static int make_marks(llmmem_cuda *run, size_t number) {
  return llmmem_cuda_make_marks(run, &run->timing.marks, number + 1);
}

void llmmem_cuda_mark(llmmem_cuda *run, int64_t number) {
  if (launches(run) && !make_marks(run, (size_t)number))
    check(run, run->driver.event_record(run->timing.marks.events[number], run->stream),
          "timing the step");
}

/* A float of milliseconds has 24 bits, which is half a microsecond (the resolution of events) in
 * eight seconds. */
static int time_between(llmmem_cuda *run, CUevent begin, CUevent end, int64_t *ns) {
  float milliseconds = 0;
  if (run->failed ||
      check(run, run->driver.event_elapsed(&milliseconds, begin, end), "timing the step"))
    return 1;
  *ns = (int64_t)(1e6 * (double)milliseconds + 0.5);
  return 0;
}

int llmmem_cuda_read_marks(llmmem_cuda *run, int64_t *ns, int64_t count) {
  for (int64_t k = 0; k < count; ++k)
    if (time_between(run, run->timing.marks.events[k], run->timing.marks.events[k + 1], &ns[k]))
      return 1;
  return 0;
}

int llmmem_cuda_read_starts(llmmem_cuda *run, int64_t *ns, int64_t count) {
  if (!run->failed && count != (int64_t)run->timing.starts)
    return fail(run, "timing the step", "its last run had another number of started calls");
  for (int64_t k = 0; k < count; ++k)
    if (time_between(run, run->timing.link_marks.events[2 * k],
                     run->timing.link_marks.events[2 * k + 1], &ns[k]))
      return 1;
  return 0;
}

/* Keeps the device busy while the host launches ahead, so that times between marks are those of
 * kernels, even of kernels that take less time than their launch. It fills the arena, which holds
 * no value between steps. */
static int take_head_start(llmmem_cuda *run) {
  size_t filled = 0;
  for (int k = 0; k < MOST_FILLS && run->memory.arena_bytes > 0 && filled < HEAD_START_BYTES; ++k) {
    if (check(run, run->driver.fill(run->memory.arena, 0, run->memory.arena_bytes, run->stream),
              "timing the step"))
      return 1;
    filled += run->memory.arena_bytes;
  }
  return 0;
}

int llmmem_cuda_run_marked(llmmem_cuda *run, void (*step)(void *context), void *context,
                           int64_t *ns, int64_t count) {
  if (run->failed || make_marks(run, (size_t)count))
    return 1;
  llmmem_cuda_choose_algorithms(run, step, context);
  if (run->failed || take_head_start(run))
    return 1;
  run->timing.is_marked = 1;
  run->timing.starts = 0;
  llmmem_cuda_forget_copies(run);
  step(context);
  run->timing.is_marked = 0;
  if (run->failed || check(run, run->driver.stream_wait(run->stream), "running the step")) {
    llmmem_cuda_wait_for_host(run);
    return 1;
  }
  return llmmem_cuda_read_marks(run, ns, count);
}

static void close_marks(const CudaDriver *driver, Marks *marks) {
  for (size_t k = 0; k < marks->count; ++k)
    driver->event_destroy(marks->events[k]);
  free(marks->events);
}

void llmmem_cuda_close_marks(llmmem_cuda *run) {
  close_marks(&run->driver, &run->timing.marks);
  close_marks(&run->driver, &run->timing.link_marks);
}
