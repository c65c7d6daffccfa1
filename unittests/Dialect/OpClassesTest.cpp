//===- OpClassesTest.cpp - What generic passes do with each class of op ----===//
//
// The table of LlmOpBase.td, line by line, with the passes of MLIR.
//
//===----------------------------------------------------------------------===//

#include "TestDialect.h"
#include "llmmem/Analysis/OpFacts.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::test;

namespace {

class OpClasses : public ::testing::TestWithParam<const char *> {
protected:
  std::string name() const { return GetParam(); }
  bool isPure() const { return name() == "test.pure"; }
  bool isExchange() const { return name() == "test.exchange"; }

  /// Returns the number of such ops that are left in a function of this body after `pass`.
  int64_t countAfter(std::unique_ptr<Pass> pass, const std::string &body) {
    OwningOpRef<ModuleOp> module = parseBody(body);
    PassManager manager(context.get());
    manager.addPass(std::move(pass));
    EXPECT_TRUE(succeeded(manager.run(*module)));
    return countOps(*module, name());
  }

  OwningOpRef<ModuleOp> parseBody(const std::string &body) {
    OwningOpRef<ModuleOp> module =
        parse("func.func @f(%x: tensor<4xf32>, %n: index) -> (tensor<4xf32>, tensor<4xf32>) {" +
                  body + "}",
              *context);
    EXPECT_TRUE(module);
    return module;
  }

  std::string run(const std::string &result, const std::string &attributes = "") {
    return result + " = " + name() + " %x " + attributes + " : tensor<4xf32> -> tensor<4xf32>\n";
  }

  std::unique_ptr<MLIRContext> context = testContext();
};

const std::string kReturnBoth = "return %a, %b : tensor<4xf32>, tensor<4xf32>";
const std::string kReturnX = "return %x, %x : tensor<4xf32>, tensor<4xf32>";

TEST_P(OpClasses, DeadOnesAreErasedUnlessTheyExchange) {
  EXPECT_EQ(countAfter(createCanonicalizerPass(), run("%a") + kReturnX), isExchange());
}

TEST_P(OpClasses, EqualOnesAreMergedUnlessTheyExchange) {
  EXPECT_EQ(countAfter(createCSEPass(), run("%a") + run("%b") + kReturnBoth), 1 + isExchange());
}

TEST_P(OpClasses, InstancesStayApart) {
  EXPECT_EQ(
      countAfter(createCSEPass(), run("%a") + run("%b", "{llm.instance = 1 : i64}") + kReturnBoth),
      2);
}

TEST_P(OpClasses, PureOnesAloneAreHoisted) {
  OwningOpRef<ModuleOp> module =
      parseBody("%zero = arith.constant 0 : index %one = arith.constant 1 : index\n"
                "%a = scf.for %i = %zero to %n step %one iter_args(%s = %x) -> tensor<4xf32> {" +
                run("%t") + "%u = llm.add %s, %t : tensor<4xf32> scf.yield %u : tensor<4xf32> }\n" +
                "return %a, %a : tensor<4xf32>, tensor<4xf32>");
  PassManager manager(context.get());
  manager.addPass(createLoopInvariantCodeMotionPass());
  ASSERT_TRUE(succeeded(manager.run(*module)));
  bool isInLoop = false;
  module->walk([&](Operation *op) {
    if (op->getName().getStringRef() == name())
      isInLoop = op->getParentOp()->getName().getStringRef() == "scf.for";
  });
  EXPECT_EQ(isInLoop, !isPure());
}

TEST_P(OpClasses, ExchangesAloneRunOnce) {
  OwningOpRef<ModuleOp> module = parseBody(run("%a") + kReturnX);
  module->walk([&](Operation *op) {
    if (op->getName().getStringRef() == name())
      EXPECT_EQ(isRecomputable(op), !isExchange());
  });
}

INSTANTIATE_TEST_SUITE_P(All, OpClasses,
                         ::testing::Values("test.pure", "test.collective", "test.exchange"),
                         [](const auto &info) { return std::string(info.param).substr(5); });

} // namespace
