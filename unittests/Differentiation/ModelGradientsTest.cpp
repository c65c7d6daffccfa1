//===- ModelGradientsTest.cpp - Whole steps against central differences ----===//
//
// The training step of a small model of each family, with gradients that go on from sums so far:
// every element of every parameter's gradient against differences of the loss, and every SGD
// update.
//
//===----------------------------------------------------------------------===//

#include "GradientCheck.h"
#include "SmallModels.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Transforms/Differentiation.h"
#include "llmmem/Transforms/GroupKernels.h"
#include "llmmem/Transforms/GroupLossHead.h"
#include "mlir/IR/Verifier.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::test;

namespace {

struct ModelCase {
  std::string name, family;
  importer::AttentionForm attention;
  double dropout;
  importer::MaskForm masks;
  /// Says whether the model is compiled as by default: with ops in kernels, and with a loss head of
  /// several granules and chunks.
  bool grouped = false;
};

void PrintTo(const ModelCase &model, std::ostream *os) { *os << model.name; }

/// Every family in both forms of attention, and every way to drop out.
std::vector<ModelCase> allCases() {
  using importer::AttentionForm;
  using importer::MaskForm;
  std::vector<ModelCase> cases = {
      {"gpt2Unfused", "gpt2", AttentionForm::Unfused, 0.0, MaskForm::Seeded},
      {"gpt2FusedDropout", "gpt2", AttentionForm::Flash, 0.2, MaskForm::Seeded},
  };
  for (std::string family : {"gpt2", "llama", "mistral", "qwen2"}) {
    cases.push_back({family + "Fused", family, AttentionForm::Flash, 0.0, MaskForm::Seeded});
    cases.push_back(
        {family + "UnfusedStoredDropout", family, AttentionForm::Unfused, 0.2, MaskForm::Stored});
  }
  for (size_t plain = 0, count = cases.size(); plain < count; ++plain) {
    cases.push_back(cases[plain]);
    cases.back().name += "Grouped";
    cases.back().grouped = true;
  }
  return cases;
}

void group(func::FuncOp step) {
  LossHeads heads = groupLossHeads(step, /*granule=*/3);
  EXPECT_EQ(heads.grouped, 1u);
  step.walk([](llm::LossHeadOp head) { head.setChunk(6); });
  EXPECT_GT(groupKernels(step).kernels, 0);
}

class ModelGradients : public ::testing::TestWithParam<ModelCase> {};

TEST_P(ModelGradients, AgreeWithDifferences) {
  importer::ImportOptions options;
  options.batch = 2;
  options.seq = 5;
  options.dtype = importer::ElementKind::F64;
  options.attention = GetParam().attention;
  options.dropout = GetParam().dropout;
  options.masks = GetParam().masks;
  options.training.optimizer = llm::OptimizerKind::SGD;
  options.training.weightDecay = 0.25;
  OwningOpRef<ModuleOp> module = importSmallModel(GetParam().family, options);
  ASSERT_TRUE(module);
  auto training = (*module)->getAttrOfType<llm::TrainingAttr>(llm::LlmDialect::kTraining);
  auto lossFunction = module->lookupSymbol<func::FuncOp>("loss");
  ASSERT_TRUE(succeeded(buildTrainingStep(lossFunction, training)));
  if (GetParam().grouped)
    group(module->lookupSymbol<func::FuncOp>("step"));
  ASSERT_TRUE(succeeded(verify(*module)));
  std::unique_ptr<Program> loss = Program::compile(*module, "loss"),
                           step = Program::compile(*module, "step");
  ASSERT_TRUE(loss && step);

  constexpr double rate = 0.125;
  std::vector<Numbers> arguments = argumentsOf(*step, rate);
  std::vector<Numbers> results = step->run(arguments);
  std::vector<Numbers> lossArguments(arguments.begin(),
                                     arguments.begin() + loss->step().arguments().size());
  EXPECT_EQ(results[0], loss->run(lossArguments)[0]);
  std::vector<unsigned> parameters = step->argumentsOfRole(llm::Role::Param);
  ASSERT_EQ(results.size(), 1 + 2 * parameters.size());
  for (auto [index, number] : llvm::enumerate(parameters)) {
    const StepArgument &info = step->step().arguments()[number];
    const Numbers &old = arguments[number], &sum = results[1 + parameters.size() + index];
    const Numbers &before = arguments[step->argument(info.name + ".gradient")],
                  &updated = results[1 + index];
    Numbers gradient(sum.size());
    double decay = info.type.getRank() == 2 ? 0.25 : 0.0;
    for (size_t i = 0; i < sum.size(); ++i) {
      gradient[i] = sum[i] - before[i];
      EXPECT_NEAR(updated[i], old[i] - rate * (sum[i] + decay * old[i]), 1e-14)
          << info.name << ", element " << i;
    }
    expectGradient(info.name, gradient, old, [&, number = number](const Numbers &x) {
      std::vector<Numbers> moved = lossArguments;
      moved[number] = x;
      return loss->run(moved)[0][0];
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Families, ModelGradients, ::testing::ValuesIn(allCases()),
                         [](const auto &info) { return info.param.name; });

} // namespace
