//===- StartedStepTest.cpp - Every collective, in turn and started ----------===//

#include "Differentiation/GradientCheck.h"
#include "RankStep.h"
#include "SequentialPlan.h"
#include "llmmem/Transforms/StartCollectives.h"
#include "mlir/IR/Verifier.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::test;

namespace {

/// Each kind once, along dimensions whose parts do not lie in one piece. One start reads what
/// another has not given yet.
constexpr const char *kText = R"(
func.func @f(%x: tensor<6x12xf32>) -> (tensor<6x36xf32>, tensor<6x12xf32>, tensor<6x12xf32>, tensor<18x4xf32>, tensor<6x12xf32>, tensor<2x12xf32>, tensor<12x36xf32>)
    attributes {llm.mesh = #llm.mesh<dp = 2, tp = 3>} {
  %a = llm.add %x, %x : tensor<6x12xf32>
  %g = llm.all_gather %a over ["tp"] {dimension = 1 : i64} : (tensor<6x12xf32>) -> tensor<6x36xf32>
  %s = llm.reduce_scatter %g over ["tp"] {dimension = 1 : i64} : (tensor<6x36xf32>) -> tensor<6x12xf32>
  %r = llm.all_reduce %s over ["dp", "tp"] : tensor<6x12xf32>
  %b = llm.broadcast %a over ["dp"] {root = 1 : i64} : tensor<6x12xf32>
  %u = llm.reduce %a over ["tp"] {root = 2 : i64} : tensor<6x12xf32>
  %t = llm.all_to_all %a over ["tp"] {concat = 0 : i64, split = 1 : i64} : (tensor<6x12xf32>) -> tensor<18x4xf32>
  %p = llm.send_receive %a over ["tp"] {shift = 1 : i64, wraps} : tensor<6x12xf32>
  %c = llm.add %p, %b : tensor<6x12xf32>
  %k:2 = llm.all_reduce_bucket %a, %t over ["dp"] : (tensor<6x12xf32>, tensor<18x4xf32>) -> (tensor<6x12xf32>, tensor<18x4xf32>)
  %l:2 = llm.reduce_scatter_bucket %k#0, %g over ["tp"] : (tensor<6x12xf32>, tensor<6x36xf32>) -> (tensor<2x12xf32>, tensor<2x36xf32>)
  %m:2 = llm.all_gather_bucket %g, %k#1 over ["dp"] : (tensor<6x36xf32>, tensor<18x4xf32>) -> (tensor<12x36xf32>, tensor<36x4xf32>)
  return %g, %r, %u, %t, %c, %l#0, %m#0 : tensor<6x36xf32>, tensor<6x12xf32>, tensor<6x12xf32>, tensor<18x4xf32>, tensor<6x12xf32>, tensor<2x12xf32>, tensor<12x36xf32>
})";

TEST(StartedStep, GivesTheBitsOfOneInTurn) {
  OwningOpRef<ModuleOp> inTurn = parse(kText), started = parse(kText);
  ASSERT_TRUE(inTurn && started);
  auto step = started->lookupSymbol<func::FuncOp>("f");
  planSequentially(step);
  FailureOr<int64_t> starts = startCollectives(step, StepStorage(step));
  ASSERT_TRUE(succeeded(starts) && succeeded(verify(*started)));
  EXPECT_EQ(*starts, 10);

  std::vector<std::vector<Numbers>> arguments;
  for (int rank = 0; rank < 6; ++rank) {
    arguments.emplace_back(1);
    for (int i = 0; i < 72; ++i)
      arguments.back()[0].push_back(0.37 * rank + 0.11 * i);
  }
  std::unique_ptr<RankStep> first = RankStep::compile(*inTurn, "f"),
                            second = RankStep::compile(*started, "f", /*isPlanned=*/true,
                                                       /*poison=*/true);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->run(arguments), second->run(arguments));
}

} // namespace
