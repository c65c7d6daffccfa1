//===- LibraryProductsTest.cpp - Products of steps, by a library and by us -===//
//
// Each op with a matmul of the training steps of small models, by a library and by the CPU's
// kernels.
//
//===----------------------------------------------------------------------===//

#include "Differentiation/SmallModels.h"
#include "Execution/Check.h"
#include "ExecutionContext.h"
#include "LibraryRunner.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Transforms/Differentiation.h"
#include "mlir/Parser/Parser.h"
#include <set>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::test;

namespace {

/// The ops with matmuls of a family's training step, each form once.
std::set<std::string> productsOf(const std::string &family,
                                 const importer::ImportOptions &options) {
  OwningOpRef<ModuleOp> module = importSmallModel(family, options);
  auto training = (*module)->getAttrOfType<llm::TrainingAttr>(llm::LlmDialect::kTraining);
  EXPECT_TRUE(succeeded(buildTrainingStep(module->lookupSymbol<func::FuncOp>("loss"), training)));
  std::set<std::string> texts;
  module->lookupSymbol<func::FuncOp>("step").walk([&](Operation *op) {
    auto cost = dyn_cast<CostOpInterface>(op);
    if (cost && cost.multipliesMatrices())
      texts.insert(stepOf(op));
  });
  return texts;
}

/// Compares an op's results with the CPU's. Returns whether the library computed them.
bool agree(const std::string &text) {
  SCOPED_TRACE(text);
  auto module = parseSourceString<ModuleOp>(text, &executionContext());
  auto function = module->lookupSymbol<func::FuncOp>("step");
  std::vector<Numbers> arguments;
  for (Type type : function.getArgumentTypes())
    arguments.push_back(
        someNumbers(cast<RankedTensorType>(type).getNumElements(), arguments.size() + 1));
  std::optional<std::vector<Numbers>> results = runByLibrary(text, arguments);
  if (!results)
    return false;
  bool isHalf = cast<RankedTensorType>(function.getResultTypes()[0]).getElementType().isBF16();
  for (auto [result, expected] : llvm::zip_equal(*results, runStep(text, arguments)))
    expectNear(result, expected, toleranceOf(isHalf ? "bf16" : "f32"));
  return true;
}

struct ModelCase {
  std::string family;
  importer::ElementKind dtype;
  importer::AttentionForm attention;
  /// Forms of ops that the library computes, and those that it cannot.
  size_t byLibrary, byUs;
};

void PrintTo(const ModelCase &model, std::ostream *os) {
  *os << model.family << (model.dtype == importer::ElementKind::BF16 ? " bf16" : " f32")
      << (model.attention == importer::AttentionForm::Flash ? "" : " unfused");
}

class StepProducts : public testing::TestWithParam<ModelCase> {};

TEST_P(StepProducts, AgreeWithTheKernelsOfTheCpu) {
  importer::ImportOptions options;
  options.batch = 2;
  options.seq = 5;
  options.dtype = GetParam().dtype;
  options.attention = GetParam().attention;
  size_t byLibrary = 0, byUs = 0;
  for (const std::string &text : productsOf(GetParam().family, options))
    ++(agree(text) ? byLibrary : byUs);
  EXPECT_EQ(byLibrary, GetParam().byLibrary);
  EXPECT_EQ(byUs, GetParam().byUs);
}

/// Unfused attention has matmuls of its own in addition to those of fused attention. Gradients of
/// keys of several heads are sums of several matmuls, which stay generated code.
std::vector<ModelCase> allCases() {
  using importer::AttentionForm;
  using importer::ElementKind;
  return {{"gpt2", ElementKind::F32, AttentionForm::Unfused, 21, 0},
          {"llama", ElementKind::F32, AttentionForm::Unfused, 19, 2},
          {"gpt2", ElementKind::BF16, AttentionForm::Unfused, 21, 0},
          {"llama", ElementKind::BF16, AttentionForm::Unfused, 19, 2},
          {"qwen2", ElementKind::BF16, AttentionForm::Flash, 16, 0}};
}

INSTANTIATE_TEST_SUITE_P(Models, StepProducts, testing::ValuesIn(allCases()));

} // namespace
