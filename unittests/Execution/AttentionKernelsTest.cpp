//===- AttentionKernelsTest.cpp - Fused attention against dense C++ --------===//

#include "Check.h"

using namespace llmmem::test;

namespace {

/// Lengths and head sizes around the kernels' blocks (64 in f32, 32 in f64) and vectors (16, 8).
struct Shape {
  int64_t batch = 2, seq = 7, heads = 4, groups = 2, size = 20;
  int64_t window = seq;
  double p = 0.0;
  double cap = 0.0; ///< of scores; 0: none
  bool hasSinks = false, bidirectional = false;
  /// The lengths of the sequences that are packed into each row, in order; empty where a row is
  /// one.
  std::vector<int64_t> lengths = {};

  int64_t wide(int64_t b, int64_t i, int64_t h) const { return ((b * seq + i) * heads + h) * size; }
  int64_t narrow(int64_t b, int64_t j, int64_t h) const {
    return ((b * seq + j) * groups + h / (heads / groups)) * size;
  }
  int64_t statistics() const { return batch * heads * seq; }

  /// Returns the position of each token of the batch in its own sequence.
  Numbers positions() const {
    Numbers all;
    for (int64_t row = 0; row < batch; ++row)
      for (int64_t length : lengths.empty() ? std::vector{seq} : lengths)
        for (int64_t i = 0; i < length; ++i)
          all.push_back(static_cast<double>(i));
    return all;
  }
};

/// Attention with all scores held, forward and backward.
struct Dense : Shape {
  Numbers q, k, v, dout, sinks, keep; // keep: the factor of each probability
  Numbers out = Numbers(q.size()), lse = Numbers(statistics()), dq = out, dk = Numbers(k.size()),
          dv = dk, dsinks = sinks; // on top of the sinks themselves

  double dot(const Numbers &a, int64_t i, const Numbers &b, int64_t j) const {
    double sum = 0.0;
    for (int64_t d = 0; d < size; ++d)
      sum += a[i + d] * b[j + d];
    return sum;
  }

  void runRow(int64_t b, int64_t h, int64_t i) {
    auto position = static_cast<int64_t>(positions()[i]);
    int64_t stat = (b * heads + h) * seq + i, query = wide(b, i, h),
            first = bidirectional ? 0 : std::max<int64_t>(i - position, i - window + 1),
            last = bidirectional ? seq - 1 : i;
    double sum = hasSinks ? std::exp(sinks[h]) : 0.0, inner = 0.0;
    Numbers probability(seq), dp(seq), slope(seq, 1.0);
    for (int64_t j = first; j <= last; ++j) {
      double score = 0.25 * dot(q, query, k, narrow(b, j, h));
      if (cap > 0.0) {
        double t = std::tanh(score / cap);
        score = cap * t, slope[j] = 1.0 - t * t;
      }
      sum += probability[j] = std::exp(score);
    }
    lse[stat] = std::log(sum);
    for (int64_t j = first; j <= last; ++j) {
      probability[j] /= sum;
      dp[j] = dot(dout, query, v, narrow(b, j, h)) * keep[stat * seq + j];
      inner += probability[j] * dp[j];
      for (int64_t d = 0; d < size; ++d)
        out[query + d] += probability[j] * keep[stat * seq + j] * v[narrow(b, j, h) + d];
    }
    dsinks[h] -= std::exp(sinks[h] - lse[stat]) * inner;
    for (int64_t j = first; j <= last; ++j)
      for (int64_t d = 0; d < size; ++d) {
        double ds = 0.25 * probability[j] * (dp[j] - inner) * slope[j];
        dq[query + d] += ds * k[narrow(b, j, h) + d];
        dk[narrow(b, j, h) + d] += ds * q[query + d];
        dv[narrow(b, j, h) + d] += probability[j] * keep[stat * seq + j] * dout[query + d];
      }
  }

  void runAll() {
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t i = 0; i < seq; ++i)
          runRow(b, h, i);
  }
};

