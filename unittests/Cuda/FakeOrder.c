/*===- FakeOrder.c - What the fake driver's streams have waited for ---------===*/

#include "FakeOrder.h"
#include "FakeDriver.h"
#include <string.h>

enum { MOST_COPIES = 1 << 14 };

static FakeClock clocks[MOST_FAKE_STREAMS];

/* The copies of the capture, and when their stream was given them. The buffers of an update on the
 * host stand here as their first bytes, which it may read and write. */
static struct {
  const char *to, *from;
  size_t bytes;
  const char *what;
  int stream, time;
} copies[MOST_COPIES];
static int copy_count;

void llmmem_fake_order_begin(void) {
  memset(clocks, 0, sizeof clocks);
  copy_count = 0;
}

int llmmem_fake_order_work(int stream) { return ++clocks[stream].seen[stream]; }

FakeClock llmmem_fake_order_now(int stream) { return clocks[stream]; }

void llmmem_fake_order_wait(int stream, const FakeClock *event) {
  for (int k = 0; k < MOST_FAKE_STREAMS; ++k)
    if (clocks[stream].seen[k] < event->seen[k])
      clocks[stream].seen[k] = event->seen[k];
}

static int overlap(const char *a, size_t a_bytes, const char *b, size_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}

int llmmem_fake_order_meets(const char *begin, size_t bytes, int writes, int stream) {
  for (int k = 0; k < copy_count; ++k) {
    if (clocks[stream].seen[copies[k].stream] >= copies[k].time)
      continue;
    if (overlap(begin, bytes, copies[k].to, copies[k].bytes) ||
        (writes && overlap(begin, bytes, copies[k].from, copies[k].bytes))) {
      llmmem_fake_cuda_note("race: %s on stream %d is not waited for", copies[k].what,
                            copies[k].stream);
      return 1;
    }
  }
  return 0;
}

static void add(const char *to, const char *from, size_t bytes, const char *what, int stream,
                int time) {
  copies[copy_count].to = to;
  copies[copy_count].from = from;
  copies[copy_count].bytes = bytes;
  copies[copy_count].what = what;
  copies[copy_count].stream = stream;
  copies[copy_count++].time = time;
}

int llmmem_fake_order_copy(char *to, const char *from, size_t bytes, int stream) {
  if (copy_count == MOST_COPIES || llmmem_fake_order_meets(from, bytes, 0, stream) ||
      llmmem_fake_order_meets(to, bytes, 1, stream))
    return 1;
  add(to, from, bytes, "a copy", stream, llmmem_fake_order_work(stream));
  return 0;
}

int llmmem_fake_order_update(const uint64_t *begins, int64_t count, int stream) {
  if (copy_count + count > MOST_COPIES)
    return 1;
  for (int64_t k = 0; k < count; ++k)
    if (llmmem_fake_order_meets((const char *)(uintptr_t)begins[k], 1, 1, stream))
      return 1;
  int time = llmmem_fake_order_work(stream);
  for (int64_t k = 0; k < count; ++k) {
    const char *begin = (const char *)(uintptr_t)begins[k];
    add(begin, begin, 1, "an update", stream, time);
  }
  return 0;
}

int llmmem_fake_order_has_joined(int stream) {
  for (int k = 0; k < MOST_FAKE_STREAMS; ++k)
    if (clocks[k].seen[k] > clocks[stream].seen[k])
      return 0;
  return 1;
}
