//===- ProductKernelsTest.cpp - Matmuls against plain C++ ------------------===//

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

/// x w, x t^T, x^T dy and dy^T x for x of rows x in, dy of rows x out, w of in x out and t = w^T.
static std::vector<Numbers> plainProducts(int rows, int in, int out, const Numbers &x,
                                          const Numbers &w, const Numbers &dy) {
  Numbers y(rows * out, 0.0), dw(in * out, 0.0), dt(in * out);
  for (int row = 0; row < rows; ++row)
    for (int i = 0; i < in; ++i)
      for (int o = 0; o < out; ++o) {
        y[row * out + o] += x[row * in + i] * w[i * out + o];
        dw[i * out + o] += x[row * in + i] * dy[row * out + o];
      }
  for (int i = 0; i < in; ++i)
    for (int o = 0; o < out; ++o)
      dt[o * in + i] = dw[i * out + o];
  return {y, y, dw, dt};
}

/// Enough rows for several blocks to share a sum on a GPU (`sumPartsOf`): three parts of which the
/// last is shorter, in sizes for copies of 16 bytes and in odd ones, with and without an
/// accumulator.
TEST_P(ProductKernels, PartsOfALongSumMeet) {
  for (auto [rows, in, out] : {std::array{1700, 24, 40}, std::array{1541, 19, 37}}) {
    Numbers x = someNumbers(rows * in, 1), dy = someNumbers(rows * out, 2),
            sum = someNumbers(in * out, 3);
    std::vector<Numbers> expected = plainProducts(rows, in, out, x, Numbers(in * out, 0.0), dy);
    for (auto [all, more] : llvm::zip_equal(expected[2], sum))
      all += more;
    std::string text = R"(func.func @step(%x: tensor<RxIxT>, %d: tensor<RxOxT>, %s: tensor<IxOxT>)
        -> (tensor<IxOxT>, tensor<OxIxT>) {
      %0 = llm.linear_weight_grad %x, %d into(%s) layout(in_out) : (tensor<RxIxT>, tensor<RxOxT>, tensor<IxOxT>) -> tensor<IxOxT>
      %1 = llm.linear_weight_grad %x, %d layout(out_in) : (tensor<RxIxT>, tensor<RxOxT>) -> tensor<OxIxT>
      return %0, %1 : tensor<IxOxT>, tensor<OxIxT>
    })";
    for (auto [from, to] : {std::pair<std::string, int>("RxIx", in), {"RxOx", out}})
      for (size_t at; (at = text.find(from)) != std::string::npos;)
        text.replace(at, 4, std::to_string(rows) + "x" + std::to_string(to) + "x");
    for (auto [from, to] :
         {std::pair<std::string, std::array<int, 2>>("IxOx", {in, out}), {"OxIx", {out, in}}})
      for (size_t at; (at = text.find(from)) != std::string::npos;)
        text.replace(at, 4, std::to_string(to[0]) + "x" + std::to_string(to[1]) + "x");
    std::vector<Numbers> found = run(text, {x, dy, sum});
    expectNear(found[0], expected[2], tolerance());
    expectNear(found[1], expected[3], tolerance());
  }
}

/// Several tiles in both directions with a rest, and more steps along the inner dimension than a
/// GPU has stages: with rows that begin at multiples of 16 bytes, and with others.
class TiledProducts : public ProductKernels {
protected:
  void expectAllLayouts(int rows, int in, int out) {
    Numbers x = someNumbers(rows * in, 1), w = someNumbers(in * out, 2),
            dy = someNumbers(rows * out, 3), t(in * out);
    for (int i = 0; i < in; ++i)
      for (int o = 0; o < out; ++o)
        t[o * in + i] = w[i * out + o];
    std::string text =
        R"(func.func @step(%x: tensor<RxIxT>, %w: tensor<IxOxT>, %t: tensor<OxIxT>, %d: tensor<RxOxT>)
        -> (tensor<RxOxT>, tensor<RxOxT>, tensor<IxOxT>, tensor<OxIxT>) {
      %0 = llm.linear %x, %w layout(in_out) : (tensor<RxIxT>, tensor<IxOxT>) -> tensor<RxOxT>
      %1 = llm.linear %x, %t layout(out_in) : (tensor<RxIxT>, tensor<OxIxT>) -> tensor<RxOxT>
      %2 = llm.linear_weight_grad %x, %d layout(in_out) : (tensor<RxIxT>, tensor<RxOxT>) -> tensor<IxOxT>
      %3 = llm.linear_weight_grad %x, %d layout(out_in) : (tensor<RxIxT>, tensor<RxOxT>) -> tensor<OxIxT>
      return %0, %1, %2, %3 : tensor<RxOxT>, tensor<RxOxT>, tensor<IxOxT>, tensor<OxIxT>
    })";
    for (auto [letter, size] : {std::pair("Rx", rows), {"Ix", in}, {"Ox", out}})
      for (size_t at; (at = text.find(letter)) != std::string::npos;)
        text.replace(at, 1, std::to_string(size));
    std::vector<Numbers> r = run(text, {x, w, t, dy}),
                         plain = plainProducts(rows, in, out, x, w, dy);
    for (size_t number = 0; number < plain.size(); ++number)
      expectNear(r[number], plain[number], tolerance());
  }
};

