/*===- Nccl.h - The functions of NCCL that collectives need -----------------===*\
|*
|* These are declared here, so that llmmem builds without NCCL. Values and shapes are those of
|* nccl.h since 2.18; unittests/Cuda/NcclHeaderTest.cpp compares them where that header exists.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_LIB_RUNTIME_NCCL_H
#define LLMMEM_LIB_RUNTIME_NCCL_H

#include "llmmem/Runtime/ExternC.h"
#include <stddef.h>
#include <stdint.h>

LLMMEM_EXTERN_C_BEGIN

/* ours, NVIDIA's, value */
#define LLMMEM_NCCL_CONSTANTS(CONSTANT)                                                            \
  CONSTANT(NC_SUCCESS, ncclSuccess, 0)                                                             \
  CONSTANT(NC_UNHANDLED_CUDA_ERROR, ncclUnhandledCudaError, 1)                                     \
  CONSTANT(NC_SYSTEM_ERROR, ncclSystemError, 2)                                                    \
  CONSTANT(NC_INVALID_ARGUMENT, ncclInvalidArgument, 4)                                            \
  CONSTANT(NC_INVALID_USAGE, ncclInvalidUsage, 5)                                                  \
  CONSTANT(NC_REMOTE_ERROR, ncclRemoteError, 6)                                                    \
  CONSTANT(NC_SUM, ncclSum, 0)                                                                     \
  CONSTANT(NC_TYPE_U8, ncclUint8, 1)                                                               \
  CONSTANT(NC_TYPE_I32, ncclInt32, 2)                                                              \
  CONSTANT(NC_TYPE_F16, ncclFloat16, 6)                                                            \
  CONSTANT(NC_TYPE_F32, ncclFloat32, 7)                                                            \
  CONSTANT(NC_TYPE_F64, ncclFloat64, 8)                                                            \
  CONSTANT(NC_TYPE_BF16, ncclBfloat16, 9)

enum {
#define LLMMEM_NCCL_CONSTANT(ours, theirs, value) ours = value,
  LLMMEM_NCCL_CONSTANTS(LLMMEM_NCCL_CONSTANT)
#undef LLMMEM_NCCL_CONSTANT
      NC_ID_BYTES = 128,   /* NCCL_UNIQUE_ID_BYTES */
  NC_LEAST_VERSION = 21800 /* The first that splits communicators. */
};

typedef int NcResult;
typedef struct NcComm NcComm;
typedef struct {
  char bytes[NC_ID_BYTES];
} NcId; /* Passed by value, as NVIDIA's is. */

/* result, member, name in the library, parameters. A stream is the driver's CUstream. */
#define LLMMEM_NCCL_FUNCTIONS(FUNCTION)                                                            \
  FUNCTION(NcResult, version, ncclGetVersion, (int *version))                                      \
  FUNCTION(const char *, error_text, ncclGetErrorString, (NcResult result))                        \
  FUNCTION(const char *, last_error, ncclGetLastError, (NcComm * comm))                            \
  FUNCTION(NcResult, make_id, ncclGetUniqueId, (NcId * id))                                        \
  FUNCTION(NcResult, open, ncclCommInitRank, (NcComm * *comm, int ranks, NcId id, int rank))       \
  FUNCTION(NcResult, split, ncclCommSplit,                                                         \
           (NcComm * comm, int color, int key, NcComm **split, void *config))                      \
  FUNCTION(NcResult, close, ncclCommDestroy, (NcComm * comm))                                      \
  FUNCTION(NcResult, abort, ncclCommAbort, (NcComm * comm))                                        \
  FUNCTION(NcResult, async_error, ncclCommGetAsyncError, (NcComm * comm, NcResult * error))        \
  FUNCTION(NcResult, all_reduce, ncclAllReduce,                                                    \
           (const void *x, void *sum, size_t count, int type, int op, NcComm *comm, void *stream)) \
  FUNCTION(                                                                                        \
      NcResult, reduce_scatter, ncclReduceScatter,                                                 \
      (const void *whole, void *part, size_t count, int type, int op, NcComm *comm, void *stream)) \
  FUNCTION(NcResult, all_gather, ncclAllGather,                                                    \
           (const void *part, void *whole, size_t count, int type, NcComm *comm, void *stream))    \
  FUNCTION(NcResult, broadcast, ncclBroadcast,                                                     \
           (const void *x, void *y, size_t count, int type, int root, NcComm *comm, void *stream)) \
  FUNCTION(NcResult, reduce, ncclReduce,                                                           \
           (const void *x, void *sum, size_t count, int type, int op, int root, NcComm *comm,      \
            void *stream))                                                                         \
  FUNCTION(NcResult, send, ncclSend,                                                               \
           (const void *x, size_t count, int type, int to, NcComm *comm, void *stream))            \
  FUNCTION(NcResult, receive, ncclRecv,                                                            \
           (void *y, size_t count, int type, int from, NcComm *comm, void *stream))                \
  FUNCTION(NcResult, group_begin, ncclGroupStart, (void))                                          \
  FUNCTION(NcResult, group_end, ncclGroupEnd, (void))

typedef struct {
  void *library;
#define LLMMEM_NCCL_MEMBER(result, member, name, parameters) result(*member) parameters;
  LLMMEM_NCCL_FUNCTIONS(LLMMEM_NCCL_MEMBER)
#undef LLMMEM_NCCL_MEMBER
} Nccl;

/* Returns 0, or 1 with the reason in `message`: there is no such library, or it is older than
 * NC_LEAST_VERSION. Writes its version, 22809 for 2.28.9, or 0. */
int llmmem_nccl_open(Nccl *nccl, const char *library, int *version, char *message, size_t size);

LLMMEM_EXTERN_C_END

#endif /* LLMMEM_LIB_RUNTIME_NCCL_H */
