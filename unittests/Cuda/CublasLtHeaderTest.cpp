//===- CublasLtHeaderTest.cpp - Our declarations against NVIDIA's header ---===//

#include "CublasLt.h"
#include "gtest/gtest.h"

#ifdef LLMMEM_HAS_CUBLASLT_HEADER
#include <cublasLt.h>

#define LLMMEM_COMPARE(ours, theirs, value)                                                        \
  static_assert(static_cast<int>(ours) == static_cast<int>(theirs), #theirs);
LLMMEM_CUBLASLT_CONSTANTS(LLMMEM_COMPARE)
#undef LLMMEM_COMPARE

static_assert(sizeof(LtAlgorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(LtHeuristic) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(LtHeuristic, workspace_bytes) ==
              offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(LtHeuristic, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));
static_assert(offsetof(LtHeuristic, waves) ==
              offsetof(cublasLtMatmulHeuristicResult_t, wavesCount));

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
  static_assert(callsAlike(decltype(CublasLt::member)(), decltype (&::name)()), #name);
LLMMEM_CUBLASLT_FUNCTIONS(LLMMEM_COMPARE)
#undef LLMMEM_COMPARE
} // namespace

TEST(CublasLtHeader, SaysWhatWeSay) { SUCCEED() << "compared while compiling"; }
#else
TEST(CublasLtHeader, SaysWhatWeSay) {
  GTEST_SKIP() << "no cublasLt.h was found when this was built (CUDA toolkit)";
}
#endif
