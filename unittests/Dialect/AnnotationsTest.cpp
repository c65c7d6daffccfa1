//===- AnnotationsTest.cpp - Words of annotations as enums -----------------===//

#include "TestDialect.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;
using namespace llmmem::test;

namespace {

constexpr StringLiteral kText = R"(
  func.func @f(%x: tensor<4xf32> {llm.role = "optimizer_state"}, %y: tensor<4xf32>) {
    %0 = llm.gelu %x {llm.phase = "backward", llm.decision = ["recompute"]} : tensor<4xf32>
    %1 = llm.gelu %0 : tensor<4xf32>
    return
  })";

TEST(Annotations, WordsAreRead) {
  auto context = testContext();
  OwningOpRef<ModuleOp> module = parse(kText, *context);
  ASSERT_TRUE(module);
  auto function = *module->getOps<func::FuncOp>().begin();
  EXPECT_EQ(readRole(function, 0), Role::OptimizerState);
  EXPECT_EQ(readRole(function, 1), std::nullopt);
  Operation &annotated = function.front().front(), &plain = *annotated.getNextNode();
  EXPECT_EQ(readPhase(&annotated), Phase::Backward);
  EXPECT_EQ(readPhase(&plain), std::nullopt);
  EXPECT_EQ(readDecisions(&annotated), SmallVector<Decision>{Decision::Recompute});
  EXPECT_TRUE(readDecisions(&plain).empty());
}

TEST(Annotations, WordsAreWrittenAsStrings) {
  auto context = testContext();
  OwningOpRef<ModuleOp> module = parse(kText, *context);
  ASSERT_TRUE(module);
  Operation &op = (*module->getOps<func::FuncOp>().begin()).front().front();
  writePhase(&op, Phase::Update);
  writeDecisions(&op, {Decision::Keep});
  Builder builder(context.get());
  EXPECT_EQ(op.getAttr("llm.phase"), builder.getStringAttr("update"));
  EXPECT_EQ(op.getAttr("llm.decision"), builder.getStrArrayAttr({"keep"}));
}

TEST(Annotations, HaveOneEntryEachUnderThePrefix) {
  llvm::StringSet<> names;
  for (const Annotation &annotation : LlmDialect::getAnnotations()) {
    EXPECT_TRUE(annotation.name.starts_with("llm.")) << annotation.name.str();
    EXPECT_TRUE(names.insert(annotation.name).second) << annotation.name.str();
  }
  EXPECT_GT(names.size(), 30u);
}

} // namespace
