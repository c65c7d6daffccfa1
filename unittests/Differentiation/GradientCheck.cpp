//===- GradientCheck.cpp - Gradients against central differences -----------===//

#include "GradientCheck.h"
#include "ExecutionContext.h"
#include "SequentialPlan.h"
#include "llmmem/Transforms/Differentiation.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::test;

OwningOpRef<ModuleOp> test::parse(const std::string &text) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &executionContext());
  if (!module)
    ADD_FAILURE() << "does not parse: " << text;
  return module;
}

//===----------------------------------------------------------------------===//
// Program
//===----------------------------------------------------------------------===//

std::unique_ptr<Program> Program::compile(ModuleOp module, StringRef function, bool isPlanned) {
  if (!isPlanned)
    planSequentially(module.lookupSymbol<func::FuncOp>(function));
  CompiledStep::Options options;
  options.function = function.str();
  FailureOr<std::unique_ptr<CompiledStep>> step = CompiledStep::compile(module, options);
  if (failed(step)) {
    ADD_FAILURE() << "@" << function.str() << " does not compile";
    return nullptr;
  }
  llvm::Expected<StepMemory> memory = StepMemory::allocate(**step);
  if (!memory) {
    ADD_FAILURE() << llvm::toString(memory.takeError());
    return nullptr;
  }
  std::unique_ptr<Program> program(new Program(std::move(*memory)));
  program->compiled = std::move(*step);
  return program;
}

std::vector<Numbers> Program::run(const std::vector<Numbers> &arguments) {
  for (auto [number, info] : llvm::enumerate(compiled->arguments()))
    for (auto [index, value] : llvm::enumerate(arguments[number]))
      writeElement(info.type.getElementType(), memory.argument(number), index, value);
  EXPECT_TRUE(mlir::succeeded(compiled->run(memory)));
  std::vector<Numbers> results;
  for (auto [number, info] : llvm::enumerate(compiled->results())) {
    results.emplace_back();
    for (int64_t index = 0; index < info.type.getNumElements(); ++index)
      results.back().push_back(
          readElement(info.type.getElementType(), memory.result(number), index));
  }
  return results;
}

unsigned Program::argument(StringRef name) const {
  for (auto [number, info] : llvm::enumerate(compiled->arguments()))
    if (info.name == name)
      return number;
  ADD_FAILURE() << "no argument is called " << name.str();
  return 0;
}

std::vector<unsigned> Program::argumentsOfRole(llm::Role role) const {
  std::vector<unsigned> numbers;
  for (auto [number, info] : llvm::enumerate(compiled->arguments()))
    if (info.role == role)
      numbers.push_back(number);
  return numbers;
}

//===----------------------------------------------------------------------===//
// Differences
//===----------------------------------------------------------------------===//

void test::expectGradient(StringRef what, const Numbers &gradient, const Numbers &at,
                          llvm::function_ref<double(const Numbers &)> function) {
  constexpr double h = 1.0 / 4096;
  ASSERT_EQ(gradient.size(), at.size()) << what.str();
  double largest = 1e-3;
  for (double value : gradient)
    largest = std::max(largest, std::abs(value));
  Numbers x = at;
  for (size_t i = 0; i < at.size(); ++i) {
    auto valueAt = [&](double steps) {
      x[i] = at[i] + steps * h;
      return function(x);
    };
    double slope = (8 * (valueAt(1) - valueAt(-1)) - (valueAt(2) - valueAt(-2))) / (12 * h);
    x[i] = at[i];
    EXPECT_NEAR(gradient[i], slope, kTolerance * largest) << what.str() << ", element " << i;
  }
}

static double weightedSum(const std::vector<Numbers> &results,
                          const std::vector<Numbers> &weights) {
  double sum = 0.0;
  for (size_t k = 0; k < weights.size(); ++k)
    for (size_t i = 0; i < weights[k].size(); ++i)
      sum += weights[k][i] * results[k][i];
  return sum;
}

void test::checkGradients(const std::string &text, std::map<unsigned, Numbers> given) {
  OwningOpRef<ModuleOp> module = parse(text);
  if (!module)
    return;
  auto f = module->lookupSymbol<func::FuncOp>("f");
  std::vector<Numbers> arguments, weights;
  SmallVector<unsigned> wanted;
  for (auto [number, type] : llvm::enumerate(f.getArgumentTypes())) {
    auto tensor = cast<RankedTensorType>(type);
    if (isa<FloatType>(tensor.getElementType()))
      wanted.push_back(number);
    auto it = given.find(number);
    arguments.push_back(it != given.end() ? it->second
                                          : someNumbers(tensor.getNumElements(), number));
  }
  for (Type type : f.getResultTypes())
    weights.push_back(
        someNumbers(cast<RankedTensorType>(type).getNumElements(), 100 + weights.size()));

  FailureOr<func::FuncOp> gradientFunction = buildGradientFunction(f, "g", wanted);
  ASSERT_TRUE(succeeded(gradientFunction)) << text;
  ASSERT_TRUE(succeeded(verify(*module))) << text;
  std::unique_ptr<Program> value = Program::compile(*module, "f"),
                           gradient = Program::compile(*module, "g");
  ASSERT_TRUE(value && gradient);

  std::vector<Numbers> all = arguments;
  all.insert(all.end(), weights.begin(), weights.end());
  std::vector<Numbers> results = gradient->run(all);
  ASSERT_EQ(results.size(), weights.size() + wanted.size());
  for (auto [index, number] : llvm::enumerate(wanted))
    expectGradient("argument " + std::to_string(number), results[weights.size() + index],
                   arguments[number], [&, number = number](const Numbers &x) {
                     std::vector<Numbers> moved = arguments;
                     moved[number] = x;
                     return weightedSum(value->run(moved), weights);
                   });
}
