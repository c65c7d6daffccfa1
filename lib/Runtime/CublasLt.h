/*===- CublasLt.h - The functions of cuBLASLt that matmuls need -----------===*\
|*
|* These are declared here, so that llmmem builds without the CUDA toolkit. Values and shapes are
|* those of cublasLt.h since CUDA 12; unittests/Cuda/CublasLtHeaderTest.cpp compares them where
|* that header exists.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_LIB_RUNTIME_CUBLASLT_H
#define LLMMEM_LIB_RUNTIME_CUBLASLT_H

#include "llmmem/Runtime/ExternC.h"
#include <stddef.h>
#include <stdint.h>

LLMMEM_EXTERN_C_BEGIN

/* ours, NVIDIA's, value */
#define LLMMEM_CUBLASLT_CONSTANTS(CONSTANT)                                                        \
  CONSTANT(LT_TYPE_F32, CUDA_R_32F, 0)                                                             \
  CONSTANT(LT_TYPE_BF16, CUDA_R_16BF, 14)                                                          \
  CONSTANT(LT_COMPUTE_F32, CUBLAS_COMPUTE_32F, 68)                                                 \
  CONSTANT(LT_OP_N, CUBLAS_OP_N, 0)                                                                \
  CONSTANT(LT_OP_T, CUBLAS_OP_T, 1)                                                                \
  CONSTANT(LT_SUCCESS, CUBLAS_STATUS_SUCCESS, 0)                                                   \
  CONSTANT(LT_NOT_INITIALIZED, CUBLAS_STATUS_NOT_INITIALIZED, 1)                                   \
  CONSTANT(LT_INVALID_VALUE, CUBLAS_STATUS_INVALID_VALUE, 7)                                       \
  CONSTANT(LT_NOT_SUPPORTED, CUBLAS_STATUS_NOT_SUPPORTED, 15)                                      \
  CONSTANT(LT_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSA, 3)                                         \
  CONSTANT(LT_DESC_TRANSB, CUBLASLT_MATMUL_DESC_TRANSB, 4)                                         \
  CONSTANT(LT_DESC_EPILOGUE, CUBLASLT_MATMUL_DESC_EPILOGUE, 7)                                     \
  CONSTANT(LT_DESC_BIAS_POINTER, CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8)                             \
  CONSTANT(LT_DESC_AUX_POINTER, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, 11)                     \
  CONSTANT(LT_DESC_AUX_LD, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, 12)                               \
  CONSTANT(LT_LAYOUT_BATCH_COUNT, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 5)                           \
  CONSTANT(LT_LAYOUT_BATCH_STRIDE, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 6)                 \
  CONSTANT(LT_PREF_WORKSPACE_BYTES, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 1)                   \
  CONSTANT(LT_PREF_REDUCTION_MASK, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, 3)                  \
  CONSTANT(LT_PREF_ALIGNMENT_A, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 5)                     \
  CONSTANT(LT_PREF_ALIGNMENT_B, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, 6)                     \
  CONSTANT(LT_PREF_ALIGNMENT_C, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, 7)                     \
  CONSTANT(LT_PREF_ALIGNMENT_D, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 8)                     \
  CONSTANT(LT_REDUCTION_NONE, CUBLASLT_REDUCTION_SCHEME_NONE, 0)                                   \
  CONSTANT(LT_REDUCTION_COMPUTE_TYPE, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, 2)                   \
  CONSTANT(LT_ALGO_REDUCTION, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, 3)                            \
  CONSTANT(LT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_DEFAULT, 1)                                      \
  CONSTANT(LT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_BIAS, 4)                                            \
  CONSTANT(LT_EPILOGUE_GELU_BIAS, CUBLASLT_EPILOGUE_GELU_BIAS, 36)                                 \
  CONSTANT(LT_EPILOGUE_GELU_AUX_BIAS, CUBLASLT_EPILOGUE_GELU_AUX_BIAS, 164)                        \
  CONSTANT(LT_EPILOGUE_DGELU, CUBLASLT_EPILOGUE_DGELU, 192)                                        \
  CONSTANT(LT_EPILOGUE_DGELU_BGRAD, CUBLASLT_EPILOGUE_DGELU_BGRAD, 208)                            \
  CONSTANT(LT_EPILOGUE_BGRADA, CUBLASLT_EPILOGUE_BGRADA, 256)                                      \
  CONSTANT(LT_EPILOGUE_BGRADB, CUBLASLT_EPILOGUE_BGRADB, 512)

