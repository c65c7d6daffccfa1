//===- Gemm.cpp - Generated matmuls, oneDNN and the peak ---------------------===//
//
//   ninja gemm-benchmark && bin/gemm-benchmark [best] [threads...]     (default: 1, and all cores)
//
// GFLOP/s of GPT-2's products in f32, medians of interleaved runs (`best`: the fastest run, for a
// machine that others use too); the peak is that of a loop of multiply-adds in registers, measured
// in the same run.
//
//===----------------------------------------------------------------------===//

#include "llmmem/Runtime/Gemm.h"
#include "SequentialPlan.h"
#include "llmmem/Execution/CompiledStep.h"
#include "llmmem/Runtime/Parallel.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <ctime>

using namespace llmmem;

/// On one thread its own time, so that other programs on the machine cost less.
static double seconds() {
  timespec now;
  clock_gettime(llmmem_threads() == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

static bool takeBest = false;

static double typical(std::vector<double> numbers) {
  if (takeBest)
    return *std::min_element(numbers.begin(), numbers.end());
  std::nth_element(numbers.begin(), numbers.begin() + numbers.size() / 2, numbers.end());
  return numbers[numbers.size() / 2];
}

//===----------------------------------------------------------------------===//
// Peak
//===----------------------------------------------------------------------===//

typedef float Lanes __attribute__((vector_size(64)));
constexpr int64_t kChains = 16, kRounds = 1 << 18;

static void multiplyAdd(void *sink, int64_t begin, int64_t end) {
#pragma clang fp contract(fast)
  for (int64_t turn = begin; turn < end; ++turn) {
    Lanes factor = {}, sums[kChains] = {};
    factor += 0.999f + 1e-9f * static_cast<float>(turn);
    for (int64_t round = 0; round < kRounds; ++round)
      for (int64_t c = 0; c < kChains; ++c)
        sums[c] = sums[c] * factor + factor;
    for (int64_t c = 0; c < kChains; ++c)
      static_cast<volatile float *>(sink)[0] = sums[c][0];
  }
}

static double peak(int threads) {
  std::vector<double> times;
  for (int repeat = 0; repeat < 9; ++repeat) {
    float sink[16];
    double begin = seconds();
    llmmem_parallel_for(int64_t{4} * threads, multiplyAdd, sink);
    times.push_back(seconds() - begin);
  }
  return 2.0 * 16 * kChains * kRounds * 4 * threads / typical(times) * 1e-9;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

namespace {
struct Shape {
  const char *name, *form;
  int64_t tokens, in, out;
  double flops() const { return 2.0 * tokens * in * out; }
};

/// A step of one product.
class Product {
public:
  Product(mlir::MLIRContext &context, const Shape &shape, bool library) {
    module = mlir::parseSourceString<mlir::ModuleOp>(textOf(shape), &context);
    planSequentially(module->lookupSymbol<mlir::func::FuncOp>("step"));
    CompiledStep::Options options;
    options.libraryMatmuls = library;
    step = std::move(*CompiledStep::compile(*module, options));
    memory.emplace(cantFail(StepMemory::allocate(*step)));
    for (auto [number, argument] : llvm::enumerate(step->arguments())) {
      auto *numbers = static_cast<float *>(memory->argument(number));
      for (int64_t i = 0; i < argument.bytes / 4; ++i)
        numbers[i] = static_cast<float>(i % 97) / 97.0f - 0.5f;
    }
  }

  double time() {
    double begin = seconds();
    if (failed(step->run(*memory)))
      std::exit(1);
    return seconds() - begin;
  }

private:
  static std::string textOf(const Shape &s) {
    std::string x = llvm::formatv("tensor<{0}x{1}xf32>", s.tokens, s.in),
                y = llvm::formatv("tensor<{0}x{1}xf32>", s.tokens, s.out),
                w = llvm::formatv("tensor<{0}x{1}xf32>", s.in, s.out);
    llvm::StringRef form = s.form;
    const char *op = form == "dw"  ? "llm.linear_weight_grad %a, %b layout(in_out)"
                     : form == "y" ? "llm.linear %a, %b layout(in_out)"
                                   : "llm.linear %a, %b layout(out_in)";
    std::string a = form == "dx" ? y : x, b = form == "dw" ? y : w,
                c = form == "dw"   ? w
                    : form == "dx" ? x
                                   : y;
    return llvm::formatv("func.func @step(%a: {0}, %b: {1}) -> {2} {{\n  %c = {3} : ({0}, {1}) -> "
                         "{2}\n  return %c : {2}\n}",
                         a, b, c, op);
  }

  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::unique_ptr<CompiledStep> step;
  std::optional<StepMemory> memory;
};
} // namespace

static double rate(const Shape &shape, std::vector<double> &times) {
  return shape.flops() / typical(times) * 1e-9;
}

static void measure(mlir::MLIRContext &context, const Shape &shape, llvm::ArrayRef<int> threads,
                    llvm::ArrayRef<double> peaks) {
  bool hasLibrary = llmmem_find_gemm_library();
  Product generated(context, shape, false);
  std::optional<Product> library;
  if (hasLibrary)
    library.emplace(context, shape, true);
  for (auto [count, peak] : llvm::zip_equal(threads, peaks)) {
    llmmem_set_threads(count);
    std::vector<double> ours, theirs;
    generated.time();
    if (library)
      library->time();
    for (double begin = seconds(); ours.size() < 7 || seconds() - begin < 0.3;) {
      ours.push_back(generated.time());
      if (library)
        theirs.push_back(library->time());
    }
    double mine = rate(shape, ours), other = library ? rate(shape, theirs) : 0.0;
    llvm::outs() << llvm::formatv("{0,-9} {1,-3} {2,5} {3,6} {4,6} {5,8} {6,10:F1} {7,8:F1} "
                                  "{8,8:F2} {9,8:F2}\n",
                                  shape.name, shape.form, shape.tokens, shape.in, shape.out, count,
                                  mine, other, other ? mine / other : 0.0, mine / peak);
    llvm::outs().flush();
  }
}

int main(int argc, char **argv) {
  std::vector<int> threads;
  for (int k = 1; k < argc; ++k) {
    llvm::StringRef argument(argv[k]);
    if (argument == "best") {
      takeBest = true;
    } else if (int count = 0; llvm::to_integer(argument, count)) {
      threads.push_back(std::max(1, count));
    } else {
      llvm::errs() << "'" << argument << "' is neither 'best' nor a number of threads\n";
      return 1;
    }
  }
  if (threads.empty())
    threads = llmmem_threads() > 1 ? std::vector<int>{1, llmmem_threads()} : std::vector<int>{1};
  std::vector<double> peaks;
  for (int count : threads) {
    llmmem_set_threads(count);
    peaks.push_back(peak(count));
    llvm::outs() << llvm::formatv("peak of multiply-adds, {0} threads: {1:F1} GFLOP/s\n", count,
                                  peaks.back());
  }
  llvm::outs()
      << "y = x w, dx = dy w^T, dw = x^T dy; GFLOP/s\n"
      << "layer          tokens    in    out  threads  generated   oneDNN    ratio  of peak\n";
  mlir::DialectRegistry registry;
  registerExecution(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  for (int64_t tokens : {256, 512})
    for (const char *form : {"y", "dx", "dw"})
      for (Shape shape :
           {Shape{"attn.qkv", form, tokens, 768, 2304}, Shape{"attn.out", form, tokens, 768, 768},
            Shape{"mlp.in", form, tokens, 768, 3072}, Shape{"mlp.out", form, tokens, 3072, 768},
            Shape{"head", form, tokens, 768, 50257}})
        measure(context, shape, threads, peaks);
  return 0;
}
