//===- LibraryRunner.cpp - Runs ops by a library of products, alone --------===//

#include "LibraryRunner.h"
#include "ExecutionContext.h"
#include "SequentialPlan.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/Bytes.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::test;

std::string test::stepOf(Operation *op) {
  OpBuilder builder(op->getContext());
  OwningOpRef<ModuleOp> module = ModuleOp::create(op->getLoc());
  builder.setInsertionPointToEnd(module->getBody());
  auto type = builder.getFunctionType(op->getOperandTypes(), op->getResultTypes());
  auto step = func::FuncOp::create(builder, op->getLoc(), "step", type);
  builder.setInsertionPointToStart(step.addEntryBlock());
  Operation *copy = builder.clone(*op);
  copy->setOperands(step.getArguments());
  for (NamedAttribute attribute : op->getDiscardableAttrs())
    if (attribute.getName() != llm::LlmDialect::kLibraryWorkspace)
      copy->removeDiscardableAttr(attribute.getName());
  func::ReturnOp::create(builder, op->getLoc(), copy->getResults());
  std::string text;
  llvm::raw_string_ostream(text) << *module;
  return text;
}

static Numbers download(CudaDevice &device, int64_t offset, RankedTensorType type) {
  std::vector<char> bytes(bytesOfType(type));
  EXPECT_FALSE(
      static_cast<bool>(device.download(bytes.data(), device.arena() + offset, bytes.size())));
  Numbers numbers;
  for (int64_t index = 0; index < type.getNumElements(); ++index)
    numbers.push_back(readElement(type.getElementType(), bytes.data(), index));
  return numbers;
}

/// The number of generated kernels of a step, except those that copy its results.
static size_t countOwnKernels(const CompiledStep &step, Operation &op) {
  llvm::DenseSet<Type> copied(op.result_type_begin(), op.result_type_end());
  return step.numFunctions() - copied.size();
}

std::optional<std::vector<Numbers>> test::runByLibrary(const std::string &text,
                                                       const std::vector<Numbers> &arguments) {
  auto module = parseSourceString<ModuleOp>(text, &executionContext());
  auto function = module->lookupSymbol<func::FuncOp>("step");
  planSequentially(function);
  Operation &op = function.getBody().front().front();
  auto device = CudaDevice::open(LLMMEM_FAKE_CUDA);
  EXPECT_TRUE(static_cast<bool>(device));
  EXPECT_FALSE(static_cast<bool>((*device)->openProducts({LLMMEM_FAKE_CUBLASLT})));
  CompiledStep::Options options;
  options.cuda = *device;
  options.libraryMatmuls = true;
  FailureOr<std::unique_ptr<CompiledStep>> step = CompiledStep::compile(*module, options);
  if (failed(step) || (*step)->numLibraryMatmuls() == 0 || countOwnKernels(**step, op) > 0)
    return std::nullopt;
  llvm::Expected<StepMemory> memory = StepMemory::allocate(**step);
  EXPECT_TRUE(static_cast<bool>(memory));
  for (auto [number, info] : llvm::enumerate((*step)->arguments()))
    for (auto [index, value] : llvm::enumerate(arguments[number]))
      writeElement(info.type.getElementType(), memory->argument(number), index, value);
  EXPECT_TRUE(succeeded((*step)->run(*memory)));
  auto offsets = op.getAttrOfType<DenseI64ArrayAttr>(llm::LlmDialect::kOffsets).asArrayRef();
  std::vector<Numbers> results;
  for (auto [offset, type] : llvm::zip_equal(offsets, op.getResultTypes()))
    results.push_back(download(**device, offset, cast<RankedTensorType>(type)));
  return results;
}
