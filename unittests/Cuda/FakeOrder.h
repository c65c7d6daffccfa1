/*===- FakeOrder.h - What the fake driver's streams have waited for ---------===*\
|*
|* Each stream has a clock: of the work that stream t was given in the capture at hand, the first
|* seen[t] are before whatever the stream is given next. Its own work is all of it; an event takes
|* its stream's clock along, and who waits for the event takes over what it has seen (vector
|* clocks). Streams are numbered from 0.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_UNITTESTS_CUDA_FAKEORDER_H
#define LLMMEM_UNITTESTS_CUDA_FAKEORDER_H

#include <stddef.h>
#include <stdint.h>

enum { MOST_FAKE_STREAMS = 16 };
typedef struct {
  int seen[MOST_FAKE_STREAMS];
} FakeClock;

/* A capture begins: nothing was given to any stream. */
void llmmem_fake_order_begin(void);
/* The stream is given some work. Returns its number. */
int llmmem_fake_order_work(int stream);
FakeClock llmmem_fake_order_now(int stream);
void llmmem_fake_order_wait(int stream, const FakeClock *event);

/* Whether a copy or an update on the host that is not before what the stream is given next writes
 * these bytes, or reads them while they are written. Writes that into the log. */
int llmmem_fake_order_meets(const char *begin, size_t bytes, int writes, int stream);
/* The stream is given a copy; 1 where it races with another one. */
int llmmem_fake_order_copy(char *to, const char *from, size_t bytes, int stream);
/* The same of an update on the host, of whose buffers the begins are known. */
int llmmem_fake_order_update(const uint64_t *begins, int64_t count, int stream);
/* Whether all that was given to other streams is before what this one is given next. */
int llmmem_fake_order_has_joined(int stream);

#endif /* LLMMEM_UNITTESTS_CUDA_FAKEORDER_H */
