//===- ThreadedKernelsTest.cpp - Bits of kernels on threads and machines ---===//
//
// Each op is large enough to be distributed over threads, in pieces that leave a remainder.
//
//===----------------------------------------------------------------------===//

#include "Check.h"

using namespace llmmem::test;

namespace {

struct Case {
  const char *name;
  const char *op;      // on the arguments of @step below
  const char *results; // the types of %0, %1, ...
  unsigned count = 1;
};

// %a, %b: [2, 150, 204]; %w: [204]; %m: [2, 150]; %i: ids in [0, 700); %t: [700, 204];
// %q: [2, 150, 4 * 51], %k: [2, 150, 2 * 51].
const Case kCases[] = {
    {"layer_norm",
     "%0, %1, %2 = llm.layer_norm %a, %w, %w {eps = 1.0e-5 : f64} : ($A, $W, $W) -> ($A, $M, $M)",
     "$A, $M, $M", 3},
    {"layer_norm_grad", "%0 = llm.layer_norm_grad %a, %m, %m, %w, %b : ($A, $M, $M, $W, $A) -> $A",
     "$A"},
    {"rms_norm", "%0, %1 = llm.rms_norm %a, %w {eps = 1.0e-5 : f64} : ($A, $W) -> ($A, $M)",
     "$A, $M", 2},
    {"rms_norm_grad", "%0 = llm.rms_norm_grad %a, %m, %w, %b : ($A, $M, $W, $A) -> $A", "$A"},
    {"norm_weight_grad", "%0 = llm.norm_weight_grad %a, %b, %m into(%w) : ($A, $A, $M, $W) -> $W",
     "$W"},
    {"sum_rows", "%0 = llm.sum_rows %a into(%w) : ($A, $W) -> $W", "$W"},
    {"positions_grad", "%0 = llm.positions_grad %a into(%t) : ($A, $T) -> $T", "$T"},
    {"softmax", "%0 = llm.softmax %a : $A", "$A"},
    {"softmax_grad", "%0 = llm.softmax_grad %a, %b : $A", "$A"},
    {"cross_entropy", "%0, %1 = llm.cross_entropy %a, %i : ($A, $I) -> ($L, $M)", "$L, $M", 2},
    {"cross_entropy_grad", "%0 = llm.cross_entropy_grad %a, %m, %i, %l : ($A, $M, $I, $L) -> $A",
     "$A"},
    {"embedding", "%0 = llm.embedding %i, %t : ($I, $T) -> $A", "$A"},
    {"embedding_grad", "%0 = llm.embedding_grad %i, %a into(%t) : ($I, $A, $T) -> $T", "$T"},
    {"linear", "%0 = llm.linear %a, %t layout(out_in) : ($A, $T) -> $O", "$O"},
    {"gelu", "%0 = llm.gelu %a : $A", "$A"},
    {"split", "%0, %1 = llm.split %a : ($A) -> ($K, $K)", "$K, $K", 2},
    {"concat", "%0 = llm.concat %k, %k : ($K, $K) -> $A", "$A"},
    {"transpose", "%0 = llm.transpose %a {order = array<i64: 0, 2, 1>} : $A -> $F", "$F"},
    {"slice", "%0 = llm.slice %a {begin = 102 : i64} : $A -> $K", "$K"},
    {"pad", "%0 = llm.pad %k {begin = 102 : i64} : $K -> $A", "$A"},
    {"rope", "%0 = llm.rope %a {heads = 6 : i64, theta = 100.0 : f64} : $A", "$A"},
    {"global_norm", "%0 = llm.global_norm %a, %t : ($A, $T) -> $L", "$L"},
    {"attention",
     "%0, %1 = llm.attention %a, %k, %k seed(%s) {heads = 4 : i64, kv_heads = 2 : i64, scale = 0.1 "
     ": f64, p = 0.1 : f64} : ($A, $K, $K, tensor<2xi32>) -> ($A, $S)",
     "$A, $S", 2},
    {"attention_grad",
     "%0, %1, %2 = llm.attention_grad %a, %k, %k, %b, %h, %a seed(%s) {heads = 4 : i64, kv_heads = "
     "2 : i64, scale = 0.1 : f64, p = 0.1 : f64} : ($A, $K, $K, $A, $S, $A, tensor<2xi32>) -> ($A, "
     "$K, $K)",
     "$A, $K, $K", 3},
};

std::string textOf(const Case &test) {
  std::string results;
  for (unsigned k = 0; k < test.count; ++k)
    results += (k ? ", %" : "%") + std::to_string(k);
  std::string types = test.results;
  std::string text =
      "func.func @step(%a: $A, %b: $A, %w: $W, %m: $M, %i: $I, %t: $T, %k: $K, %h: $S, %l: $L, "
      "%s: tensor<2xi32>) -> (" +
      types + ") {\n  " + test.op + "\n  return " + results + " : " + types + "\n}";
  const std::pair<const char *, const char *> names[] = {
      {"$A", "tensor<2x150x204xT>"}, {"$W", "tensor<204xT>"},       {"$M", "tensor<2x150xW>"},
      {"$I", "tensor<2x150xi32>"},   {"$T", "tensor<700x204xT>"},   {"$K", "tensor<2x150x102xT>"},
      {"$S", "tensor<2x4x150xW>"},   {"$O", "tensor<2x150x700xT>"}, {"$L", "tensor<W>"},
      {"$F", "tensor<2x204x150xT>"},
  };
  for (auto [name, type] : names)
    for (size_t at; (at = text.find(name)) != std::string::npos;)
      text.replace(at, 2, type);
  return text;
}

class ThreadedKernels : public KernelTest {};

std::vector<Numbers> someArguments() {
  Numbers ids;
  for (int i = 0; i < 300; ++i)
    ids.push_back(i * i % 97 * 7);
  return {someNumbers(61200, 1),
          someNumbers(61200, 2),
          someNumbers(204, 3),
          someNumbers(300, 4),
          ids,
          someNumbers(142800, 5),
          someNumbers(30600, 6),
          someNumbers(1200, 7),
          {0.5},
          {17, 4}};
}

TEST_P(ThreadedKernels, HaveTheSameBits) {
  std::vector<Numbers> arguments = someArguments();
  for (const Case &test : kCases) {
    SCOPED_TRACE(test.name);
    std::vector<Numbers> results = runWide(textOf(test), arguments, {.threads = {1, 2, 3}});
    EXPECT_EQ(results.size(), test.count);
  }
}

#ifdef __x86_64__
// Vectors of 128 bits and no instruction that multiplies and adds; in utils/check --long those of
// 256 bits and no AVX-512, too.
TEST_P(ThreadedKernels, HaveTheSameBitsOnOtherMachines) {
  std::vector<Numbers> arguments = someArguments();
  for (const Case &test : kCases) {
    SCOPED_TRACE(test.name);
    std::vector<Numbers> here = runWide(textOf(test), arguments);
    std::vector<const char *> processors = {"x86-64"};
    if (std::getenv("LLMMEM_LONG"))
      processors.push_back("x86-64-v3");
    for (const char *processor : processors)
      EXPECT_EQ(runWide(textOf(test), arguments, {.processor = processor}), here) << processor;
  }
}
#endif

LLMMEM_ALL_ELEMENT_TYPES(ThreadedKernels);

} // namespace
