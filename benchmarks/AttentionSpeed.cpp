//===- AttentionSpeed.cpp - GFLOP/s of the generated attention kernels -----===//
//
// One call of the forward and one of the backward, by themselves. FLOPs are those of the op's cost:
// the causal half of two and of five products. `--benchmark_repetitions=5` prints medians.
//
//===----------------------------------------------------------------------===//

#include "ExecutionContext.h"
#include "SequentialPlan.h"
#include "llmmem/Execution/CompiledStep.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include <benchmark/benchmark.h>

using namespace mlir;
using namespace llmmem;

namespace {

struct Shape {
  int64_t batch, seq, heads, kvHeads, size;
  std::string element;
  double dropout = 0.0;
};

std::string stepText(const Shape &s, bool backward) {
  std::string q =
      llvm::formatv("tensor<{0}x{1}x{2}x{3}>", s.batch, s.seq, s.heads * s.size, s.element);
  std::string k =
      llvm::formatv("tensor<{0}x{1}x{2}x{3}>", s.batch, s.seq, s.kvHeads * s.size, s.element);
  std::string l = llvm::formatv("tensor<{0}x{1}x{2}xf32>", s.batch, s.heads, s.seq);
  std::string attributes = llvm::formatv(
      "seed(%s) {{heads = {0} : i64, kv_heads = {1} : i64, scale = 0.125 : f64, p = {2:f} : f64}",
      s.heads, s.kvHeads, s.dropout);
  if (!backward)
    return llvm::formatv(
        R"(func.func @step(%q: {0}, %k: {1}, %v: {1}, %s: tensor<2xi32>) -> ({0}, {2}) {{
      %o, %l = llm.attention %q, %k, %v {3} : ({0}, {1}, {1}, tensor<2xi32>) -> ({0}, {2})
      return %o, %l : {0}, {2}
    })",
        q, k, l, attributes);
  return llvm::formatv(
      R"(func.func @step(%q: {0}, %k: {1}, %v: {1}, %s: tensor<2xi32>, %o: {0}, %l: {2}, %do: {0})
        -> ({0}, {1}, {1}) {{
      %dq, %dk, %dv = llm.attention_grad %q, %k, %v, %o, %l, %do {3}
        : ({0}, {1}, {1}, {0}, {2}, {0}, tensor<2xi32>) -> ({0}, {1}, {1})
      return %dq, %dk, %dv : {0}, {1}, {1}
    })",
      q, k, l, attributes);
}

/// Small numbers everywhere: zeros would be a case of their own.
void fill(StepMemory &memory, const CompiledStep &step) {
  for (auto [number, argument] : llvm::enumerate(step.arguments())) {
    Type element = argument.type.getElementType();
    int64_t count = argument.type.getNumElements();
    for (int64_t i = 0; i < count; ++i) {
      float value = static_cast<float>((i * 7919 + 31 * number) % 257 - 128) / 512.0f;
      uint32_t bits = llvm::bit_cast<uint32_t>(value);
      if (element.isBF16())
        static_cast<uint16_t *>(memory.argument(number))[i] = static_cast<uint16_t>(bits >> 16);
      else if (element.isF32())
        static_cast<uint32_t *>(memory.argument(number))[i] = bits;
    }
  }
}

void run(benchmark::State &state, Shape shape, bool backward) {
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(stepText(shape, backward), &test::executionContext());
  if (!module)
    return state.SkipWithError("the step does not parse");
  planSequentially(module->lookupSymbol<func::FuncOp>("step"));
  FailureOr<std::unique_ptr<CompiledStep>> step = CompiledStep::compile(*module);
  if (failed(step))
    return state.SkipWithError("the step does not compile");
  llvm::Expected<StepMemory> memory = StepMemory::allocate(**step);
  if (!memory) {
    llvm::consumeError(memory.takeError());
    return state.SkipWithError("not enough memory");
  }
  fill(*memory, **step);
  for (auto _ : state)
    if (mlir::failed((*step)->run(*memory)))
      return state.SkipWithError("the step failed");
  double pairs = 0.5 * static_cast<double>(shape.batch * shape.heads * shape.seq * shape.seq);
  double flops = (backward ? 10.0 : 4.0) * pairs * static_cast<double>(shape.size);
  state.counters["GFLOP/s"] =
      benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

void add(const std::string &name, const Shape &shape) {
  for (bool backward : {false, true})
    benchmark::RegisterBenchmark((name + (backward ? "/backward" : "/forward")).c_str(), run, shape,
                                 backward)
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
}

} // namespace

int main(int argc, char **argv) {
  add("gpt2-b4-s64", {4, 64, 12, 12, 64, "f32"});
  add("gpt2-b2-s256", {2, 256, 12, 12, 64, "f32"});
  add("gpt2-b1-s2048", {1, 2048, 12, 12, 64, "f32"});
  add("gpt2-b1-s2048-bf16", {1, 2048, 12, 12, 64, "bf16"});
  add("gpt2-b2-s256-dropout", {2, 256, 12, 12, 64, "f32", 0.1});
  add("llama-b1-s1024", {1, 1024, 32, 8, 128, "f32"});
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
