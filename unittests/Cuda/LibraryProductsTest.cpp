//===- LibraryProductsTest.cpp - Products of steps, by a library and by us -===//
//
// Each op of the training steps of small models that multiplies matrices, alone in a step of its
// own: lowered for cuBLASLt, and run against a library that computes what cuBLASLt is documented to
// compute, on the memory of a driver that is the host's. What it leaves in the arena is compared
// with the CPU's kernels. A library sees no other kernel, so nothing else needs to run.
//
//===----------------------------------------------------------------------===//

#include "../Differentiation/SmallModels.h"
#include "../Execution/Check.h"
#include "../ExecutionContext.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Execution/SequentialPlan.h"
#include "llmmem/Transforms/Differentiation.h"
#include "mlir/Parser/Parser.h"
#include <set>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::test;

namespace {

/// `op` alone in a step, on arguments that are its operands.
OwningOpRef<ModuleOp> stepOf(Operation *op) {
  OpBuilder builder(op->getContext());
  OwningOpRef<ModuleOp> module = ModuleOp::create(op->getLoc());
  builder.setInsertionPointToEnd(module->getBody());
  auto type = builder.getFunctionType(op->getOperandTypes(), op->getResultTypes());
  auto step = func::FuncOp::create(builder, op->getLoc(), "step", type);
  builder.setInsertionPointToStart(step.addEntryBlock());
  Operation *copy = builder.clone(*op);
  copy->setOperands(step.getArguments());
  func::ReturnOp::create(builder, op->getLoc(), copy->getResults());
  return module;
}

std::string textOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << module;
  return text;
}

/// The ops of a family's training step that multiply, each form once.
std::set<std::string> productsOf(const std::string &family,
                                 const importer::ImportOptions &options) {
  OwningOpRef<ModuleOp> module = importSmallModel(family, options);
  auto training = (*module)->getAttrOfType<llm::TrainingAttr>(llm::LlmDialect::kTraining);
  EXPECT_TRUE(succeeded(buildTrainingStep(module->lookupSymbol<func::FuncOp>("loss"), training)));
  std::set<std::string> texts;
  module->lookupSymbol<func::FuncOp>("step").walk([&](Operation *op) {
    auto cost = dyn_cast<CostOpInterface>(op);
    if (!cost || !cost.multipliesMatrices())
      return;
    OwningOpRef<Operation *> plain(op->clone());
    for (NamedAttribute attribute : op->getDiscardableAttrs())
      (*plain)->removeDiscardableAttr(attribute.getName());
    texts.insert(textOf(*stepOf(*plain)));
  });
  return texts;
}

/// As a GPU runs it, where kernels do nothing. Returns the first result, from the arena; nothing
/// where the op has a kernel of ours.
std::optional<Numbers> runByLibrary(ModuleOp module, const std::vector<Numbers> &arguments) {
  auto function = module.lookupSymbol<func::FuncOp>("step");
  planSequentially(function);
  auto device = CudaDevice::open(LLMMEM_FAKE_CUDA);
  EXPECT_TRUE(static_cast<bool>(device));
  EXPECT_FALSE(static_cast<bool>((*device)->openProducts({LLMMEM_FAKE_CUBLASLT})));
  CompiledStep::Options options;
  options.cuda = *device;
  options.libraryProducts = true;
  FailureOr<std::unique_ptr<CompiledStep>> step = CompiledStep::compile(module, options);
  if (failed(step) || (*step)->numLibraryProducts() == 0)
    return std::nullopt;
  llvm::Expected<StepMemory> memory = StepMemory::allocate(**step);
  EXPECT_TRUE(static_cast<bool>(memory));
  for (auto [number, info] : llvm::enumerate((*step)->arguments()))
    for (auto [index, value] : llvm::enumerate(arguments[number]))
      writeElement(info.type.getElementType(), memory->argument(number), index, value);
  EXPECT_TRUE(succeeded((*step)->run(*memory)));
  Operation &op = function.getBody().front().front();
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  int64_t offset =
      op.getAttrOfType<DenseI64ArrayAttr>(llm::LlmDialect::kOffsets).asArrayRef().front();
  std::vector<char> bytes(bytesOfType(type));
  EXPECT_FALSE(static_cast<bool>(
      (*device)->download(bytes.data(), (*device)->arena() + offset, bytes.size())));
  Numbers result;
  for (int64_t index = 0; index < type.getNumElements(); ++index)
    result.push_back(readElement(type.getElementType(), bytes.data(), index));
  return result;
}

/// Compares an op's result with the CPU's. Returns whether the library made it.
bool agree(const std::string &text) {
  SCOPED_TRACE(text);
  auto module = parseSourceString<ModuleOp>(text, &executionContext());
  auto function = module->lookupSymbol<func::FuncOp>("step");
  std::vector<Numbers> arguments;
  for (Type type : function.getArgumentTypes())
    arguments.push_back(
        someNumbers(cast<RankedTensorType>(type).getNumElements(), arguments.size() + 1));
  std::optional<Numbers> result = runByLibrary(*module, arguments);
  if (!result)
    return false;
  bool isHalf = cast<RankedTensorType>(function.getResultTypes()[0]).getElementType().isBF16();
  expectNear(*result, runStep(text, arguments)[0], toleranceOf(isHalf ? "bf16" : "f32"));
  return true;
}

struct ModelCase {
  std::string family;
  importer::ElementKind dtype;
  importer::AttentionForm attention;
  /// Forms of ops that the library makes, and that it cannot.
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

/// Attention written out has products of its own beside those of the fused form. Keys that several
/// heads share have gradients that are sums of several products, which stay ours.
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
