//===- NcclHeaderTest.cpp - Our declarations against NVIDIA's header -------===//

#include "HeaderCheck.h"
#include "Nccl.h"
#include "gtest/gtest.h"

#ifdef LLMMEM_HAS_NCCL_HEADER
#include <nccl.h>

LLMMEM_NCCL_CONSTANTS(LLMMEM_COMPARE_CONSTANT)

static_assert(sizeof(NcId) == sizeof(ncclUniqueId) &&
              static_cast<int>(NC_ID_BYTES) == NCCL_UNIQUE_ID_BYTES);

#define LLMMEM_COMPARE(result, member, name, parameters)                                           \
  static_assert(llmmem::test::callsAlike(decltype(Nccl::member)(), decltype (&::name)()), #name);
LLMMEM_NCCL_FUNCTIONS(LLMMEM_COMPARE)
#undef LLMMEM_COMPARE

TEST(NcclHeader, SaysWhatWeSay) { SUCCEED() << "compared while compiling"; }
#else
TEST(NcclHeader, SaysWhatWeSay) { GTEST_SKIP() << "no nccl.h was found when this was built"; }
#endif