/// Replaces the letters of shapes: Q and K by what q and k are, X by what holds q, k and v, L by
/// what lse is, H by what sinks are, N by the number of elements of the dropout mask, A by the
/// attributes, Z and Y by the sinks as an operand and its type, U, V and I by the positions as an
/// operand, its type after others, and its type.
std::string withShape(std::string text, const Shape &s) {
  auto extents = [](std::initializer_list<int64_t> list) {
    std::string result;
    for (int64_t extent : list)
      result += std::to_string(extent) + "x";
    return result;
  };
  const std::pair<std::string, std::string> values[] = {
      {"$Q", "tensor<" + extents({s.batch, s.seq, s.heads * s.size}) + "T>"},
      {"$K", "tensor<" + extents({s.batch, s.seq, s.groups * s.size}) + "T>"},
      {"$X", "tensor<" + extents({s.batch, s.seq, (s.heads + 2 * s.groups) * s.size}) + "T>"},
      {"$M", s.hasSinks ? ", %kz = %z" : ""},
      {"$O", s.lengths.empty() ? "" : ", %kt = %t"},
      {"$J", s.hasSinks ? " sinks(%kz)" : ""},
      {"$R", s.lengths.empty() ? "" : " at(%kt)"},
      {"$L", "tensor<" + extents({s.batch, s.heads, s.seq}) + "W>"},
      {"$Z", s.hasSinks ? " sinks(%z)" : ""},
      {"$Y", s.hasSinks ? ", $H" : ""},
      {"$U", s.lengths.empty() ? "" : " at(%t)"},
      {"$V", s.lengths.empty() ? "" : ", $I"},
      {"$I", "tensor<" + extents({s.batch, s.seq}) + "i32>"},
      {"$H", "tensor<" + extents({s.heads}) + "T>"},
      {"$N", std::to_string(s.statistics() * s.seq)},
      {"$P", "p = " + std::to_string(s.p) + " : f64, key = 3 : i64"},
      {"$A",
       "heads = " + std::to_string(s.heads) + " : i64, kv_heads = " + std::to_string(s.groups) +
           " : i64, scale = 0.25 : f64, " +
           (s.bidirectional ? "bidirectional" : "window = " + std::to_string(s.window) + " : i64") +
           (s.cap > 0.0 ? ", softcap = " + std::to_string(s.cap) + " : f64" : "")}};
  for (const auto &[name, value] : values)
    for (size_t at; (at = text.find(name)) != std::string::npos;)
      text.replace(at, name.size(), value);
  return text;
}

