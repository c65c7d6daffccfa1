//===- CacheKernelsTest.cpp - Steps with caches against plain C++ ----------===//

#include "Check.h"
#include <numeric>

using namespace llmmem::test;

namespace {

class CacheKernels : public KernelTest {};

/// Where the rows of a sequence lie, and what its tokens attend to.
struct Cache {
  int batch, seq, rows, heads, groups, size;
  int window = 0; // 0: all
  double softcap = 0;
  std::vector<std::vector<int>> pages = {}; // of each sequence; rows is then that of a page
  bool hasSinks = false;

  int width() const { return groups * size; }
  int capacity() const { return pages.empty() ? rows : rows * static_cast<int>(pages[0].size()); }
  /// The row of a cache that position `p` of sequence `b` has.
  int row(int b, int p) const {
    int slot = window ? p % rows : p;
    return pages.empty() ? b * rows + slot : pages[b][slot / rows] * rows + slot % rows;
  }
};

struct Tensors {
  Numbers q, k, v, keys, values, positions, table, sinks;
  std::vector<Numbers> all() const {
    std::vector<Numbers> list = {q, k, v, keys, values, positions};
    for (const Numbers *more : {&table, &sinks})
      if (!more->empty())
        list.push_back(*more);
    return list;
  }
};

Tensors someTensors(const Cache &c, const Numbers &positions, int pages = 0) {
  int blocks = pages ? pages : c.batch;
  Tensors t{someNumbers(c.batch * c.seq * c.heads * c.size, 1),
            someNumbers(c.batch * c.seq * c.width(), 2),
            someNumbers(c.batch * c.seq * c.width(), 3),
            someNumbers(blocks * c.rows * c.width(), 4),
            someNumbers(blocks * c.rows * c.width(), 5),
            positions,
            {},
            c.hasSinks ? someNumbers(c.heads, 6) : Numbers()};
  for (const std::vector<int> &row : c.pages)
    t.table.insert(t.table.end(), row.begin(), row.end());
  return t;
}

/// softmax(q k^T / 2) v over the keys that the positions say.
Numbers attention(const Cache &c, const Tensors &t) {
  Numbers out(t.q.size(), 0.0);
  for (int b = 0; b < c.batch; ++b)
    for (int s = 0; s < c.seq; ++s)
      for (int h = 0; h < c.heads; ++h) {
        int p = static_cast<int>(t.positions[b * c.seq + s]),
            first = static_cast<int>(t.positions[b * c.seq]);
        int g = h / (c.heads / c.groups);
        const double *q = &t.q[((b * c.seq + s) * c.heads + h) * c.size];
        double total = c.hasSinks ? std::exp(t.sinks[h]) : 0.0;
        Numbers sum(c.size, 0.0);
        for (int j = c.window ? std::max(0, p - c.window + 1) : 0; j <= p; ++j) {
          int place = j < first ? c.row(b, j) : b * c.seq + j - first;
          const double *k = (j < first ? &t.keys[0] : &t.k[0]) + place * c.width() + g * c.size;
          const double *v = (j < first ? &t.values[0] : &t.v[0]) + place * c.width() + g * c.size;
          double score = 0;
          for (int d = 0; d < c.size; ++d)
            score += 0.5 * q[d] * k[d];
          if (c.softcap > 0)
            score = c.softcap * std::tanh(score / c.softcap);
          total += std::exp(score);
          for (int d = 0; d < c.size; ++d)
            sum[d] += std::exp(score) * v[d];
        }
        for (int d = 0; d < c.size && p >= 0; ++d)
          out[((b * c.seq + s) * c.heads + h) * c.size + d] = sum[d] / total;
      }
  return out;
}

std::string tensor(std::initializer_list<int> shape, const char *element = "T") {
  std::string text = "tensor<";
  for (int extent : shape)
    text += std::to_string(extent) + "x";
  return text + element + ">";
}

/// @step of one llm.cached_attention.
std::string attentionStep(const Cache &c, int pages = 0) {
  std::string q = tensor({c.batch, c.seq, c.heads * c.size}),
              k = tensor({c.batch, c.seq, c.width()}),
              cache = tensor({pages ? pages : c.batch, c.rows, c.width()}),
              positions = tensor({c.batch, c.seq}, "i32");
  std::string table =
      pages ? tensor({c.batch, static_cast<int>(c.pages[0].size())}, "i32") : std::string();
  std::string sinks = c.hasSinks ? tensor({c.heads}) : std::string();
  std::string attributes = "heads = " + std::to_string(c.heads) +
                           " : i64, kv_heads = " + std::to_string(c.groups) +
                           " : i64, scale = 0.5 : f64";
  if (c.window)
    attributes += ", window = " + std::to_string(c.window) + " : i64";
  if (c.softcap > 0)
    attributes += ", softcap = " + std::to_string(c.softcap) + " : f64";
  std::string types = q + ", " + k + ", " + k + ", " + cache + ", " + cache + ", " + positions +
                      (pages ? ", " + table : "") + (c.hasSinks ? ", " + sinks : "");
  return "func.func @step(%q: " + q + ", %k: " + k + ", %v: " + k + ", %keys: " + cache +
         ", %values: " + cache + ", %p: " + positions + (pages ? ", %t: " + table : "") +
         (c.hasSinks ? ", %z: " + sinks : "") + ") -> " + q +
         " {\n  %o = llm.cached_attention %q, %k, %v caches(%keys, %values) at(%p)" +
         (pages ? " pages(%t)" : "") + (c.hasSinks ? " sinks(%z)" : "") + " {" + attributes +
         "} : (" + types + ") -> " + q + "\n  return %o : " + q + "\n}";
}

TEST_P(CacheKernels, AttentionReadsCacheAndNewRows) {
  // 70 and 3 tokens before two new ones, of which the second sequence has one: two blocks of keys.
  Cache c{2, 2, 80, 4, 2, 6};
  Tensors t = someTensors(c, {70, 71, 3, -1});
  expectNear(run(attentionStep(c), t.all())[0], attention(c, t), tolerance());
}

TEST_P(CacheKernels, AttentionOfWholeVectors) {
  // Heads of 64 columns, more query heads than an iteration takes (12 of one key head: 6 and 6).
  Cache c{1, 1, 128, 12, 1, 64, 0, 2.0};
  Tensors t = someTensors(c, {100});
  expectNear(run(attentionStep(c), t.all())[0], attention(c, t), tolerance());
}

TEST_P(CacheKernels, AttentionOfNoToken) {
  Cache c{1, 2, 4, 1, 1, 8};
  Tensors t = someTensors(c, {-1, -1});
  EXPECT_EQ(run(attentionStep(c), t.all())[0], Numbers(16, 0.0));
}

TEST_P(CacheKernels, AttentionToARing) {
  // A window of 5 in 5 rows: the tokens 9 to 11 attend to 5 to 9, 6 to 10 and 7 to 11.
  Cache c{1, 3, 5, 2, 2, 8, 5};
  Tensors t = someTensors(c, {9, 10, 11});
  expectNear(run(attentionStep(c), t.all())[0], attention(c, t), tolerance());
}

TEST_P(CacheKernels, AttentionToPages) {
  // Pages of 4 rows in any order; the second sequence has but one.
  Cache c{2, 1, 4, 2, 1, 8, 0, 0, {{5, 0, 3}, {2, -1, -1}}};
  Tensors t = someTensors(c, {9, 2}, 6);
  expectNear(run(attentionStep(c, 6), t.all())[0], attention(c, t), tolerance());
}

/// Token 69 alone, and with the two before it: both last rows.
struct LastRows {
  Cache alone, together;
  Tensors one, all;

