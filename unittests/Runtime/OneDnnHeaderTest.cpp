//===- OneDnnHeaderTest.cpp - Our declarations against oneDNN's header -----===//

#include "HeaderCheck.h"
#include "OneDnn.h"
#include "gtest/gtest.h"

#ifdef LLMMEM_HAS_ONEDNN_HEADER
#include <oneapi/dnnl/dnnl.h>

LLMMEM_ONEDNN_CONSTANTS(LLMMEM_COMPARE_CONSTANT)

static_assert(offsetof(DnnVersion, major) == offsetof(dnnl_version_t, major));
static_assert(sizeof(DnnSizes) == sizeof(dnnl_dims_t));
static_assert(sizeof(DnnArgument) == sizeof(dnnl_exec_arg_t));
static_assert(offsetof(DnnArgument, memory) == offsetof(dnnl_exec_arg_t, memory));

#define LLMMEM_COMPARE(result, member, name, parameters)                                           \
  static_assert(llmmem::test::callsAlike(decltype(OneDnn::member)(), decltype (&::name)()), #name);
LLMMEM_ONEDNN_FUNCTIONS(LLMMEM_COMPARE)
#if DNNL_VERSION_MAJOR == 2
LLMMEM_ONEDNN_2_FUNCTIONS(LLMMEM_COMPARE)
static_assert(sizeof(dnnl_memory_desc_t) <= DNN_DESCRIPTION_BYTES);
static_assert(sizeof(dnnl_matmul_desc_t) <= DNN_MATMUL_BYTES);
#else
LLMMEM_ONEDNN_3_FUNCTIONS(LLMMEM_COMPARE)
#endif
#undef LLMMEM_COMPARE

TEST(OneDnnHeader, SaysWhatWeSay) { SUCCEED() << "compared while compiling"; }
#else
TEST(OneDnnHeader, SaysWhatWeSay) {
  GTEST_SKIP() << "no oneapi/dnnl/dnnl.h was found when this was built (libdnnl-dev)";
}
#endif
