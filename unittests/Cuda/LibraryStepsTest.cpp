//===- LibraryStepsTest.cpp - Whole steps, their products by a library -----===//
//
// A planned step, op after op: by the library those that it computes as a whole, by the CPU the
// rest. Loss and gradients are compared with those of the CPU alone.
//
//===----------------------------------------------------------------------===//

#include "Differentiation/SmallModels.h"
#include "Execution/Check.h"
#include "ExecutionContext.h"
#include "LibraryRunner.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/KernelKind.h"
#include "llmmem/Pipelines/CheckpointPipeline.h"
#include "mlir/Pass/PassManager.h"
#include <map>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::test;

namespace {

/// Two layers of GPT-2 whose matmuls are large enough for a library to have workspace.
OwningOpRef<ModuleOp> importModel(importer::ElementKind dtype) {
  importer::ImportOptions options;
  options.batch = 2;
  options.seq = 16;
  options.dtype = dtype;
  auto model = importer::readModel(
      R"({"model_type": "gpt2", "activation_function": "gelu_new", "attn_pdrop": 0.0, "embd_pdrop": 0.0,
      "resid_pdrop": 0.0, "layer_norm_epsilon": 1e-2, "n_embd": 16, "n_head": 2, "n_inner": 40, "n_layer": 2,
      "n_positions": 16, "torch_dtype": "float32", "vocab_size": 11})",
      "gpt2.json", options);
  EXPECT_TRUE(static_cast<bool>(model));
  auto module = importer::buildModule(executionContext(), **model, options);
  EXPECT_TRUE(static_cast<bool>(module));
  return std::move(*module);
}

OwningOpRef<ModuleOp> plan(importer::ElementKind dtype, const std::string &policy) {
  OwningOpRef<ModuleOp> module = importModel(dtype);
  CheckpointPipelineOptions options;
  options.policy = policy;
  options.products = PlannedProducts::Library;
  options.epilogues = Epilogues::Fused;
  PassManager passes(module->getContext());
  buildCheckpointPipeline(passes, options, nullptr);
  EXPECT_TRUE(succeeded(passes.run(*module)));
  return module;
}

/// The values that a step has computed before its update, by name.
using Found = std::map<std::string, Numbers>;

class Walk {
public:
  Walk(func::FuncOp step, bool useLibrary) : useLibrary(useLibrary) {
    for (Operation &op : step.getBody().front().without_terminator())
      if (op.getAttrOfType<StringAttr>(llm::LlmDialect::kPhase).getValue() != "update")
        run(op, step);
  }

  Found found;
  /// The kernels of matmuls with epilogues that a library computed.
  std::multiset<std::string> byLibrary;

private:
  void run(Operation &op, func::FuncOp step) {
    std::vector<Numbers> arguments;
    for (Value operand : op.getOperands())
      arguments.push_back(valueOf(operand, step));
    std::string text = stepOf(&op);
    std::optional<std::vector<Numbers>> results;
    bool couldBe = isa<llm::KernelOp, llm::LinearOp, llm::LinearWeightGradOp>(op);
    if (useLibrary && couldBe)
      results = runByLibrary(text, arguments);
    if (results && isa<llm::KernelOp>(op))
      byLibrary.insert(kernelKind(&op));
    if (!results)
      results = runStep(text, arguments);
    for (auto [value, numbers] : llvm::zip_equal(op.getResults(), *results))
      values[value] = numbers;
    // The loss, and what an update will read.
    auto name = op.getAttrOfType<StringAttr>(llm::LlmDialect::kName);
    if (name && (name == "loss" || name.getValue().ends_with(".gradient")))
      found[name.str()] = results->front();
  }

  /// Numbers of an argument: those that all tests of steps begin with.
  Numbers valueOf(Value value, func::FuncOp step) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument)
      return values.at(value);
    if (arguments.empty())
      arguments =
          argumentsOf(*Program::compile(step->getParentOfType<ModuleOp>(), "step", true), 0.1);
    return arguments[argument.getArgNumber()];
  }

  bool useLibrary;
  llvm::DenseMap<Value, Numbers> values;
  std::vector<Numbers> arguments;
};

class LibrarySteps : public testing::TestWithParam<importer::ElementKind> {};

void expectNear(const Found &found, const Found &expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (const auto &[name, numbers] : expected) {
    SCOPED_TRACE(name);
    test::expectNear(found.at(name), numbers, tolerance);
  }
}

TEST_P(LibrarySteps, HaveTheLossAndGradientsOfTheCpu) {
  OwningOpRef<ModuleOp> module = plan(GetParam(), "none");
  auto step = module->lookupSymbol<func::FuncOp>("step");
  Walk library(step, true), cpu(step, false);
  // Each of two layers has these; attention's projection has a residual sum of its own.
  std::multiset<std::string> expected;
  for (int layer = 0; layer < 2; ++layer)
    expected.insert({"linear+add", "linear+add", "linear+gelu", "linear+gelu_grad"});
  EXPECT_EQ(library.byLibrary, expected);
  EXPECT_TRUE(library.found.contains("loss"));
  expectNear(library.found, cpu.found, GetParam() == importer::ElementKind::F32 ? 2e-5 : 0.03);

  // A clone makes its original's call, even if some of its results are not read.
  OwningOpRef<ModuleOp> full = plan(GetParam(), "full");
  Walk again(full->lookupSymbol<func::FuncOp>("step"), true);
  EXPECT_EQ(again.byLibrary.count("linear+gelu"), 4u);
  EXPECT_EQ(library.found, again.found);
}

INSTANTIATE_TEST_SUITE_P(Types, LibrarySteps,
                         testing::Values(importer::ElementKind::F32, importer::ElementKind::BF16),
                         [](const auto &info) {
                           return info.param == importer::ElementKind::F32 ? "f32" : "bf16";
                         });

} // namespace
