//===- StepUpdatesTest.cpp - Where updates stand changes no bit ------------===//

#include "ExecutionContext.h"
#include "SmallModels.h"
#include "llmmem/Pipelines/CheckpointPipeline.h"
#include "llmmem/Transforms/Differentiation.h"
#include "mlir/IR/Verifier.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::test;

namespace {

importer::ImportOptions optionsOf(importer::ElementKind dtype, llm::GradientLifetime gradients) {
  importer::ImportOptions options;
  options.batch = 2;
  options.seq = 5;
  options.dtype = dtype;
  options.dropout = 0.2;
  options.training.gradients = gradients;
  return options;
}

/// Loss, parameters and states of the arguments' names after two steps.
using Outcome = std::map<std::string, Numbers>;

Outcome runTwoSteps(ModuleOp module, bool isPlanned) {
  std::unique_ptr<Program> step = Program::compile(module, "step", isPlanned);
  if (!step)
    return {};
  std::vector<Numbers> arguments = argumentsOf(*step, 0.01);
  for (unsigned number : step->argumentsOfRole(llm::Role::Gradient))
    llvm::fill(arguments[number], 0.0);
  Outcome outcome;
  for (int time = 1; time <= 2; ++time) {
    arguments[step->argument("step")] = {static_cast<double>(time)};
    std::vector<Numbers> results = step->run(arguments);
    outcome["loss" + std::to_string(time)] = results[0];
    for (auto [number, info] : llvm::enumerate(step->step().results()))
      if (info.donatedArgument) {
        const StepArgument &argument = step->step().arguments()[*info.donatedArgument];
        if (argument.role == llm::Role::Gradient)
          continue; // starts from 0 again
        arguments[*info.donatedArgument] = outcome[argument.name] = results[number];
      }
  }
  return outcome;
}

/// Gradients resident, updates at the end, every value in a place of its own.
Outcome runPlainly(const std::string &family, importer::ElementKind dtype) {
  OwningOpRef<ModuleOp> module =
      importSmallModel(family, optionsOf(dtype, llm::GradientLifetime::Resident));
  if (!module)
    return {};
  auto training = (*module)->getAttrOfType<llm::TrainingAttr>(llm::LlmDialect::kTraining);
  EXPECT_TRUE(succeeded(buildTrainingStep(module->lookupSymbol<func::FuncOp>("loss"), training)));
  return runTwoSteps(*module, /*isPlanned=*/false);
}

/// Gradients transient, updates as early as they can stand and in place, planned by `policy`.
Outcome runPlanned(const std::string &family, importer::ElementKind dtype,
                   const std::string &policy) {
  OwningOpRef<ModuleOp> module =
      importSmallModel(family, optionsOf(dtype, llm::GradientLifetime::Transient));
  if (!module)
    return {};
  PassManager passes(&executionContext());
  CheckpointPipelineOptions options;
  options.policy = policy;
  buildCheckpointPipeline(passes, options, nullptr);
  EXPECT_TRUE(succeeded(passes.run(*module))) << policy;
  return runTwoSteps(*module, /*isPlanned=*/true);
}

using EarlyCase = std::pair<std::string, importer::ElementKind>;

class EarlyUpdates : public ::testing::TestWithParam<EarlyCase> {};

// Under `full` every forward op of a layer runs again after updates of later layers have been made.
TEST_P(EarlyUpdates, ChangeNoBit) {
  auto [family, dtype] = GetParam();
  Outcome plain = runPlainly(family, dtype);
  EXPECT_FALSE(plain.empty());
  for (const char *policy : {"none", "full"})
    EXPECT_EQ(plain, runPlanned(family, dtype, policy)) << policy;
}

INSTANTIATE_TEST_SUITE_P(Families, EarlyUpdates,
                         ::testing::Values(EarlyCase("gpt2", importer::ElementKind::BF16),
                                           EarlyCase("llama", importer::ElementKind::F32),
                                           EarlyCase("mistral", importer::ElementKind::BF16),
                                           EarlyCase("qwen2", importer::ElementKind::F32)),
                         [](const auto &info) { return info.param.first; });

// p -= lr g min(1, clip / (norm + 1e-6)), the norm over all gradients together.
TEST(StepUpdates, ClipsByTheGlobalNorm) {
  const char *text = R"(
    module attributes {llm.training = #llm.training<optimizer = sgd, gradients = resident, beta1 = 0.9 : f64,
      beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.0 : f64, clip_norm = 0.5 : f64>} {
      func.func @loss(%x: tensor<3x4xf64>, %t: tensor<3xi32>, %w: tensor<4x4xf64> {llm.role = "param", llm.name = "w"},
                      %b: tensor<4xf64> {llm.role = "param", llm.name = "b"}) -> tensor<f64> {
        %y = llm.linear %x, %w bias(%b) layout(in_out)
           : (tensor<3x4xf64>, tensor<4x4xf64>, tensor<4xf64>) -> tensor<3x4xf64>
        %loss, %lse = llm.cross_entropy %y, %t
           : (tensor<3x4xf64>, tensor<3xi32>) -> (tensor<f64>, tensor<3xf64>)
        return %loss : tensor<f64>
      }
    })";
  OwningOpRef<ModuleOp> module = parse(text);
  ASSERT_TRUE(module);
  auto training = (*module)->getAttrOfType<llm::TrainingAttr>(llm::LlmDialect::kTraining);
  ASSERT_TRUE(succeeded(buildTrainingStep(module->lookupSymbol<func::FuncOp>("loss"), training)));
  std::unique_ptr<Program> step = Program::compile(*module, "step");
  ASSERT_TRUE(step);
  std::vector<Numbers> arguments = {someNumbers(12, 1), {0, 3, 1},      someNumbers(16, 2),
                                    someNumbers(4, 3),  {2.0},          {1},
                                    Numbers(16, 0.0),   Numbers(4, 0.0)};
  std::vector<Numbers> results = step->run(arguments); // loss, w, b, gradient of w, gradient of b
  double squares = 0.0;
  for (size_t k : {3, 4})
    for (double g : results[k])
      squares += g * g;
  double scale = 0.5 / (std::sqrt(squares) + 1e-6);
  ASSERT_LT(scale, 1.0);
  for (size_t k : {0, 1})
    for (size_t i = 0; i < results[1 + k].size(); ++i)
      EXPECT_NEAR(results[1 + k][i], arguments[2 + k][i] - 2.0 * scale * results[3 + k][i], 1e-14);
}

} // namespace
