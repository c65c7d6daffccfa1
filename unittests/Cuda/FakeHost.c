/*===- FakeHost.c - What the fake driver has the host run --------------------===*\
|*
|* A host function of a step is an update there (CudaRun.h), of whose buffers the driver knows where
|* they begin.
|*
\*===----------------------------------------------------------------------===*/

#include "CudaRun.h"
#include "FakeDriver.h"
#include "FakeOrder.h"

CUresult cuLaunchHostFunc(CUstream stream, void (*function)(void *data), void *data) {
  if (llmmem_fake_cuda_fails("cuLaunchHostFunc"))
    return 999;
  const CudaUpdate *update = data;
  int is_capturing = llmmem_fake_cuda_is_capturing();
  llmmem_fake_cuda_note("%shost function of %lld buffers%s", is_capturing ? "node " : "",
                        (long long)update->count, llmmem_fake_cuda_stream(stream));
  llmmem_fake_cuda_take_time("host_function");
  if (!is_capturing) {
    function(data);
    return 0;
  }
  if (llmmem_fake_order_update(update->words, update->count,
                               llmmem_fake_cuda_stream_number(stream)))
    return 700; /* CUDA_ERROR_ILLEGAL_ADDRESS */
  return llmmem_fake_cuda_node(function, data);
}