enum {
#define LLMMEM_CUBLASLT_CONSTANT(ours, theirs, value) ours = value,
  LLMMEM_CUBLASLT_CONSTANTS(LLMMEM_CUBLASLT_CONSTANT)
#undef LLMMEM_CUBLASLT_CONSTANT
};

typedef struct {
  uint64_t data[8];
} LtAlgorithm;

typedef struct {
  LtAlgorithm algorithm;
  size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
} LtHeuristic;

/* Handles and descriptors are opaque. */
typedef void *LtHandle;
typedef void *LtOperation;
typedef void *LtLayout;
typedef void *LtPreference;

/* result, member, name in the library, parameters */
#define LLMMEM_CUBLASLT_FUNCTIONS(FUNCTION)                                                        \
  FUNCTION(int, create, cublasLtCreate, (LtHandle * handle))                                       \
  FUNCTION(int, destroy, cublasLtDestroy, (LtHandle handle))                                       \
  FUNCTION(size_t, version, cublasLtGetVersion, (void))                                            \
  FUNCTION(const char *, status_string, cublasLtGetStatusString, (int status))                     \
  FUNCTION(int, operation_create, cublasLtMatmulDescCreate,                                        \
           (LtOperation * operation, int compute_type, int scale_type))                            \
  FUNCTION(int, operation_destroy, cublasLtMatmulDescDestroy, (LtOperation operation))             \
  FUNCTION(int, operation_set, cublasLtMatmulDescSetAttribute,                                     \
           (LtOperation operation, int attribute, const void *value, size_t size))                 \
  FUNCTION(int, layout_create, cublasLtMatrixLayoutCreate,                                         \
           (LtLayout * layout, int type, uint64_t rows, uint64_t columns, int64_t pitch))          \
  FUNCTION(int, layout_destroy, cublasLtMatrixLayoutDestroy, (LtLayout layout))                    \
  FUNCTION(int, layout_set, cublasLtMatrixLayoutSetAttribute,                                      \
           (LtLayout layout, int attribute, const void *value, size_t size))                       \
  FUNCTION(int, preference_create, cublasLtMatmulPreferenceCreate, (LtPreference * preference))    \
  FUNCTION(int, preference_destroy, cublasLtMatmulPreferenceDestroy, (LtPreference preference))    \
  FUNCTION(int, preference_set, cublasLtMatmulPreferenceSetAttribute,                              \
           (LtPreference preference, int attribute, const void *value, size_t size))               \
  FUNCTION(int, heuristic, cublasLtMatmulAlgoGetHeuristic,                                         \
           (LtHandle handle, LtOperation operation, LtLayout a, LtLayout b, LtLayout c,            \
            LtLayout d, LtPreference preference, int wanted, LtHeuristic *results, int *found))    \
  FUNCTION(int, algorithm_check, cublasLtMatmulAlgoCheck,                                          \
           (LtHandle handle, LtOperation operation, LtLayout a, LtLayout b, LtLayout c,            \
            LtLayout d, const LtAlgorithm *algorithm, LtHeuristic *result))                        \
  FUNCTION(                                                                                        \
      int, algorithm_get, cublasLtMatmulAlgoConfigGetAttribute,                                    \
      (const LtAlgorithm *algorithm, int attribute, void *value, size_t size, size_t *written))    \
  FUNCTION(int, multiply, cublasLtMatmul,                                                          \
           (LtHandle handle, LtOperation operation, const void *alpha, const void *a,              \
            LtLayout a_layout, const void *b, LtLayout b_layout, const void *beta, const void *c,  \
            LtLayout c_layout, void *d, LtLayout d_layout, const LtAlgorithm *algorithm,           \
            void *workspace, size_t workspace_bytes, void *stream))

typedef struct {
  void *library;
#define LLMMEM_CUBLASLT_MEMBER(result, member, name, parameters) result(*member) parameters;
  LLMMEM_CUBLASLT_FUNCTIONS(LLMMEM_CUBLASLT_MEMBER)
#undef LLMMEM_CUBLASLT_MEMBER
} CublasLt;

/* Returns 0, or 1 with the reason in `message`. */
int llmmem_cublaslt_open(CublasLt *lt, const char *library, char *message, size_t size);
void llmmem_cublaslt_close(CublasLt *lt);

LLMMEM_EXTERN_C_END

#endif /* LLMMEM_LIB_RUNTIME_CUBLASLT_H */
