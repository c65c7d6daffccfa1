//===- AttentionKernelsTest.cpp - Fused attention against dense C++ --------===//

#include "Check.h"

using namespace llmmem::test;

namespace {

constexpr int kBatch = 2, kSeq = 7, kHeads = 4, kGroups = 2, kSize = 20;

/// Attention with all scores held, forward and backward.
struct Dense {
  Numbers q, k, v, dout, keep; // keep: what a probability is multiplied with
  int window;
  Numbers out = Numbers(q.size()), lse = Numbers(kBatch * kHeads * kSeq), dq = out,
          dk = Numbers(k.size()), dv = dk;

  static int wide(int b, int i, int h) { return ((b * kSeq + i) * kHeads + h) * kSize; }
  static int narrow(int b, int j, int h) {
    return ((b * kSeq + j) * kGroups + h / (kHeads / kGroups)) * kSize;
  }
  static double dot(const Numbers &a, int i, const Numbers &b, int j) {
    double sum = 0.0;
    for (int d = 0; d < kSize; ++d)
      sum += a[i + d] * b[j + d];
    return sum;
  }

  void runRow(int b, int h, int i) {
    int stat = (b * kHeads + h) * kSeq + i, query = wide(b, i, h),
        first = std::max(0, i - window + 1);
    double sum = 0.0, inner = 0.0;
    for (int j = first; j <= i; ++j)
      sum += std::exp(0.25 * dot(q, query, k, narrow(b, j, h)));
    lse[stat] = std::log(sum);
    auto probability = [&](int j) {
      return std::exp(0.25 * dot(q, query, k, narrow(b, j, h))) / sum;
    };
    auto dp = [&](int j) { return dot(dout, query, v, narrow(b, j, h)) * keep[stat * kSeq + j]; };
    for (int j = first; j <= i; ++j) {
      inner += probability(j) * dp(j);
      for (int d = 0; d < kSize; ++d)
        out[query + d] += probability(j) * keep[stat * kSeq + j] * v[narrow(b, j, h) + d];
    }
    for (int j = first; j <= i; ++j)
      for (int d = 0; d < kSize; ++d) {
        double ds = 0.25 * probability(j) * (dp(j) - inner);
        dq[query + d] += ds * k[narrow(b, j, h) + d];
        dk[narrow(b, j, h) + d] += ds * q[query + d];
        dv[narrow(b, j, h) + d] += probability(j) * keep[stat * kSeq + j] * dout[query + d];
      }
  }

