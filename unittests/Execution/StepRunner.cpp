//===- StepRunner.cpp - Runs a function of llm ops on numbers --------------===//

#include "StepRunner.h"
#include "ExecutionContext.h"
#include "SequentialPlan.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Runtime/Parallel.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <cstring>
#include <map>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::test;

std::string test::withElement(std::string text, const std::string &element) {
  for (const char *pattern : {"xT>", "<T>"})
    for (size_t at; (at = text.find(pattern)) != std::string::npos;)
      text.replace(at + 1, 1, element);
  return text;
}

/// Two i4 share a byte: the first is in its lower bits, and they count from 0.
static int shiftOfNibble(int64_t index) { return static_cast<int>(index % 2 * 4); }

static int64_t bitsOf(Type type, const void *buffer, int64_t index) {
  if (type.isInteger(4))
    return static_cast<const uint8_t *>(buffer)[index / 2] >> shiftOfNibble(index) & 15;
  int64_t bits = 0;
  size_t size = bytesOfNumber(type);
  std::memcpy(&bits, static_cast<const char *>(buffer) + index * size, size);
  return bits;
}

double test::readElement(Type type, const void *buffer, int64_t index) {
  int64_t bits = bitsOf(type, buffer, index);
  if (type.isInteger(4))
    return static_cast<double>(bits);
  if (auto integer = dyn_cast<IntegerType>(type))
    return static_cast<double>(llvm::SignExtend64(bits, integer.getWidth()));
  APFloat value(cast<FloatType>(type).getFloatSemantics(),
                APInt(type.getIntOrFloatBitWidth(), bits, false, true));
  bool loses = false;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
  return value.convertToDouble();
}

void test::writeElement(Type type, void *buffer, int64_t index, double number) {
  if (type.isInteger(4)) {
    uint8_t &byte = static_cast<uint8_t *>(buffer)[index / 2];
    auto bits = static_cast<uint8_t>(static_cast<int>(number) << shiftOfNibble(index));
    byte = static_cast<uint8_t>((byte & ~(15 << shiftOfNibble(index))) | bits);
    return;
  }
  size_t size = bytesOfNumber(type);
  int64_t bits = static_cast<int64_t>(number);
  if (auto floating = dyn_cast<FloatType>(type)) {
    APFloat value(number);
    bool loses = false;
    value.convert(floating.getFloatSemantics(), APFloat::rmNearestTiesToEven, &loses);
    bits = static_cast<int64_t>(value.bitcastToAPInt().getZExtValue());
  }
  std::memcpy(static_cast<char *>(buffer) + index * size, &bits, size);
}

Numbers test::someNumbers(int64_t count, unsigned seed) {
  Numbers numbers;
  uint64_t state = 0x9E3779B97F4A7C15ull * (seed + 1);
  for (int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    numbers.push_back((static_cast<double>(state >> 57) - 64.0) / 64.0);
  }
  return numbers;
}

static std::vector<Numbers> runOnce(const CompiledStep &step,
                                    const std::vector<Numbers> &arguments) {
  llvm::Expected<StepMemory> memory = StepMemory::allocate(step);
  if (!memory) {
    ADD_FAILURE() << llvm::toString(memory.takeError());
    return {};
  }
  EXPECT_EQ(arguments.size(), step.arguments().size());
  for (auto [number, info] : llvm::enumerate(step.arguments()))
    for (auto [index, value] : llvm::enumerate(arguments[number]))
      writeElement(info.type.getElementType(), memory->argument(number), index, value);
  EXPECT_TRUE(succeeded(step.run(*memory)));
  std::vector<Numbers> results;
  for (auto [number, info] : llvm::enumerate(step.results())) {
    results.emplace_back();
    for (int64_t index = 0; index < info.type.getNumElements(); ++index)
      results.back().push_back(
          readElement(info.type.getElementType(), memory->result(number), index));
  }
  return results;
}

namespace {
/// Holds what a text was compiled to. Where it cannot be compiled there is no step, and the test
/// fails.
struct CompiledText {
  OwningOpRef<ModuleOp> module;
  std::unique_ptr<CompiledStep> step;
};
} // namespace

static CompiledText compileText(const std::string &text, bool plan,
                                const CompiledStep::Options &options) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &executionContext());
  if (!module) {
    ADD_FAILURE() << "does not parse: " << text;
    return {};
  }
  if (plan)
    planSequentially(module->lookupSymbol<func::FuncOp>("step"));
  FailureOr<std::unique_ptr<CompiledStep>> step = CompiledStep::compile(*module, options);
  if (failed(step)) {
    ADD_FAILURE() << "does not compile: " << text;
    return {};
  }
  return {std::move(module), std::move(*step)};
}

/// Returns the same step where a test compiles a text again to run it on other numbers, because
/// compiling takes longer than any run.
static const CompiledStep *compileOnce(const std::string &text, bool plan,
                                       const CompiledStep::Options &options) {
  using Key = std::tuple<std::string, bool, std::string, bool, bool, bool,
                         std::optional<TensorCores>, llm::TileSharing>;
  constexpr size_t most = 100; // a test's; all of a program's would be much memory
  static auto *known = new std::map<Key, CompiledText>;
  if (known->size() >= most)
    known->clear();
  auto [entry, isNew] =
      known->try_emplace({text, plan, options.processor, options.emulate, options.libraryMatmuls,
                          options.fillDeadBytes, options.tensorCores, options.tileSharing});
  if (isNew)
    entry->second = compileText(text, plan, options);
  return entry->second.step.get();
}

std::vector<Numbers> test::runStep(const std::string &text, const std::vector<Numbers> &arguments,
                                   const RunOptions &options) {
  CompiledStep::Options compile;
  compile.processor = options.processor;
  bool always = std::getenv("LLMMEM_TEST_EMULATE") && options.threads.empty();
  compile.emulate = options.emulate || always;
  compile.libraryMatmuls = options.libraryMatmuls;
  compile.fillDeadBytes =
      options.fillDeadBytes && !compile.emulate; // the emulator knows whose bytes are dead
  const char *cores = std::getenv("LLMMEM_TEST_TENSOR_CORES");
  std::string named = cores ? cores : "";
  compile.tensorCores =
      options.tensorCores.value_or(named == "warpgroup-tma" ? TensorCores::WarpgroupTma
                                   : named == "warpgroup"   ? TensorCores::Warpgroup
                                                            : TensorCores::Warp);
  compile.tileSharing = options.tileSharing;
  const CompiledStep *step = compileOnce(text, options.plan, compile);
  if (!step)
    return {};
  if (options.threads.empty())
    return runOnce(*step, arguments);
  int before = llmmem_threads();
  std::vector<Numbers> first;
  for (int threads : options.threads) {
    llmmem_set_threads(threads);
    std::vector<Numbers> results = runOnce(*step, arguments);
    EXPECT_TRUE(first.empty() || results == first) << "on " << threads << " threads";
    if (first.empty())
      first = std::move(results);
  }
  llmmem_set_threads(before);
  return first;
}