class AttentionKernels : public KernelTest {
protected:
  /// Runs forward and backward. The backward gets the exact out and lse, so that only its own
  /// rounding matters.
  void check(const Shape &shape) {
    Numbers seed = {12345, 678};
    int64_t wide = shape.batch * shape.seq * shape.heads * shape.size,
            narrow = shape.batch * shape.seq * shape.groups * shape.size;
    Dense dense{shape,
                someNumbers(wide, 1),
                someNumbers(narrow, 2),
                someNumbers(narrow, 3),
                someNumbers(wide, 4),
                someNumbers(shape.heads, 5),
                keepFactors(shape, seed)};
    dense.runAll();
    std::vector<Numbers> r = runWide(
        withShape(
            R"(func.func @step(%q: $Q, %k: $K, %v: $K, %do: $Q, %o: $Q, %l: $L, %s: tensor<2xi32>,
                           %z: $H, %t: $I) -> ($Q, $L, $Q, $K, $K, $H) {
      %out, %lse = llm.attention %q, %k, %v$Z$U seed(%s) {$A, $P} : ($Q, $K, $K$Y$V, tensor<2xi32>) -> ($Q, $L)
      %dq, %dk, %dv = llm.attention_grad %q, %k, %v, %o, %l, %do$U seed(%s) {$A, $P}
        : ($Q, $K, $K, $Q, $L, $Q$V, tensor<2xi32>) -> ($Q, $K, $K)
      %dz = llm.attention_sink_grad %z, %o, %l, %do into(%z) : ($H, $Q, $L, $Q, $H) -> $H
      return %out, %lse, %dq, %dk, %dv, %dz : $Q, $L, $Q, $K, $K, $H
    })",
            shape),
        {dense.q, dense.k, dense.v, dense.dout, dense.out, dense.lse, seed, dense.sinks,
         shape.positions()});
    // Tensor cores take the probabilities in 16 bits too: one rounding more.
    bool roundsFactors = toleranceOf(GetParam()) > 1e-4 && std::getenv("LLMMEM_TEST_EMULATE");
    expectNear(r[0], dense.out, (roundsFactors ? 2.0 : 1.0) * tolerance());
    expectNear(r[1], dense.lse, toleranceOf(wideElement()));
    // In bf16 delta is computed from a rounded `out`, as in the published algorithm.
    for (const auto &[number, expected] : {std::pair(2, dense.dq), std::pair(3, dense.dk),
                                           std::pair(4, dense.dv), std::pair(5, dense.dsinks)})
      expectNear(r[number], expected, 2.0 * tolerance());
  }

  /// q, k and v as columns of one tensor, and their gradients of another, have the bits of copies.
  void checkColumns(const Shape &shape) {
    int64_t wide = shape.batch * shape.seq * shape.heads * shape.size,
            narrow = shape.batch * shape.seq * shape.groups * shape.size;
    std::vector<Numbers> arguments = {someNumbers(wide, 1),   someNumbers(narrow, 2),
                                      someNumbers(narrow, 3), someNumbers(wide, 4),
                                      {12345, 678},           someNumbers(shape.heads, 5),
                                      shape.positions()};
    std::string begin = R"(func.func @step(%q: $Q, %k: $K, %v: $K, %do: $Q, %s: tensor<2xi32>,
                                           %z: $H, %t: $I) -> ($Q, $L, $Q, $K, $K) {)",
                end = "  return %out, %lse, %dq, %dk, %dv : $Q, $L, $Q, $K, $K\n}";
    std::string copies = begin + R"(
      %out, %lse = llm.attention %q, %k, %v$Z$U seed(%s) {$A, $P} : ($Q, $K, $K$Y$V, tensor<2xi32>) -> ($Q, $L)
      %dq, %dk, %dv = llm.attention_grad %q, %k, %v, %out, %lse, %do$U seed(%s) {$A, $P}
        : ($Q, $K, $K, $Q, $L, $Q$V, tensor<2xi32>) -> ($Q, $K, $K)
    )" + end;
    std::string columns = begin + R"(
      %x = llm.concat %q, %k, %v : ($Q, $K, $K) -> $X
      %out, %lse = llm.kernel(%kx = %x$M$O, %ks = %s) : ($X$Y$V, tensor<2xi32>) -> ($Q, $L) {
        %kq, %kk, %kv = llm.split %kx : ($X) -> ($Q, $K, $K)
        %ko, %kl = llm.attention %kq, %kk, %kv$J$R seed(%ks) {$A, $P} : ($Q, $K, $K$Y$V, tensor<2xi32>) -> ($Q, $L)
        llm.yield %ko, %kl : $Q, $L
      }
      %dx = llm.kernel(%kx = %x, %ko = %out, %kl = %lse, %kd = %do$O, %ks = %s)
          : ($X, $Q, $L, $Q$V, tensor<2xi32>) -> $X {
        %kq, %kk, %kv = llm.split %kx : ($X) -> ($Q, $K, $K)
        %gq, %gk, %gv = llm.attention_grad %kq, %kk, %kv, %ko, %kl, %kd$R seed(%ks) {$A, $P}
          : ($Q, $K, $K, $Q, $L, $Q$V, tensor<2xi32>) -> ($Q, $K, $K)
        %gx = llm.concat %gq, %gk, %gv : ($Q, $K, $K) -> $X
        llm.yield %gx : $X
      }
      %dq, %dk, %dv = llm.split %dx : ($X) -> ($Q, $K, $K)
    )" + end;
    std::vector<Numbers> expected = runWide(withShape(copies, shape), arguments);
    EXPECT_EQ(runWide(withShape(columns, shape), arguments), expected);
    EXPECT_EQ(expected.size(), 5u);
  }

  std::string wideElement() const { return KernelTest::wide(); }

  /// Returns the result of llm.dropout on ones with the same stream.
  Numbers keepFactors(const Shape &shape, const Numbers &seed) {
    return runStep(
        withShape("func.func @step(%x: tensor<$Nxf64>, %s: tensor<2xi32>) -> tensor<$Nxf64> {\n"
                  "  %y = llm.dropout %x, %s {$P} : tensor<$Nxf64>, tensor<2xi32>\n"
                  "  return %y : tensor<$Nxf64>\n}",
                  shape),
        {Numbers(shape.statistics() * shape.seq, 1.0), seed})[0];
  }
};

