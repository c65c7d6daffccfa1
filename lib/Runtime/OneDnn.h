/*===- OneDnn.h - The functions of oneDNN that matmuls need ----------------===*\
|*
|* These are declared here, so that llmmem builds without oneDNN and runs with whichever of its
|* versions 2 and 3 a machine has. Constants are those of dnnl_types.h, which are the same in both;
|* unittests/Runtime/OneDnnHeaderTest.cpp compares them where that header exists.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_LIB_RUNTIME_ONEDNN_H
#define LLMMEM_LIB_RUNTIME_ONEDNN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ours, oneDNN's, value */
#define LLMMEM_ONEDNN_CONSTANTS(CONSTANT)                                                          \
  CONSTANT(DNN_SUCCESS, dnnl_success, 0)                                                           \
  CONSTANT(DNN_OUT_OF_MEMORY, dnnl_out_of_memory, 1)                                               \
  CONSTANT(DNN_CPU, dnnl_cpu, 1)                                                                   \
  CONSTANT(DNN_DEFAULT_FLAGS, dnnl_stream_default_flags, 1)                                        \
  CONSTANT(DNN_BF16, dnnl_bf16, 2)                                                                 \
  CONSTANT(DNN_F32, dnnl_f32, 3)                                                                   \
  CONSTANT(DNN_MAX_DIMENSIONS, DNNL_MAX_NDIMS, 12)                                                 \
  CONSTANT(DNN_SOURCE, DNNL_ARG_SRC, 1)                                                            \
  CONSTANT(DNN_WEIGHTS, DNNL_ARG_WEIGHTS, 33)                                                      \
  CONSTANT(DNN_BIAS, DNNL_ARG_BIAS, 41)                                                            \
  CONSTANT(DNN_DESTINATION, DNNL_ARG_DST, 17)                                                      \
  CONSTANT(DNN_AVX512_BF16, dnnl_cpu_isa_avx512_core_bf16, 0xe7)

enum {
#define LLMMEM_ONEDNN_CONSTANT(ours, theirs, value) ours = value,
  LLMMEM_ONEDNN_CONSTANTS(LLMMEM_ONEDNN_CONSTANT)
#undef LLMMEM_ONEDNN_CONSTANT
  /* A caller of version 2 has room for its descriptions, which are smaller than this. */
  DNN_DESCRIPTION_BYTES = 1024,
  DNN_MATMUL_BYTES = 8192,
};

typedef int64_t DnnSizes[DNN_MAX_DIMENSIONS];

typedef struct {
  int major, minor, patch;
} DnnVersion;

/* Handles are opaque, and so is the description of a matrix. */
typedef void *DnnHandle;

typedef struct {
  int role;
  DnnHandle memory;
} DnnArgument;

