/*===- FakeHost.c - What the fake driver has the host run --------------------===*\
|*
|* A host function of a step is an update there (CudaRun.h), of whose buffers the driver knows where
|* they begin.
|*
\*===----------------------------------------------------------------------===*/

#include "CudaRun.h"
#include "FakeDriver.h"
#include "FakeOrder.h"

/* Outside of a capture, what the first stream does not run runs as late as it may. */
enum { MOST_LATE = 64 };
static struct {
  CUstream stream;
  void (*function)(void *data);
  void *data;
} late[MOST_LATE];
static int late_count;

void llmmem_fake_cuda_run_late(const void *stream) {
  int kept = 0;
  for (int k = 0; k < late_count; ++k)
    if (stream && late[k].stream != stream)
      late[kept++] = late[k];
    else
      late[k].function(late[k].data);
  late_count = kept;
}

static void run_later(CUstream stream, void (*function)(void *data), void *data) {
  if (late_count == MOST_LATE)
    llmmem_fake_cuda_run_late(NULL);
  late[late_count].stream = stream;
  late[late_count].function = function;
  late[late_count++].data = data;
}

CUresult cuLaunchHostFunc(CUstream stream, void (*function)(void *data), void *data) {
  if (llmmem_fake_cuda_fails("cuLaunchHostFunc"))
    return 999;
  const CudaUpdate *update = data;
  int is_capturing = llmmem_fake_cuda_is_capturing();
  llmmem_fake_cuda_note("%shost function of %lld buffers%s", is_capturing ? "node " : "",
                        (long long)update->count, llmmem_fake_cuda_stream(stream));
  llmmem_fake_cuda_take_time("host_function");
  if (!is_capturing) {
    if (llmmem_fake_cuda_stream_number(stream) > 0)
      run_later(stream, function, data);
    else
      function(data);
    return 0;
  }
  if (llmmem_fake_order_update(update->words, update->count,
                               llmmem_fake_cuda_stream_number(stream)))
    return 700; /* CUDA_ERROR_ILLEGAL_ADDRESS */
  return llmmem_fake_cuda_node(function, data);
}