  explicit LastRows(bool hasSinks) : alone{1, 1, 80, 2, 1, 24}, together{1, 3, 80, 2, 1, 24} {
    alone.hasSinks = together.hasSinks = hasSinks;
    all = someTensors(together, {67, 68, 69}), one = someTensors(alone, {69});
    one.keys = all.keys, one.values = all.values;
    for (int s = 0; s < 2; ++s)
      for (int d = 0; d < 24; ++d) {
        one.keys[(67 + s) * 24 + d] = all.k[s * 24 + d];
        one.values[(67 + s) * 24 + d] = all.v[s * 24 + d];
      }
    one.q.assign(all.q.end() - 48, all.q.end());
    one.k.assign(all.k.end() - 24, all.k.end());
    one.v.assign(all.v.end() - 24, all.v.end());
  }
};

TEST_P(CacheKernels, AttentionDoesNotDependOnTheDivisionIntoSteps) {
  for (bool hasSinks : {false, true}) {
    LastRows rows(hasSinks);
    Numbers last = run(attentionStep(rows.together), rows.all.all())[0];
    EXPECT_EQ(run(attentionStep(rows.alone), rows.one.all())[0],
              Numbers(last.end() - 48, last.end()));
  }
}

//===----------------------------------------------------------------------===//
// Sinks
//===----------------------------------------------------------------------===//

TEST_P(CacheKernels, SinksTakeAShare) {
  // Four heads on two, over two blocks of keys; one row is no token, and gives 0.
  Cache c{2, 2, 80, 4, 2, 6};
  c.hasSinks = true;
  Tensors t = someTensors(c, {70, 71, 3, -1});
  Numbers found = run(attentionStep(c), t.all())[0];
  expectNear(found, attention(c, t), tolerance());
  EXPECT_EQ(Numbers(found.end() - 24, found.end()), Numbers(24, 0.0));
}

TEST_P(CacheKernels, SinksOfManyHeads) {
  // Twelve heads on one, six in an iteration: each has the sink of its own number.
  Cache c{1, 1, 128, 12, 1, 64, 0, 2.0};
  c.hasSinks = true;
  Tensors t = someTensors(c, {100});
  expectNear(run(attentionStep(c), t.all())[0], attention(c, t), tolerance());
}

TEST_P(CacheKernels, SinksBeyondAllScores) {
  // One that takes nearly all, one that takes nothing, and one in the middle.
  Cache c{1, 1, 8, 3, 3, 8};
  c.hasSinks = true;
  Tensors t = someTensors(c, {5});
  t.sinks = {12, -200, 0.5};
  Numbers found = run(attentionStep(c), t.all())[0], expected = attention(c, t);
  for (int64_t h = 0; h < 3; ++h)
    expectNear({found.begin() + h * 8, found.begin() + (h + 1) * 8},
               {expected.begin() + h * 8, expected.begin() + (h + 1) * 8}, tolerance());
  Cache plain = c;
  plain.hasSinks = false;
  Tensors without = t;
  without.sinks.clear();
  Numbers bits = run(attentionStep(plain), without.all())[0];
  EXPECT_EQ(Numbers(found.begin() + 8, found.begin() + 16),
            Numbers(bits.begin() + 8, bits.begin() + 16));
}

TEST_P(CacheKernels, SinksOfARing) {
  // The window and the ring of AttentionToARing.
  Cache c{1, 3, 5, 4, 2, 8, 5};
  c.hasSinks = true;
  Tensors t = someTensors(c, {9, 10, 11});
  Numbers found = run(attentionStep(c), t.all())[0];
  expectNear(found, attention(c, t), tolerance());
  // A full cache of the same keys, of which the window sees as many, has the same bits.
  Cache full = c;
  full.rows = 12;
  Tensors wide = someTensors(full, {9, 10, 11});
  for (int p = 4; p < 9; ++p)
    for (int d = 0; d < c.width(); ++d) {
      wide.keys[full.row(0, p) * c.width() + d] = t.keys[c.row(0, p) * c.width() + d];
      wide.values[full.row(0, p) * c.width() + d] = t.values[c.row(0, p) * c.width() + d];
    }
  EXPECT_EQ(run(attentionStep(full), wide.all())[0], found);
}

TEST_P(CacheKernels, SinksInsideOfAWindow) {
  // Nine positions of a window of 12: the ring gives the bits of a cache without a window.
  Cache ring{1, 3, 12, 4, 2, 8, 12}, full{1, 3, 12, 4, 2, 8};
  ring.hasSinks = full.hasSinks = true;
  Tensors t = someTensors(ring, {6, 7, 8});
  EXPECT_EQ(run(attentionStep(ring), t.all())[0], run(attentionStep(full), t.all())[0]);
}

TEST_P(CacheKernels, SinksOfPages) {
  Cache c{2, 1, 4, 2, 1, 8, 0, 0, {{5, 0, 3}, {2, -1, -1}}};
  c.hasSinks = true;
  Tensors t = someTensors(c, {9, 2}, 6);
  expectNear(run(attentionStep(c, 6), t.all())[0], attention(c, t), tolerance());
}

TEST_P(CacheKernels, SinksAreThoseOfAttentionWithoutCaches) {
  // A whole sequence of 70 tokens, with a window and without, after empty caches.
  for (int window : {0, 37}) {
    Cache c{1, 70, window ? window : 70, 4, 2, 16, window};
    c.hasSinks = true;
    Numbers positions(70);
    std::iota(positions.begin(), positions.end(), 0.0);
    Tensors t = someTensors(c, positions);
    std::string q = tensor({1, 70, 64}), k = tensor({1, 70, 32}), z = tensor({4}),
                lse = tensor({1, 4, 70}, "W");
    std::string text =
        "func.func @step(%q: " + q + ", %k: " + k + ", %v: " + k + ", %z: " + z + ") -> " + q +
        " {\n  %o, %l = llm.attention %q, %k, %v sinks(%z) {heads = 4 "
        ": i64, kv_heads = 2 : i64, scale = 0.5 : f64" +
        (window ? ", window = " + std::to_string(window) + " : i64" : "") + "} : (" + q + ", " + k +
        ", " + k + ", " + z + ") -> (" + q + ", " + lse + ")\n  return %o : " + q + "\n}";
    Numbers found = run(attentionStep(c), t.all())[0];
    expectNear(found, attention(c, t), tolerance());
    // Both round once; on a GPU the other one's tensor cores round the probabilities too.
    expectNear(found, runWide(text, {t.q, t.k, t.v, t.sinks})[0], 2.0 * tolerance());
  }
}

class AppendKernels : public KernelTest {
protected:
  /// Returns both caches after one llm.append_cache, by a table where there is one.
  std::vector<Numbers> append(const std::vector<Numbers> &arguments, const std::string &cache,
                              const std::string &k, const std::string &positions,
                              const std::string &attributes = "", const std::string &table = "") {
    std::string types = cache + ", " + cache + ", " + k + ", " + k + ", " + positions +
                        (table.empty() ? "" : ", " + table);
    std::string results = "(" + cache + ", " + cache + ")";
    return run("func.func @step(%a: " + cache + ", %b: " + cache + ", %k: " + k + ", %v: " + k +
                   ", %p: " + positions + (table.empty() ? "" : ", %t: " + table) + ") -> " +
                   results + " {\n  %x, %y = llm.append_cache %a, %b, %k, %v at(%p)" +
                   (table.empty() ? "" : " pages(%t)") + attributes + " : (" + types + ") -> " +
                   results + "\n  return %x, %y : " + cache + ", " + cache + "\n}",
               arguments);
  }
};

TEST_P(AppendKernels, AppendStoresRowsWithPositions) {
  // Sequence 0 gets rows 1 and 2; sequence 1 pauses; rows of two columns.
  Numbers a = {0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1}, k = {2, 3, 4, 5, 6, 7, 8, 9};
  std::vector<Numbers> r = append({a, a, k, k, {1, 2, -1, -1}}, tensor({2, 3, 2}),
                                  tensor({2, 2, 2}), tensor({2, 2}, "i32"));
  Numbers expected = {0, 0, 2, 3, 4, 5, 1, 1, 1, 1, 1, 1};
  EXPECT_EQ(r[0], expected);
  EXPECT_EQ(r[1], expected);
}

TEST_P(AppendKernels, AppendToARingKeepsTheLastRows) {
  // Four tokens from position 4 on in a ring of three, the last row none: of 4, 5, 6 all stay,
  // 6 % 3 = 0.
  std::vector<Numbers> r =
      append({{9, 9, 9}, {9, 9, 9}, {1, 2, 3, 4}, {5, 6, 7, 8}, {4, 5, 6, -1}}, tensor({1, 3, 1}),
             tensor({1, 4, 1}), tensor({1, 4}, "i32"), " {ring}");
  EXPECT_EQ(r[0], (Numbers{3, 1, 2}));
  EXPECT_EQ(r[1], (Numbers{7, 5, 6}));
  // All four: 4 gives its place to 7.
  r = append({{9, 9, 9}, {9, 9, 9}, {1, 2, 3, 4}, {5, 6, 7, 8}, {4, 5, 6, 7}}, tensor({1, 3, 1}),
             tensor({1, 4, 1}), tensor({1, 4}, "i32"), " {ring}");
  EXPECT_EQ(r[0], (Numbers{3, 4, 2}));
}

TEST_P(AppendKernels, AppendToPages) {
  // Positions 1 and 2 lie in pages 2 and 0; a page of -1 stores nothing.
  std::vector<Numbers> r = append(
      {Numbers(6, 0.0), Numbers(6, 0.0), {1, 2, 3, 4}, {5, 6, 7, 8}, {1, 2, 1, 2}, {2, 0, 1, -1}},
      tensor({3, 2, 1}), tensor({2, 2, 1}), tensor({2, 2}, "i32"), "", tensor({2, 2}, "i32"));
  EXPECT_EQ(r[0], (Numbers{2, 0, 0, 3, 0, 1}));
  EXPECT_EQ(r[1], (Numbers{6, 0, 0, 7, 0, 5}));
}

TEST_P(CacheKernels, PositionsOfNewTokens) {
  // Three of four, none, and as many as the context has room for.
  std::vector<Numbers> r = run(R"(
    func.func @step(%l: tensor<3xi32>, %c: tensor<3xi32>) -> (tensor<3x4xi32>, tensor<3x1xi32>) {
      %p = llm.positions %l counts(%c) {context = 9 : i64} : (tensor<3xi32>, tensor<3xi32>) -> tensor<3x4xi32>
      %d = llm.positions %l {context = 9 : i64} : (tensor<3xi32>) -> tensor<3x1xi32>
      return %p, %d : tensor<3x4xi32>, tensor<3x1xi32>
    })",
                               {{5, -1, 7}, {3, 4, 4}});
  EXPECT_EQ(r[0], (Numbers{5, 6, 7, -1, -1, -1, -1, -1, 7, 8, -1, -1}));
  EXPECT_EQ(r[1], (Numbers{5, -1, 7}));
}