  void runAll() {
    for (int b = 0; b < kBatch; ++b)
      for (int h = 0; h < kHeads; ++h)
        for (int i = 0; i < kSeq; ++i)
          runRow(b, h, i);
  }
};

class AttentionKernels : public KernelTest {
protected:
  /// Runs forward and backward. The backward gets the exact out and lse, so that its own rounding
  /// shows alone.
  void check(int window, double p) {
    std::string attributes =
        " {heads = 4 : i64, kv_heads = 2 : i64, scale = 0.25 : f64, window = " +
        std::to_string(window) + " : i64, key = 3 : i64, p = " + std::to_string(p) + " : f64}";
    Numbers seed = {12345, 678};
    Dense dense{someNumbers(kBatch * kSeq * kHeads * kSize, 1),
                someNumbers(kBatch * kSeq * kGroups * kSize, 2),
                someNumbers(kBatch * kSeq * kGroups * kSize, 3),
                someNumbers(kBatch * kSeq * kHeads * kSize, 4),
                keepFactors(p, seed),
                window};
    dense.runAll();
    std::vector<Numbers> r =
        runWide(R"(func.func @step(%q: tensor<2x7x80xT>, %k: tensor<2x7x40xT>, %v: tensor<2x7x40xT>,
        %do: tensor<2x7x80xT>, %o: tensor<2x7x80xT>, %l: tensor<2x4x7xW>, %s: tensor<2xi32>)
        -> (tensor<2x7x80xT>, tensor<2x4x7xW>, tensor<2x7x80xT>, tensor<2x7x40xT>, tensor<2x7x40xT>) {
      %out, %lse = llm.attention %q, %k, %v seed(%s))" +
                    attributes + R"(
        : (tensor<2x7x80xT>, tensor<2x7x40xT>, tensor<2x7x40xT>, tensor<2xi32>) -> (tensor<2x7x80xT>, tensor<2x4x7xW>)
      %dq, %dk, %dv = llm.attention_grad %q, %k, %v, %o, %l, %do seed(%s))" +
                    attributes + R"(
        : (tensor<2x7x80xT>, tensor<2x7x40xT>, tensor<2x7x40xT>, tensor<2x7x80xT>, tensor<2x4x7xW>, tensor<2x7x80xT>, tensor<2xi32>)
        -> (tensor<2x7x80xT>, tensor<2x7x40xT>, tensor<2x7x40xT>)
      return %out, %lse, %dq, %dk, %dv : tensor<2x7x80xT>, tensor<2x4x7xW>, tensor<2x7x80xT>, tensor<2x7x40xT>, tensor<2x7x40xT>
    })",
                {dense.q, dense.k, dense.v, dense.dout, dense.out, dense.lse, seed});
    expectNear(r[0], dense.out, tolerance());
    expectNear(r[1], dense.lse, toleranceOf(wide()));
    // In bf16 delta is made from a rounded `out`, as in the published algorithm.
    for (auto [number, expected] :
         {std::pair(2, dense.dq), std::pair(3, dense.dk), std::pair(4, dense.dv)})
      expectNear(r[number], expected, 2.0 * tolerance());
  }

  /// What llm.dropout makes of ones in the same stream.
  Numbers keepFactors(double p, const Numbers &seed) {
    constexpr int count = kBatch * kHeads * kSeq * kSeq;
    return runStep("func.func @step(%x: tensor<392xf64>, %s: tensor<2xi32>) -> tensor<392xf64> {\n"
                   "  %y = llm.dropout %x, %s {p = " +
                       std::to_string(p) +
                       " : f64, key = 3 : i64} : tensor<392xf64>, "
                       "tensor<2xi32>\n  return %y : tensor<392xf64>\n}",
                   {Numbers(count, 1.0), seed})[0];
  }
};

TEST_P(AttentionKernels, Causal) { check(/*window=*/kSeq, /*p=*/0.0); }
TEST_P(AttentionKernels, Window) { check(/*window=*/3, /*p=*/0.0); }
TEST_P(AttentionKernels, Dropout) { check(/*window=*/kSeq, /*p=*/0.4); }

TEST_P(AttentionKernels, RopeTurnsAndTurnsBack) {
  constexpr int seq = 5, heads = 2, half = 3;
  Numbers x = someNumbers(2 * seq * heads * 2 * half, 1), y(x.size());
  for (int row = 0; row < 2 * seq; ++row)
    for (int h = 0; h < heads; ++h)
      for (int i = 0; i < half; ++i) {
        double angle = (row % seq) * std::pow(10000.0, -2.0 * i / (2 * half));
        int low = (row * heads + h) * 2 * half + i, high = low + half;
        y[low] = x[low] * std::cos(angle) - x[high] * std::sin(angle);
        y[high] = x[high] * std::cos(angle) + x[low] * std::sin(angle);
      }
  std::vector<Numbers> r = run(
      R"(func.func @step(%x: tensor<2x5x12xT>, %y: tensor<2x5x12xT>) -> (tensor<2x5x12xT>, tensor<2x5x12xT>) {
    %0 = llm.rope %x {heads = 2 : i64, theta = 10000.0 : f64} : tensor<2x5x12xT>
    %1 = llm.rope %y {heads = 2 : i64, theta = 10000.0 : f64, inverse} : tensor<2x5x12xT>
    return %0, %1 : tensor<2x5x12xT>, tensor<2x5x12xT>
  })",
      {x, y});
  expectNear(r[0], y, tolerance());
  expectNear(r[1], x, 2.0 * tolerance());
}

LLMMEM_ALL_ELEMENT_TYPES(AttentionKernels);

} // namespace