TEST_P(TiledProducts, InChunksOf16Bytes) { expectAllLayouts(136, 168, 200); }
/// Boxes of tensor maps that end outside of the matrix: in rows, in terms of a weight's gradient,
/// in columns.
TEST_P(TiledProducts, OddRowsInChunksOf16Bytes) { expectAllLayouts(197, 168, 200); }
TEST_P(TiledProducts, ElementByElement) { expectAllLayouts(131, 163, 129); }
TEST_P(TiledProducts, RowsOfAFewTerms) { expectAllLayouts(72, 8, 24); }

/// Enough tiles of 256 x 128 for all multiprocessors, so that a GPU makes its tiles that large.
TEST_P(TiledProducts, LargeTiles) {
  if (!std::getenv("LLMMEM_TEST_EMULATE"))
    GTEST_SKIP() << "a GPU's tiles";
  constexpr int rows = 8712, in = 40, out = 520;
  Numbers x = someNumbers(rows * in, 1), w = someNumbers(in * out, 2), y(rows * out, 0.0);
  for (int row = 0; row < rows; ++row)
    for (int i = 0; i < in; ++i)
      for (int o = 0; o < out; ++o)
        y[row * out + o] += x[row * in + i] * w[i * out + o];
  std::vector<Numbers> r =
      run(R"(func.func @step(%x: tensor<8712x40xT>, %w: tensor<40x520xT>) -> tensor<8712x520xT> {
    %0 = llm.linear %x, %w layout(in_out) : (tensor<8712x40xT>, tensor<40x520xT>) -> tensor<8712x520xT>
    return %0 : tensor<8712x520xT>
  })",
          {x, w});
  expectNear(r[0], y, tolerance());
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
  constexpr int batch = 2, seq = 5, keys = 7, heads = 4, groups = 2, size = 3;
  Numbers q = someNumbers(batch * seq * heads * size, 1),
          k = someNumbers(batch * keys * groups * size, 2);
  Numbers p = someNumbers(batch * heads * seq * keys, 3);
  Numbers scores(p.size()), values(q.size()), transposed(k.size());
  auto wide = [&](int b, int i, int h, int d) { return ((b * seq + i) * heads + h) * size + d; };
  auto narrow = [&](int b, int j, int h, int d) {
    return ((b * keys + j) * groups + h / 2) * size + d;
  };
  for (int b = 0; b < batch; ++b)
    for (int h = 0; h < heads; ++h)
      for (int i = 0; i < seq; ++i)
        for (int j = 0; j < keys; ++j)
          for (int d = 0; d < size; ++d) {
            int s = ((b * heads + h) * seq + i) * keys + j;
            scores[s] += 0.5 * q[wide(b, i, h, d)] * k[narrow(b, j, h, d)];
            values[wide(b, i, h, d)] += p[s] * k[narrow(b, j, h, d)];
            transposed[narrow(b, j, h, d)] += 2.0 * p[s] * q[wide(b, i, h, d)];
          }
  std::vector<Numbers> r =
      run(R"(func.func @step(%q: tensor<2x5x12xT>, %k: tensor<2x7x6xT>, %p: tensor<2x4x5x7xT>)
      -> (tensor<2x4x5x7xT>, tensor<2x5x12xT>, tensor<2x7x6xT>) {
    %0 = llm.attention_scores %q, %k {heads = 4 : i64, kv_heads = 2 : i64, scale = 0.5 : f64}
      : (tensor<2x5x12xT>, tensor<2x7x6xT>) -> tensor<2x4x5x7xT>
    %1 = llm.attention_values %p, %k {heads = 4 : i64, kv_heads = 2 : i64}
      : (tensor<2x4x5x7xT>, tensor<2x7x6xT>) -> tensor<2x5x12xT>
    %2 = llm.attention_values_transposed %p, %q {heads = 4 : i64, kv_heads = 2 : i64, scale = 2.0 : f64}
      : (tensor<2x4x5x7xT>, tensor<2x5x12xT>) -> tensor<2x7x6xT>
    return %0, %1, %2 : tensor<2x4x5x7xT>, tensor<2x5x12xT>, tensor<2x7x6xT>
  })",
          {q, k, p});
  expectNear(r[0], scores, tolerance());
  expectNear(r[1], values, tolerance());
  expectNear(r[2], transposed, tolerance());
}

LLMMEM_ALL_ELEMENT_TYPES(ProductKernels);
// ProductBits demands more of the other types.
INSTANTIATE_TEST_SUITE_P(Types, TiledProducts, ::testing::Values("bf16"),
                         [](const auto &info) { return info.param; });

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

/// One element of the matmul by its definition: one chain of fused multiply-adds.
template <typename Wide>
double chain(int64_t inner, llvm::function_ref<double(int64_t)> a,
             llvm::function_ref<double(int64_t)> b) {
  Wide sum = 0;
  for (int64_t k = 0; k < inner; ++k)
    sum = std::fma(static_cast<Wide>(a(k)), static_cast<Wide>(b(k)), sum);
  return static_cast<double>(sum);
}