TEST_P(AttentionKernels, Causal) { check({}); }
TEST_P(AttentionKernels, Window) { check({.window = 3}); }
TEST_P(AttentionKernels, CappedScores) { check({.seq = 70, .size = 32, .cap = 0.5}); }
TEST_P(AttentionKernels, CappedScoresOfOddHeads) { check({.window = 3, .cap = 0.5}); }
TEST_P(AttentionKernels, Dropout) { check({.p = 0.4}); }
TEST_P(AttentionKernels, ManyBlocks) { check({.batch = 1, .seq = 150, .heads = 2, .groups = 1}); }
TEST_P(AttentionKernels, WholeBlocks) {
  check({.batch = 1, .seq = 128, .heads = 1, .groups = 1, .size = 64});
}
TEST_P(AttentionKernels, WindowOverBlocks) {
  check({.batch = 1, .seq = 150, .heads = 2, .groups = 2, .window = 37});
}
TEST_P(AttentionKernels, WindowOfOne) {
  check({.batch = 1, .seq = 70, .heads = 1, .groups = 1, .window = 1});
}
TEST_P(AttentionKernels, DropoutOverBlocks) {
  check({.batch = 2, .seq = 71, .heads = 2, .groups = 1, .size = 3, .window = 70, .p = 0.25});
}
TEST_P(AttentionKernels, WideHeads) {
  check({.batch = 1, .seq = 17, .heads = 3, .groups = 1, .size = 136});
}
// Heads of whole fragments, which tensor cores multiply: partial blocks, groups, windows, dropout.
TEST_P(AttentionKernels, HeadsOf64) {
  check({.batch = 1, .seq = 150, .heads = 4, .groups = 2, .size = 64, .window = 70});
}
TEST_P(AttentionKernels, HeadsOf64WithDropout) {
  check({.batch = 2, .seq = 70, .heads = 2, .groups = 1, .size = 64, .p = 0.25});
}
TEST_P(AttentionKernels, HeadsOf96) {
  check({.batch = 1, .seq = 80, .heads = 2, .groups = 1, .size = 96});
}
TEST_P(AttentionKernels, HeadsOf128) {
  check({.batch = 1, .seq = 101, .heads = 2, .groups = 1, .size = 128});
}
TEST_P(AttentionKernels, Sinks) { check({.window = 3, .hasSinks = true}); }
TEST_P(AttentionKernels, SinksOfHeadsOf64) {
  check({.batch = 1, .seq = 70, .heads = 4, .groups = 2, .size = 64, .p = 0.25, .hasSinks = true});
}
TEST_P(AttentionKernels, Bidirectional) { check({.p = 0.25, .bidirectional = true}); }
TEST_P(AttentionKernels, BidirectionalHeadsOf64) {
  check({.batch = 2, .seq = 70, .heads = 2, .groups = 1, .size = 64, .bidirectional = true});
}
// Sequences that begin inside blocks and vectors, with one of a single token; and one that begins
// with a block, which needs none of those before it.
TEST_P(AttentionKernels, Packed) { check({.p = 0.25, .lengths = {3, 1, 2, 1}}); }
TEST_P(AttentionKernels, PackedHeadsOf64) {
  check({.batch = 2, .seq = 70, .heads = 2, .groups = 1, .size = 64, .lengths = {20, 44, 6}});
}
// Sequences of whole blocks of 128, which wgmma multiplies: several blocks and tiles, groups,
// windows that end inside of tiles, and all that changes scores or masks.
TEST_P(AttentionKernels, BlocksOfWarpgroups) {
  check({.batch = 2, .seq = 256, .heads = 2, .groups = 1, .size = 64});
}
TEST_P(AttentionKernels, BlocksOfWarpgroupsWithHeadsOf128) {
  check({.batch = 1, .seq = 256, .heads = 2, .groups = 1, .size = 128, .window = 150});
}
TEST_P(AttentionKernels, BlocksOfWarpgroupsWithSinksAndCap) {
  check(
      {.batch = 1, .seq = 128, .heads = 2, .groups = 2, .size = 64, .cap = 0.5, .hasSinks = true});
}
TEST_P(AttentionKernels, BlocksOfWarpgroupsInBothDirections) {
  check({.batch = 1, .seq = 256, .heads = 2, .groups = 1, .size = 64, .bidirectional = true});
}
TEST_P(AttentionKernels, BlocksOfWarpgroupsOfPackedRows) {
  check({.batch = 2, .seq = 128, .heads = 2, .groups = 1, .size = 64, .lengths = {20, 100, 8}});
}
TEST_P(AttentionKernels, OnePosition) { check({.batch = 3, .seq = 1, .heads = 2, .groups = 2}); }

