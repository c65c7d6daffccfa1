//===- NcclHeaderTest.cpp - Our declarations against NVIDIA's header -------===//

#include "Nccl.h"
#include "gtest/gtest.h"

#ifdef LLMMEM_HAS_NCCL_HEADER
#include <nccl.h>

#define LLMMEM_COMPARE(ours, theirs, value)                                                        \
  static_assert(static_cast<int>(ours) == static_cast<int>(theirs), #theirs);
LLMMEM_NCCL_CONSTANTS(LLMMEM_COMPARE)
#undef LLMMEM_COMPARE

static_assert(sizeof(NcId) == sizeof(ncclUniqueId) &&
              static_cast<int>(NC_ID_BYTES) == NCCL_UNIQUE_ID_BYTES);

namespace {
/// Whether a function of theirs can be called as ours says: as many parameters, each of the size of
/// its counterpart.
template <typename Result, typename... Parameters, typename TheirResult, typename... Theirs>
constexpr bool callsAlike(Result (*)(Parameters...), TheirResult (*)(Theirs...)) {
  if constexpr (sizeof...(Parameters) != sizeof...(Theirs))
    return false;
  else
    return sizeof(Result) == sizeof(TheirResult) && ((sizeof(Parameters) == sizeof(Theirs)) && ...);
}

#define LLMMEM_COMPARE(result, member, name, parameters)                                           \
  static_assert(callsAlike(decltype(Nccl::member)(), decltype (&::name)()), #name);
LLMMEM_NCCL_FUNCTIONS(LLMMEM_COMPARE)
#undef LLMMEM_COMPARE
} // namespace

TEST(NcclHeader, SaysWhatWeSay) { SUCCEED() << "compared while compiling"; }
#else
TEST(NcclHeader, SaysWhatWeSay) { GTEST_SKIP() << "no nccl.h was found when this was built"; }
#endif
