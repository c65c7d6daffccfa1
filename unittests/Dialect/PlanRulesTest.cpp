//===- PlanRulesTest.cpp - Do plans and their verifier agree on whose bytes? ===//
//
// The verifier has rules of its own of what is a view, a constant, and written in place. Here they
// meet those that plans are made with, on every op of the programs that test the dialect, the
// models of MLIR's dialects, and the passes. Where they differ, one of them is wrong, and the op's
// kernel says which (unittests/Execution/InPlaceTest.cpp).
//
//===----------------------------------------------------------------------===//

#include "PlanRules.h"
#include "TestDialect.h"
#include "llmmem/Interfaces/BufferOpInterface.h"
#include "llmmem/Upstream/Models.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::test;

namespace {
std::string textOf(Operation *op) {
  std::string text;
  llvm::raw_string_ostream(text) << *op;
  return text;
}

SmallVector<unsigned> sorted(SmallVector<unsigned> operands) {
  llvm::sort(operands);
  return operands;
}

void compare(Operation *op) {
  EXPECT_EQ(isPlanConstant(op), isResidentOp(op)) << textOf(op);
  for (OpResult result : op->getResults()) {
    EXPECT_EQ(planViewedOperand(result), viewedOperand(result)) << textOf(op);
    EXPECT_EQ(planRootOf(result), viewedValue(result)) << textOf(op);
    EXPECT_EQ(sorted(planInPlaceOperands(result)), sorted(inPlaceOperands(result))) << textOf(op);
  }
}

class PlanRules : public ::testing::Test {
protected:
  /// Compares the rules on each op of a program; one that is there to be refused has none.
  void compareIn(StringRef text) {
    ScopedDiagnosticHandler silence(context.get(), [](Diagnostic &) { return success(); });
    OwningOpRef<ModuleOp> module = parse(text, *context);
    if (module)
      module->walk([&](Operation *op) {
        seen.insert(op->getName().getStringRef());
        compare(op);
      });
  }

  void compareInFolder(const std::string &folder) {
    std::error_code error;
    llvm::sys::fs::recursive_directory_iterator file(LLMMEM_TEST_FOLDER "/" + folder, error), end;
    for (; file != end && !error; file.increment(error)) {
      if (!StringRef(file->path()).ends_with(".mlir"))
        continue;
      auto buffer = llvm::MemoryBuffer::getFile(file->path());
      ASSERT_TRUE(buffer) << file->path();
      SmallVector<StringRef> programs;
      (*buffer)->getBuffer().split(programs, "// -----");
      llvm::for_each(programs, [&](StringRef program) { compareIn(program); });
    }
    ASSERT_FALSE(error) << folder << ": " << error.message();
  }

  /// Registers the models of MLIR's dialects, as the tools do.
  void SetUp() override {
    DialectRegistry registry;
    registerUpstreamModels(registry);
    registry.insert<bufferization::BufferizationDialect, linalg::LinalgDialect,
                    tensor::TensorDialect, tosa::TosaDialect>();
    context->appendDialectRegistry(registry);
    context->loadAllAvailableDialects();
  }

  std::unique_ptr<MLIRContext> context = testContext();
  llvm::StringSet<> seen;
};

TEST_F(PlanRules, AreThoseOfPlansForEveryOp) {
  context->allowUnregisteredDialects();
  for (const char *folder : {"Dialect", "Upstream", "Transforms", "Analysis", "Bufferization"})
    compareInFolder(folder);
  for (RegisteredOperationName name : context->getRegisteredOperations())
    if (name.getDialectNamespace() == llm::LlmDialect::getDialectNamespace() &&
        name.hasInterface<BufferOpInterface>())
      EXPECT_TRUE(seen.contains(name.getStringRef()))
          << "no program has " << name.getStringRef().str();
}

/// What a master copy is read instead of may be given as the gradient, too.
TEST_F(PlanRules, ParameterThatIsItsGradient) {
  compareIn(R"(
    func.func @step(%p: tensor<64xbf16>, %m: tensor<64xf32>, %v: tensor<64xf32>, %lr: tensor<f32>,
                    %n: tensor<i32>, %master: tensor<64xf32>) {
      %0:4 = llm.adamw %p, %p, %m, %v, %lr, %n master(%master)
        {beta1 = 0.9 : f64, beta2 = 0.95 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64}
        : (tensor<64xbf16>, tensor<64xbf16>, tensor<64xf32>, tensor<64xf32>, tensor<f32>, tensor<i32>, tensor<64xf32>)
        -> (tensor<64xbf16>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>)
      return
    })");
  EXPECT_TRUE(seen.contains("llm.adamw"));
}

/// An op of a dialect that nobody knows is taken at its word.
TEST_F(PlanRules, OpThatSpeaksForItself) {
  context->allowUnregisteredDialects();
  compareIn(R"(
    func.func @step(%x: tensor<64xf32>) {
      %y = "a.reshape"(%x) {llm.views = array<i64: 0>} : (tensor<64xf32>) -> tensor<8x8xf32>
      %z = "a.negate"(%y) {llm.in_place = [array<i64: 0>]} : (tensor<8x8xf32>) -> tensor<8x8xf32>
      %c = "a.table"() {llm.resident} : () -> tensor<64xf32>
      return
    })");
  EXPECT_TRUE(seen.contains("a.negate"));
}
} // namespace