TEST_P(AttentionKernels, Columns) { checkColumns({.window = 3, .p = 0.4, .hasSinks = true}); }
TEST_P(AttentionKernels, ColumnsOfPackedRows) { checkColumns({.lengths = {3, 1, 2, 1}}); }
TEST_P(AttentionKernels, ColumnsOverBlocks) {
  checkColumns({.batch = 1, .seq = 150, .heads = 2, .groups = 2, .size = 64});
}

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

// Four of six elements of a head turn, the second pair at a fifth of its speed.
TEST_P(AttentionKernels, RopeTurnsPartOfAHead) {
  Numbers x = someNumbers(2 * 5 * 12, 1), y = x;
  for (int row = 0; row < 10; ++row)
    for (int h = 0; h < 2; ++h)
      for (int i = 0; i < 2; ++i) {
        double angle = (row % 5) * (i == 0 ? 1.0 : 0.01 / 5.0);
        int low = (row * 2 + h) * 6 + i, high = low + 2;
        y[low] = 1.25 * (x[low] * std::cos(angle) - x[high] * std::sin(angle));
        y[high] = 1.25 * (x[high] * std::cos(angle) + x[low] * std::sin(angle));
      }
  expectNear(run(R"(func.func @step(%x: tensor<2x5x12xT>) -> tensor<2x5x12xT> {
    %0 = llm.rope %x {heads = 2 : i64, theta = 10000.0 : f64, rotary = 4 : i64,
      scaling = #llm.rope_scaling<divisors = dense<[1.0, 5.0]> : tensor<2xf64>, magnitude = 1.25 : f64>} : tensor<2x5x12xT>
    return %0 : tensor<2x5x12xT>
  })",
                 {x})[0],
             y, tolerance());
}

LLMMEM_ALL_ELEMENT_TYPES(AttentionKernels);

/// f16 uses the kernels of bf16, with other roundings.
class AttentionKernelsOfF16 : public AttentionKernels {};
TEST_P(AttentionKernelsOfF16, Dropout) { check({.p = 0.4}); }
TEST_P(AttentionKernelsOfF16, HeadsOf64) {
  check({.batch = 1, .seq = 70, .heads = 2, .groups = 1, .size = 64, .window = 40});
}
TEST_P(AttentionKernelsOfF16, BlocksOfWarpgroups) {
  check({.batch = 1, .seq = 256, .heads = 2, .groups = 1, .size = 64, .window = 100});
}
TEST_P(AttentionKernelsOfF16, BlocksOfWarpgroupsInColumns) {
  checkColumns({.batch = 2, .seq = 128, .heads = 2, .groups = 1, .size = 64});
}
INSTANTIATE_TEST_SUITE_P(Types, AttentionKernelsOfF16, ::testing::Values("f16"),
                         [](const auto &info) { return info.param; });

} // namespace
