//===- LoweringLegalityTest.cpp - Ops that lowering may not leave ----------===//

#include "TestDialect.h"
#include "llmmem/Codegen/Emitter/KernelEmitter.h"
#include "llmmem/Codegen/Emitter/KernelOpInterface.h"
#include "llmmem/Conversion/Passes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::test;

namespace {

/// A kernel that emits an op of tensors, which no later pass lowers.
struct TensorKernel : KernelOpInterface::ExternalModel<TensorKernel, test::PureOp> {
  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto type = RankedTensorType::get({4}, Float32Type::get(op->getContext()));
    llm::FillOp::create(emitter.builder(), op->getLoc(), type, llvm::APFloat(1.0));
    return success();
  }
};

TEST(LoweringLegality, OpsThatAreLeftAreRefusedWhereTheyStand) {
  auto context = testContext();
  test::PureOp::attachInterface<TensorKernel>(*context);
  OwningOpRef<ModuleOp> module = parse(R"(
    func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> attributes {llm.arena = 256 : i64} {
      %0 = test.pure %x {llm.offsets = array<i64: 0>} : tensor<4xf32> -> tensor<4xf32>
      return %0 : tensor<4xf32>
    })",
                                       *context);
  ASSERT_TRUE(module);
  std::string message;
  ScopedDiagnosticHandler handler(context.get(), [&](Diagnostic &diagnostic) {
    message = diagnostic.str();
    return success();
  });
  PassManager manager(context.get());
  manager.addPass(createConvertStepToKernels());
  EXPECT_TRUE(failed(manager.run(*module)));
  EXPECT_NE(message.find("'llm.fill' op is left in the lowered 'kernel_0_pure'"), std::string::npos)
      << message;
}

} // namespace
