/*===- CudaDriver.h - The functions of the CUDA driver that steps need ------===*\
|*
|* These are declared here, so that llmmem builds without the CUDA toolkit. Names, versions and
|* types are those of cuda.h since CUDA 12; the driver keeps old versions of its functions.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_LIB_RUNTIME_CUDADRIVER_H
#define LLMMEM_LIB_RUNTIME_CUDADRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef int CUresult; /* The value 0 means success. */
typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUevent_st *CUevent;
typedef struct {
  _Alignas(64) unsigned char bytes[128];
} CUtensorMap;

enum {
  CU_STREAM_NON_BLOCKING = 1,
  CU_STREAM_CAPTURE_MODE_RELAXED = 2,
  CU_JIT_ERROR_LOG_BUFFER = 5,
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
  CU_EVENT_DEFAULT = 0,
  CU_EVENT_DISABLE_TIMING = 2,
  CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13,
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT16 = 6,
  CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 = 9,
  CU_TENSOR_MAP_INTERLEAVE_NONE = 0,
  CU_TENSOR_MAP_SWIZZLE_128B = 3,
  CU_TENSOR_MAP_L2_PROMOTION_L2_256B = 3,
  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0, /* Fills with zeros. */
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NO_DEVICE = 100
};

/* member, name in the library, parameters */
#define LLMMEM_CUDA_FUNCTIONS(FUNCTION)                                                            \
  FUNCTION(init, cuInit, (unsigned flags))                                                         \
  FUNCTION(version, cuDriverGetVersion, (int *version))                                            \
  FUNCTION(error_name, cuGetErrorName, (CUresult error, const char **name))                        \
  FUNCTION(error_string, cuGetErrorString, (CUresult error, const char **text))                    \
  FUNCTION(device_get, cuDeviceGet, (CUdevice * device, int ordinal))                              \
  FUNCTION(device_count, cuDeviceGetCount, (int *count))                                           \
  FUNCTION(device_name, cuDeviceGetName, (char *name, int size, CUdevice device))                  \
  FUNCTION(device_attribute, cuDeviceGetAttribute, (int *value, int attribute, CUdevice device))   \
  FUNCTION(context_retain, cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))       \
  FUNCTION(context_release, cuDevicePrimaryCtxRelease_v2, (CUdevice device))                       \
  FUNCTION(context_set, cuCtxSetCurrent, (CUcontext context))                                      \
  FUNCTION(memory_info, cuMemGetInfo_v2, (size_t *free, size_t *total))                            \
  FUNCTION(memory_alloc, cuMemAlloc_v2, (CUdeviceptr * address, size_t bytes))                     \
  FUNCTION(memory_free, cuMemFree_v2, (CUdeviceptr address))                                       \
  FUNCTION(host_pin, cuMemHostRegister_v2, (void *begin, size_t bytes, unsigned flags))            \
  FUNCTION(host_unpin, cuMemHostUnregister, (void *begin))                                         \
  FUNCTION(upload, cuMemcpyHtoDAsync_v2,                                                           \
           (CUdeviceptr to, const void *from, size_t bytes, CUstream stream))                      \
  FUNCTION(download, cuMemcpyDtoHAsync_v2,                                                         \
           (void *to, CUdeviceptr from, size_t bytes, CUstream stream))                            \
  FUNCTION(copy, cuMemcpyDtoDAsync_v2,                                                             \
           (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))                      \
  FUNCTION(fill, cuMemsetD8Async,                                                                  \
           (CUdeviceptr to, unsigned char byte, size_t count, CUstream stream))                    \
  FUNCTION(module_load, cuModuleLoadDataEx,                                                        \
           (CUmodule * module, const void *image, unsigned count, int *options, void **values))    \
  FUNCTION(module_unload, cuModuleUnload, (CUmodule module))                                       \
  FUNCTION(module_function, cuModuleGetFunction,                                                   \
           (CUfunction * function, CUmodule module, const char *name))                             \
  FUNCTION(function_set, cuFuncSetAttribute, (CUfunction function, int attribute, int value))      \
  FUNCTION(stream_create, cuStreamCreate, (CUstream * stream, unsigned flags))                     \
  FUNCTION(stream_destroy, cuStreamDestroy_v2, (CUstream stream))                                  \
  FUNCTION(stream_wait, cuStreamSynchronize, (CUstream stream))                                    \
  FUNCTION(stream_wait_event, cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags)) \
  FUNCTION(capture_begin, cuStreamBeginCapture_v2, (CUstream stream, int mode))                    \
  FUNCTION(capture_end, cuStreamEndCapture, (CUstream stream, CUgraph * graph))                    \
  FUNCTION(graph_instantiate, cuGraphInstantiateWithFlags,                                         \
           (CUgraphExec * executable, CUgraph graph, unsigned long long flags))                    \
  FUNCTION(graph_destroy, cuGraphDestroy, (CUgraph graph))                                         \
  FUNCTION(graph_exec_destroy, cuGraphExecDestroy, (CUgraphExec executable))                       \
  FUNCTION(graph_launch, cuGraphLaunch, (CUgraphExec executable, CUstream stream))                 \
  FUNCTION(event_create, cuEventCreate, (CUevent * event, unsigned flags))                         \
  FUNCTION(event_destroy, cuEventDestroy_v2, (CUevent event))                                      \
  FUNCTION(event_record, cuEventRecord, (CUevent event, CUstream stream))                          \
  FUNCTION(event_elapsed, cuEventElapsedTime, (float *milliseconds, CUevent begin, CUevent end))   \
  FUNCTION(launch, cuLaunchKernel,                                                                 \
           (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,                \
            unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,           \
            CUstream stream, void **arguments, void **extra))                                      \
  FUNCTION(launch_host, cuLaunchHostFunc,                                                          \
           (CUstream stream, void (*function)(void *data), void *data))                            \
  FUNCTION(tensor_map_encode, cuTensorMapEncodeTiled,                                              \
           (CUtensorMap * map, int type, uint32_t rank, void *address, const uint64_t *sizes,      \
            const uint64_t *pitches, const uint32_t *box, const uint32_t *strides, int interleave, \
            int swizzle, int promotion, int fill))

typedef struct {
  void *library;
#define LLMMEM_CUDA_MEMBER(member, name, parameters) CUresult(*member) parameters;
  LLMMEM_CUDA_FUNCTIONS(LLMMEM_CUDA_MEMBER)
#undef LLMMEM_CUDA_MEMBER
} CudaDriver;

/* Returns 0, or 1 with the reason in `message`. */
int llmmem_cuda_driver_open(CudaDriver *driver, const char *library, char *message, size_t size);
void llmmem_cuda_driver_close(CudaDriver *driver);

#endif /* LLMMEM_LIB_RUNTIME_CUDADRIVER_H */