/* result, member, name in the library, parameters. Both versions have these. */
#define LLMMEM_ONEDNN_FUNCTIONS(FUNCTION)                                                          \
  FUNCTION(const DnnVersion *, version, dnnl_version, (void))                                      \
  FUNCTION(int, effective_isa, dnnl_get_effective_cpu_isa, (void))                                 \
  FUNCTION(int, sgemm, dnnl_sgemm,                                                                 \
           (char transpose_a, char transpose_b, int64_t rows, int64_t columns, int64_t inner,      \
            float alpha, const float *a, int64_t a_pitch, const float *b, int64_t b_pitch,         \
            float beta, float *c, int64_t c_pitch))                                                \
  FUNCTION(int, engine_create, dnnl_engine_create, (DnnHandle * engine, int kind, size_t index))   \
  FUNCTION(int, engine_destroy, dnnl_engine_destroy, (DnnHandle engine))                           \
  FUNCTION(int, stream_create, dnnl_stream_create,                                                 \
           (DnnHandle * stream, DnnHandle engine, unsigned flags))                                 \
  FUNCTION(int, stream_wait, dnnl_stream_wait, (DnnHandle stream))                                 \
  FUNCTION(int, stream_destroy, dnnl_stream_destroy, (DnnHandle stream))                           \
  FUNCTION(int, memory_create, dnnl_memory_create,                                                 \
           (DnnHandle * memory, const void *description, DnnHandle engine, void *data))            \
  FUNCTION(int, memory_set_data, dnnl_memory_set_data_handle, (DnnHandle memory, void *data))      \
  FUNCTION(int, memory_destroy, dnnl_memory_destroy, (DnnHandle memory))                           \
  FUNCTION(int, attributes_create, dnnl_primitive_attr_create, (DnnHandle * attributes))           \
  FUNCTION(int, attributes_set_post_ops, dnnl_primitive_attr_set_post_ops,                         \
           (DnnHandle attributes, DnnHandle post_ops))                                             \
  FUNCTION(int, attributes_destroy, dnnl_primitive_attr_destroy, (DnnHandle attributes))           \
  FUNCTION(int, post_ops_create, dnnl_post_ops_create, (DnnHandle * post_ops))                     \
  FUNCTION(int, post_ops_destroy, dnnl_post_ops_destroy, (DnnHandle post_ops))                     \
  FUNCTION(int, primitive_create, dnnl_primitive_create, (DnnHandle * primitive, DnnHandle how))   \
  FUNCTION(int, primitive_execute, dnnl_primitive_execute,                                         \
           (DnnHandle primitive, DnnHandle stream, int count, const DnnArgument *arguments))       \
  FUNCTION(int, primitive_destroy, dnnl_primitive_destroy, (DnnHandle primitive))                  \
  FUNCTION(int, how_destroy, dnnl_primitive_desc_destroy, (DnnHandle how))

/* Version 2 writes a description where its caller has room, and describes the product first. */
#define LLMMEM_ONEDNN_2_FUNCTIONS(FUNCTION)                                                        \
  FUNCTION(int, describe_in, dnnl_memory_desc_init_by_strides,                                     \
           (void *description, int rank, const int64_t *sizes, int type, const int64_t *strides))  \
  FUNCTION(int, describe_matmul, dnnl_matmul_desc_init,                                            \
           (void *matmul, const void *source, const void *weights, const void *bias,               \
            const void *destination))                                                              \
  FUNCTION(int, how_create, dnnl_primitive_desc_create,                                            \
           (DnnHandle * how, const void *matmul, DnnHandle attributes, DnnHandle engine,           \
            DnnHandle hint))                                                                       \
  FUNCTION(int, append_sum_2, dnnl_post_ops_append_sum, (DnnHandle post_ops, float scale))

#define LLMMEM_ONEDNN_3_FUNCTIONS(FUNCTION)                                                        \
  FUNCTION(int, description_create, dnnl_memory_desc_create_with_strides,                          \
           (void **description, int rank, const int64_t *sizes, int type, const int64_t *strides)) \
  FUNCTION(int, description_destroy, dnnl_memory_desc_destroy, (void *description))                \
  FUNCTION(int, matmul_how_create, dnnl_matmul_primitive_desc_create,                              \
           (DnnHandle * how, DnnHandle engine, const void *source, const void *weights,            \
            const void *bias, const void *destination, DnnHandle attributes))                      \
  FUNCTION(int, append_sum_3, dnnl_post_ops_append_sum,                                            \
           (DnnHandle post_ops, float scale, int32_t zero_point, int type))

/* The functions of the other version are null. */
typedef struct {
  void *library;
  int major;
#define LLMMEM_ONEDNN_MEMBER(result, member, name, parameters) result(*member) parameters;
  LLMMEM_ONEDNN_FUNCTIONS(LLMMEM_ONEDNN_MEMBER)
  LLMMEM_ONEDNN_2_FUNCTIONS(LLMMEM_ONEDNN_MEMBER)
  LLMMEM_ONEDNN_3_FUNCTIONS(LLMMEM_ONEDNN_MEMBER)
#undef LLMMEM_ONEDNN_MEMBER
} OneDnn;

/* Opens the library that LLMMEM_ONEDNN names, else libdnnl.so.3 or libdnnl.so.2: that of the Python
 * environment that the program was installed to, or where dlopen looks. It is never closed. Returns
 * 0, or 1 with the reason in `message`. */
int llmmem_onednn_open(OneDnn *dnn, char *message, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* LLMMEM_LIB_RUNTIME_ONEDNN_H */