/// Numbers whose products round.
Numbers roughNumbers(int64_t count, unsigned seed) {
  Numbers numbers = someNumbers(count, seed);
  for (double &x : numbers)
    x = static_cast<double>(static_cast<float>(x / 3.0 + 0.01));
  return numbers;
}

struct Shape {
  int64_t rows, inner, columns;
};

/// Shapes on both sides of every edge: of tiles, vectors, panels and blocks.
class ProductBits : public ::testing::TestWithParam<Shape> {
protected:
  int64_t m = GetParam().rows, k = GetParam().inner, n = GetParam().columns;
  Numbers x = roughNumbers(m * k, 1), w = roughNumbers(k * n, 2), dy = roughNumbers(m * n, 3);

  std::string tensor(int64_t rows, int64_t columns, const std::string &type) {
    return "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) + "x" + type + ">";
  }

  /// y = x w, dx = dy w^T, dw = x^T dy.
  std::vector<Numbers> run(const std::string &type) {
    std::string X = tensor(m, k, type), W = tensor(k, n, type), Y = tensor(m, n, type);
    return runStep("func.func @step(%x: " + X + ", %w: " + W + ", %dy: " + Y + ") -> (" + Y + ", " +
                       X + ", " + W + ") {\n %y = llm.linear %x, %w layout(in_out) : (" + X + ", " +
                       W + ") -> " + Y + "\n %dx = llm.linear %dy, %w layout(out_in) : (" + Y +
                       ", " + W + ") -> " + X +
                       "\n %dw = llm.linear_weight_grad %x, %dy layout(in_out) : (" + X + ", " + Y +
                       ") -> " + W + "\n return %y, %dx, %dw : " + Y + ", " + X + ", " + W + " }",
                   {x, w, dy});
  }

  template <typename Wide>
  std::vector<Numbers> expected() {
    std::vector<Numbers> results(3);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        results[0].push_back(chain<Wide>(
            k, [&](int64_t l) { return x[i * k + l]; }, [&](int64_t l) { return w[l * n + j]; }));
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < k; ++j)
        results[1].push_back(chain<Wide>(
            n, [&](int64_t l) { return dy[i * n + l]; }, [&](int64_t l) { return w[j * n + l]; }));
    for (int64_t i = 0; i < k; ++i)
      for (int64_t j = 0; j < n; ++j)
        results[2].push_back(chain<Wide>(
            m, [&](int64_t l) { return x[l * k + i]; }, [&](int64_t l) { return dy[l * n + j]; }));
    return results;
  }
};

TEST_P(ProductBits, EachElementIsOneChainInF32) { EXPECT_EQ(run("f32"), expected<float>()); }
TEST_P(ProductBits, EachElementIsOneChainInF64) { EXPECT_EQ(run("f64"), expected<double>()); }

/// Few rows are multiplied by the weight as it lies, more by panels of it.
TEST(NarrowProducts, FewRowsHaveTheBitsOfMany) {
  constexpr int64_t many = 9, in = 53, out = 149;
  Numbers x = someNumbers(many * in, 1), w = someNumbers(in * out, 2), b = someNumbers(out, 3);
  auto linear = [&](int64_t rows, const std::string &layout) {
    std::string X = "tensor<" + std::to_string(rows) + "x53xbf16>",
                Y = "tensor<" + std::to_string(rows) + "x149xbf16>",
                W = layout == "in_out" ? "tensor<53x149xbf16>" : "tensor<149x53xbf16>";
    return runStep("func.func @step(%x: " + X + ", %w: " + W + ", %b: tensor<149xbf16>) -> " + Y +
                       " {\n %y = llm.linear %x, %w bias(%b) layout(" + layout + ") : (" + X +
                       ", " + W + ", tensor<149xbf16>) -> " + Y + "\n return %y : " + Y + " }",
                   {Numbers(x.begin(), x.begin() + rows * in), w, b})[0];
  };
  for (const char *layout : {"in_out", "out_in"}) {
    Numbers all = linear(many, layout);
    for (int64_t rows : {1, 2, 4, 5, 8})
      EXPECT_EQ(linear(rows, layout), Numbers(all.begin(), all.begin() + rows * out))
          << rows << " rows, " << layout;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, ProductBits,
                         ::testing::Values(Shape{1, 1, 1}, Shape{7, 5, 3}, Shape{8, 16, 48},
                                           Shape{9, 17, 49}, Shape{129, 193, 241},
                                           Shape{200, 30, 300}, Shape{40, 500, 60},
                                           Shape{1, 50, 300}, Shape{3, 33, 150}, Shape{5, 19, 70},
                                           Shape{8, 64, 131}, Shape{1, 70, 700}, Shape{2, 9, 600}),
                         [](const auto &info) {
                           return std::to_string(info.param.rows) + "x" +
                                  std::to_string(info.param.inner) + "x" +
                                  std::to_string(info.param.columns);
                         });

} // namespace