TEST_P(CacheKernels, LastRowsOfSequences) {
  std::vector<Numbers> r =
      run(R"(
    func.func @step(%x: tensor<3x2x3xT>, %c: tensor<3xi32>) -> tensor<3x1x3xT> {
      %y = llm.last_rows %x, %c : (tensor<3x2x3xT>, tensor<3xi32>) -> tensor<3x1x3xT>
      return %y : tensor<3x1x3xT>
    })",
          {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}, {2, 1, 0}});
  EXPECT_EQ(r[0], (Numbers{4, 5, 6, 7, 8, 9, 13, 14, 15}));
}

TEST_P(CacheKernels, RopeTurnsByGivenPositions) {
  // The rows at positions 2 and 0 of another sequence, whose rows are in order.
  Numbers x = someNumbers(2 * 3 * 8, 1);
  Numbers given(x.begin() + 16, x.begin() + 24);
  given.insert(given.end(), x.begin(), x.begin() + 8);
  std::vector<Numbers> r = run(R"(
    func.func @step(%x: tensor<1x3x8xT>, %g: tensor<2x1x8xT>, %p: tensor<2x1xi32>) -> (tensor<1x3x8xT>, tensor<2x1x8xT>) {
      %y = llm.rope %x {heads = 2 : i64, theta = 100.0 : f64} : tensor<1x3x8xT>
      %z = llm.rope %g at(%p : tensor<2x1xi32>) {heads = 2 : i64, theta = 100.0 : f64} : tensor<2x1x8xT>
      return %y, %z : tensor<1x3x8xT>, tensor<2x1x8xT>
    })",
                               {Numbers(x.begin(), x.begin() + 24), given, {2, 0}});
  EXPECT_EQ(Numbers(r[1].begin(), r[1].begin() + 8), Numbers(r[0].begin() + 16, r[0].end()));
  EXPECT_EQ(Numbers(r[1].begin() + 8, r[1].end()), Numbers(r[0].begin(), r[0].begin() + 8));
}

// f64 is compared with transformers (test/EndToEnd/generate-*.test); rows are copied as bits.
INSTANTIATE_TEST_SUITE_P(Types, CacheKernels, ::testing::Values("f32", "bf16"),
                         [](const auto &info) { return info.param; });
INSTANTIATE_TEST_SUITE_P(Types, AppendKernels, ::testing::Values("bf16"),
                         [](const auto &info) { return info.param; });

} // namespace
