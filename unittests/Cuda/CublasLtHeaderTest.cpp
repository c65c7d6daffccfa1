//===- CublasLtHeaderTest.cpp - Our declarations against NVIDIA's header ---===//

#include "CublasLt.h"
#include "HeaderCheck.h"
#include "gtest/gtest.h"

#ifdef LLMMEM_HAS_CUBLASLT_HEADER
#include <cublasLt.h>

LLMMEM_CUBLASLT_CONSTANTS(LLMMEM_COMPARE_CONSTANT)

static_assert(sizeof(LtAlgorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(LtHeuristic) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(LtHeuristic, workspace_bytes) ==
              offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(LtHeuristic, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));
static_assert(offsetof(LtHeuristic, waves) ==
              offsetof(cublasLtMatmulHeuristicResult_t, wavesCount));

#define LLMMEM_COMPARE(result, member, name, parameters)                                           \
  static_assert(llmmem::test::callsAlike(decltype(CublasLt::member)(), decltype (&::name)()),      \
                #name);
LLMMEM_CUBLASLT_FUNCTIONS(LLMMEM_COMPARE)
#undef LLMMEM_COMPARE

TEST(CublasLtHeader, SaysWhatWeSay) { SUCCEED() << "compared while compiling"; }
#else
TEST(CublasLtHeader, SaysWhatWeSay) {
  GTEST_SKIP() << "no cublasLt.h was found when this was built (CUDA toolkit)";
}
#endif
