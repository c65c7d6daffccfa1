//===- ProductKernelsTest.cpp - Matrix products against plain C++ ----------===//

#include "../../lib/Runtime/Gemm.h"
#include "Check.h"

using namespace llmmem::test;

namespace {

class ProductKernels : public KernelTest {};

TEST_P(ProductKernels, LinearInBothLayouts) {
  constexpr int rows = 6, in = 21, out = 18;
  Numbers x = someNumbers(rows * in, 1), w = someNumbers(in * out, 2), b = someNumbers(out, 3),
          t(in * out), y, plain;
  for (int i = 0; i < in; ++i)
    for (int o = 0; o < out; ++o)
      t[o * in + i] = w[i * out + o];
  for (int row = 0; row < rows; ++row)
    for (int o = 0; o < out; ++o) {
      double sum = 0.0;
      for (int i = 0; i < in; ++i)
        sum += x[row * in + i] * w[i * out + o];
      plain.push_back(sum);
      y.push_back(sum + b[o]);
    }
  std::vector<Numbers> r = run(
      R"(func.func @step(%x: tensor<2x3x21xT>, %w: tensor<21x18xT>, %t: tensor<18x21xT>, %b: tensor<18xT>)
      -> (tensor<2x3x18xT>, tensor<2x3x18xT>) {
    %0 = llm.linear %x, %w bias(%b) layout(in_out) : (tensor<2x3x21xT>, tensor<21x18xT>, tensor<18xT>) -> tensor<2x3x18xT>
    %1 = llm.linear %x, %t layout(out_in) : (tensor<2x3x21xT>, tensor<18x21xT>) -> tensor<2x3x18xT>
    return %0, %1 : tensor<2x3x18xT>, tensor<2x3x18xT>
  })",
      {x, w, t, b});
  expectNear(r[0], y, tolerance());
  expectNear(r[1], plain, tolerance());
}

TEST_P(ProductKernels, LinearWeightGradAddsToTheSumSoFar) {
  constexpr int rows = 6, in = 5, out = 18;
  Numbers x = someNumbers(rows * in, 1), dy = someNumbers(rows * out, 2),
          into = someNumbers(in * out, 3);
  Numbers sum = into, transposed(in * out, 0.0);
  for (int row = 0; row < rows; ++row)
    for (int i = 0; i < in; ++i)
      for (int o = 0; o < out; ++o) {
        sum[i * out + o] += x[row * in + i] * dy[row * out + o];
        transposed[o * in + i] += x[row * in + i] * dy[row * out + o];
      }
  std::vector<Numbers> r =
      run(R"(func.func @step(%x: tensor<2x3x5xT>, %dy: tensor<2x3x18xT>, %w: tensor<5x18xT>)
      -> (tensor<5x18xT>, tensor<18x5xT>) {
    %0 = llm.linear_weight_grad %x, %dy into(%w) layout(in_out)
      : (tensor<2x3x5xT>, tensor<2x3x18xT>, tensor<5x18xT>) -> tensor<5x18xT>
    %1 = llm.linear_weight_grad %x, %dy layout(out_in) : (tensor<2x3x5xT>, tensor<2x3x18xT>) -> tensor<18x5xT>
    return %0, %1 : tensor<5x18xT>, tensor<18x5xT>
  })",
          {x, dy, into});
  expectNear(r[0], sum, tolerance());
  expectNear(r[1], transposed, tolerance());
}

TEST_P(ProductKernels, AttentionWrittenOut) {
  constexpr int batch = 2, seq = 5, heads = 4, groups = 2, size = 3;
  Numbers q = someNumbers(batch * seq * heads * size, 1),
          k = someNumbers(batch * seq * groups * size, 2);
  Numbers p = someNumbers(batch * heads * seq * seq, 3);
  Numbers scores(p.size()), values(q.size()), transposed(k.size());
  auto wide = [&](int b, int i, int h, int d) { return ((b * seq + i) * heads + h) * size + d; };
  auto narrow = [&](int b, int j, int h, int d) {
    return ((b * seq + j) * groups + h / 2) * size + d;
  };
  for (int b = 0; b < batch; ++b)
    for (int h = 0; h < heads; ++h)
      for (int i = 0; i < seq; ++i)
        for (int j = 0; j < seq; ++j)
          for (int d = 0; d < size; ++d) {
            int s = ((b * heads + h) * seq + i) * seq + j;
            scores[s] += 0.5 * q[wide(b, i, h, d)] * k[narrow(b, j, h, d)];
            values[wide(b, i, h, d)] += p[s] * k[narrow(b, j, h, d)];
            transposed[narrow(b, j, h, d)] += 2.0 * p[s] * q[wide(b, i, h, d)];
          }
  std::vector<Numbers> r =
      run(R"(func.func @step(%q: tensor<2x5x12xT>, %k: tensor<2x5x6xT>, %p: tensor<2x4x5x5xT>)
      -> (tensor<2x4x5x5xT>, tensor<2x5x12xT>, tensor<2x5x6xT>) {
    %0 = llm.attention_scores %q, %k {heads = 4 : i64, kv_heads = 2 : i64, scale = 0.5 : f64}
      : (tensor<2x5x12xT>, tensor<2x5x6xT>) -> tensor<2x4x5x5xT>
    %1 = llm.attention_values %p, %k {heads = 4 : i64, kv_heads = 2 : i64}
      : (tensor<2x4x5x5xT>, tensor<2x5x6xT>) -> tensor<2x5x12xT>
    %2 = llm.attention_values_transposed %p, %q {heads = 4 : i64, kv_heads = 2 : i64, scale = 2.0 : f64}
      : (tensor<2x4x5x5xT>, tensor<2x5x12xT>) -> tensor<2x5x6xT>
    return %0, %1, %2 : tensor<2x4x5x5xT>, tensor<2x5x12xT>, tensor<2x5x6xT>
  })",
          {q, k, p});
  expectNear(r[0], scores, tolerance());
  expectNear(r[1], values, tolerance());
  expectNear(r[2], transposed, tolerance());
}

LLMMEM_ALL_ELEMENT_TYPES(ProductKernels);

/// Shapes beyond one block in every direction, and addresses of every alignment.
TEST(Gemm, BitsDoNotDependOnAddresses) {
  constexpr int rows = 131, columns = 203, inner = 301;
  std::vector<uint16_t> a(rows * inner + 16), b(inner * columns + 16), c(rows * columns + 16),
      moved(c.size());
  auto fill = [](std::vector<uint16_t> &x, unsigned shift) {
    for (size_t i = shift; i < x.size(); ++i)
      x[i] = static_cast<uint16_t>(0x3F00 + ((i - shift) * 2654435761u >> 24) +
                                   ((i - shift) % 2 ? 0x8000 : 0));
  };
  auto multiply = [&](unsigned shift, std::vector<uint16_t> &to) {
    fill(a, shift);
    fill(b, shift);
    llmmem_gemm_bf16(a.data() + shift, inner, 0, b.data() + shift, columns, 0, nullptr, 0,
                     to.data() + shift, columns, rows, columns, inner, 1, 0, 0, 1.0);
  };
  multiply(0, c);
  for (unsigned shift : {1, 3, 7}) {
    multiply(shift, moved);
    EXPECT_TRUE(std::equal(c.begin(), c.begin() + rows * columns, moved.begin() + shift));
  }
}

} // namespace
