//===- LatentKernelsTest.cpp - Attention to latent rows against plain C++ --===//

#include "Check.h"

using namespace llmmem::test;

namespace {

class LatentKernels : public KernelTest {};

std::string tensor(std::initializer_list<int> shape, const char *element = "T") {
  std::string text = "tensor<";
  for (int extent : shape)
    text += std::to_string(extent) + "x";
  return text + element + ">";
}

//===----------------------------------------------------------------------===//
// Heads by their parts of a weight
//===----------------------------------------------------------------------===//

/// Rows [rows, heads * in] by rows `first` and on of each head's `ofHead` of a weight.
struct Product {
  int rows, heads, in, out, ofHead, first;
  bool inOut;

  int columns() const { return inOut ? out : in; }
  Numbers x() const { return someNumbers(rows * heads * in, 1); }
  Numbers weight() const { return someNumbers(heads * ofHead * columns(), 2); }

  std::string step() const {
    std::string x = tensor({1, rows, heads * in}), w = tensor({heads * ofHead, columns()}),
                y = tensor({1, rows, heads * out});
    return "func.func @step(%x: " + x + ", %w: " + w + ") -> " + y +
           " {\n %y = llm.head_linear %x, %w layout(" + (inOut ? "in_out" : "out_in") +
           ") {heads = " + std::to_string(heads) + " : i64, first = " + std::to_string(first) +
           " : i64} : (" + x + ", " + w + ") -> " + y + "\n return %y : " + y + "\n}";
  }

  Numbers expected() const {
    Numbers given = x(), w = weight(), y(rows * heads * out, 0.0);
    for (int r = 0; r < rows; ++r)
      for (int h = 0; h < heads; ++h)
        for (int o = 0; o < out; ++o)
          for (int i = 0; i < in; ++i) {
            int row = h * ofHead + first + (inOut ? i : o);
            y[(r * heads + h) * out + o] +=
                given[(r * heads + h) * in + i] * w[row * columns() + (inOut ? o : i)];
          }
    return y;
  }
};

TEST_P(LatentKernels, HeadsByFirstRowsOfAWeight) {
  Product p{3, 4, 6, 16, 11, 0, true};
  expectNear(run(p.step(), {p.x(), p.weight()})[0], p.expected(), tolerance());
}

TEST_P(LatentKernels, HeadsByLastRowsOfAWeight) {
  Product p{3, 4, 16, 5, 11, 6, false};
  expectNear(run(p.step(), {p.x(), p.weight()})[0], p.expected(), tolerance());
}

TEST_P(LatentKernels, HeadsOfManyRowsHaveTheBitsOfOneRow) {
  for (bool inOut : {true, false}) {
    Product many{20, 2, 32, 48, 80, 7, inOut}, one = many;
    one.rows = 1;
    Numbers x = many.x(), y = run(many.step(), {x, many.weight()})[0];
    expectNear(y, many.expected(), tolerance());
    Numbers last(x.end() - 64, x.end());
    EXPECT_EQ(run(one.step(), {last, many.weight()})[0], Numbers(y.end() - 96, y.end()));
  }
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Rows of `width` elements, of which the first `rank` are values.
struct Cache {
  int batch, seq, rows, heads, width, rank;
  std::vector<std::vector<int>> pages = {}; // of each sequence; rows is then that of a page

  int blocks(int ofPages) const { return pages.empty() ? batch : ofPages; }
  int place(int b, int p) const {
    return pages.empty() ? b * rows + p : pages[b][p / rows] * rows + p % rows;
  }
};

struct Tensors {
  Numbers q, row, rows, positions, table;
  std::vector<Numbers> all() const {
    std::vector<Numbers> list = {q, row, rows, positions};
    if (!table.empty())
      list.push_back(table);
    return list;
  }
};

Tensors someTensors(const Cache &c, const Numbers &positions, int pages = 0) {
  Tensors t{someNumbers(c.batch * c.seq * c.heads * c.width, 1),
            someNumbers(c.batch * c.seq * c.width, 2),
            someNumbers(c.blocks(pages) * c.rows * c.width, 3),
            positions,
            {}};
  for (const std::vector<int> &row : c.pages)
    t.table.insert(t.table.end(), row.begin(), row.end());
  return t;
}

/// softmax(q r^T / 2) r over the rows up to each position, of which `rank` elements are kept.
Numbers attention(const Cache &c, const Tensors &t) {
  Numbers out(c.batch * c.seq * c.heads * c.rank, 0.0);
  for (int token = 0; token < c.batch * c.seq; ++token)
    for (int h = 0; h < c.heads; ++h) {
      int b = token / c.seq, p = static_cast<int>(t.positions[token]),
          first = static_cast<int>(t.positions[b * c.seq]);
      const double *q = &t.q[(token * c.heads + h) * c.width];
      double total = 0;
      Numbers sum(c.rank, 0.0);
      for (int j = 0; j <= p; ++j) {
        const double *r = j < first ? &t.rows[c.place(b, j) * c.width]
                                    : &t.row[(b * c.seq + j - first) * c.width];
        double score = 0;
        for (int d = 0; d < c.width; ++d)
          score += 0.5 * q[d] * r[d];
        total += std::exp(score);
        for (int d = 0; d < c.rank; ++d)
          sum[d] += std::exp(score) * r[d];
      }
      for (int d = 0; d < c.rank && p >= 0; ++d)
        out[(token * c.heads + h) * c.rank + d] = sum[d] / total;
    }
  return out;
}

/// @step of one llm.latent_attention; with `held`, of rows of such numbers with scales.
std::string attentionStep(const Cache &c, int pages = 0, const char *held = nullptr) {
  const char *element = held ? held : "T";
  std::string q = tensor({c.batch, c.seq, c.heads * c.width}),
              row = tensor({c.batch, c.seq, c.width}, element),
              cache = tensor({c.blocks(pages), c.rows, c.width}, element),
              out = tensor({c.batch, c.seq, c.heads * c.rank}),
              positions = tensor({c.batch, c.seq}, "i32");
  std::string types = q + ", " + row + ", " + cache + ", " + positions;
  std::string arguments = "%q: " + q + ", %r: " + row + ", %c: " + cache + ", %p: " + positions,
              more;
  if (pages) {
    std::string table = tensor({c.batch, static_cast<int>(c.pages[0].size())}, "i32");
    types += ", " + table, arguments += ", %t: " + table, more += " pages(%t)";
  }
  if (held) {
    std::string ofRow = tensor({c.batch, c.seq, 1}), ofCache = tensor({c.batch, c.rows, 1});
    types += ", " + ofRow + ", " + ofCache;
    arguments += ", %s: " + ofRow + ", %u: " + ofCache, more += " scales(%s, %u)";
  }
  return "func.func @step(" + arguments + ") -> " + out +
         " {\n  %o = llm.latent_attention %q, %r cache(%c) at(%p)" + more +
         " {heads = " + std::to_string(c.heads) + " : i64, rank = " + std::to_string(c.rank) +
         " : i64, scale = 0.5 : f64} : (" + types + ") -> " + out + "\n  return %o : " + out +
         "\n}";
}

TEST_P(LatentKernels, AttentionReadsCacheAndNewRows) {
  // 70 and 3 tokens before two new ones, of which the second sequence has one: two blocks of rows.
  Cache c{2, 2, 80, 4, 6, 4};
  Tensors t = someTensors(c, {70, 71, 3, -1});
  expectNear(run(attentionStep(c), t.all())[0], attention(c, t), tolerance());
}

TEST_P(LatentKernels, AttentionOfMoreHeadsThanAnIterationTakes) {
  // 24 heads of whole vectors, as wide as those of published models: 512 + 64.
  Cache c{1, 1, 128, 24, 576, 512};
  Tensors t = someTensors(c, {100});
  for (double &x : t.q)
    x /= 16;
  expectNear(run(attentionStep(c), t.all())[0], attention(c, t), tolerance());
}

TEST_P(LatentKernels, AttentionToPages) {
  // Pages of 4 rows in any order; the second sequence has but one.
  Cache c{2, 1, 4, 2, 12, 8, {{5, 0, 3}, {2, -1, -1}}};
  Tensors t = someTensors(c, {9, 2}, 6);
  expectNear(run(attentionStep(c, 6), t.all())[0], attention(c, t), tolerance());
}

TEST_P(LatentKernels, AttentionDoesNotDependOnTheDivisionIntoSteps) {
  // Token 69 alone, and with the two before it: equal bits.
  Cache alone{1, 1, 80, 2, 24, 16}, together{1, 3, 80, 2, 24, 16};
  Tensors t = someTensors(together, {67, 68, 69});
  Numbers last = run(attentionStep(together), t.all())[0];
  Tensors one = someTensors(alone, {69});
  one.rows = t.rows;
  std::copy(t.row.begin(), t.row.begin() + 48, one.rows.begin() + 67 * 24);
  one.q.assign(t.q.end() - 48, t.q.end());
  one.row.assign(t.row.end() - 24, t.row.end());
  EXPECT_EQ(run(attentionStep(alone), one.all())[0], Numbers(last.end() - 32, last.end()));
}

TEST_P(LatentKernels, AttentionReadsWhatRowsOfBytesStandFor) {
  // Numbers of 8 bits, a scale each row; of bf16 elements are f32, so only f32 has equal bits.
  Cache c{1, 2, 80, 2, 24, 16};
  Tensors t = someTensors(c, {70, 71});
  std::vector<Numbers> held = {t.q, t.row, t.rows, t.positions, {0.25, 0.5}, Numbers(80)};
  for (int i = 0; i < 80; ++i)
    held[5][i] = 1.0 / (1 + i % 7);
  if (GetParam() != "f32")
    for (double &scale : held[5])
      scale = 0.125;
  for (int part : {1, 2}) {
    Numbers &elements = part == 1 ? t.row : t.rows;
    for (size_t i = 0; i < elements.size(); ++i) {
      held[part][i] = std::round(5 * elements[i]);
      elements[i] = static_cast<float>(held[part][i] * static_cast<float>(held[3 + part][i / 24]));
    }
  }
  EXPECT_EQ(run(attentionStep(c, 0, "i8"), held)[0], run(attentionStep(c), t.all())[0]);
}

//===----------------------------------------------------------------------===//
// New rows
//===----------------------------------------------------------------------===//

TEST_P(LatentKernels, AppendStoresRowsWithPositions) {
  // Sequence 0 gets rows 1 and 2; sequence 1 pauses; rows of two columns.
  std::string cache = tensor({2, 3, 2}), row = tensor({2, 2, 2}), p = tensor({2, 2}, "i32");
  std::vector<Numbers> r =
      run("func.func @step(%c: " + cache + ", %r: " + row + ", %p: " + p + ") -> " + cache +
              " {\n %x = llm.append_rows %c, %r at(%p) : (" + cache + ", " + row + ", " + p +
              ") -> " + cache + "\n return %x : " + cache + "\n}",
          {{0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1}, {2, 3, 4, 5, 6, 7, 8, 9}, {1, 2, -1, -1}});
  EXPECT_EQ(r[0], (Numbers{0, 0, 2, 3, 4, 5, 1, 1, 1, 1, 1, 1}));
}

TEST_P(LatentKernels, AppendToPages) {
  // Positions 1 and 2 lie in pages 2 and 0; a page of -1 stores nothing.
  std::string cache = tensor({3, 2, 1}), row = tensor({2, 2, 1}), p = tensor({2, 2}, "i32");
  std::vector<Numbers> r =
      run("func.func @step(%c: " + cache + ", %r: " + row + ", %p: " + p + ", %t: " + p + ") -> " +
              cache + " {\n %x = llm.append_rows %c, %r at(%p) pages(%t) : (" + cache + ", " + row +
              ", " + p + ", " + p + ") -> " + cache + "\n return %x : " + cache + "\n}",
          {Numbers(6, 0.0), {1, 2, 3, 4}, {1, 2, 1, 2}, {2, 0, 1, -1}});
  EXPECT_EQ(r[0], (Numbers{2, 0, 0, 3, 0, 1}));
}

//===----------------------------------------------------------------------===//
// Attention by tensor cores
//===----------------------------------------------------------------------===//

/// Rows and values of whole fragments, which tensor cores multiply where elements have 16 bits.
class LatentFragments : public KernelTest {
protected:
  /// Token `position` with the new rows before it, and alone: equal bits, whatever the batch.
  void expectEqualBits(int rows, int position, int heads = 2) {
    Cache alone{1, 1, rows, heads, 48, 32}, together{1, 3, rows, heads, 48, 32};
    Tensors t = someTensors(together, {position - 2.0, position - 1.0, 1.0 * position});
    Numbers last = run(attentionStep(together), t.all())[0];
    Tensors one = someTensors(alone, {1.0 * position});
    one.rows = t.rows;
    std::copy(t.row.begin(), t.row.begin() + 96, one.rows.begin() + (position - 2) * 48);
    one.q.assign(t.q.end() - heads * 48, t.q.end());
    one.row.assign(t.row.end() - 48, t.row.end());
    EXPECT_EQ(run(attentionStep(alone), one.all())[0],
              Numbers(last.end() - heads * 32, last.end()));
  }

  /// `position` tokens in a short cache, and in a long one.
  void expectBitsOfLengths(int position, int heads, int shortRows, int longRows) {
    Cache shorter{1, 1, shortRows, heads, 48, 32}, longer{1, 1, longRows, heads, 48, 32};
    Tensors t = someTensors(longer, {1.0 * position});
    Numbers bits = run(attentionStep(longer), t.all())[0];
    t.rows.resize(shortRows * 48);
    EXPECT_EQ(run(attentionStep(shorter), t.all())[0], bits);
  }

  /// Rows of bytes with a scale each, of the cached ones and of the two new ones.
  void expectRowsOfBytes(int position, int heads) {
    Cache c{1, 2, position + 10, heads, 48, 32};
    Tensors t = someTensors(c, {1.0 * position, 1.0 + position});
    std::vector<Numbers> held = {t.q,         t.row,       t.rows,
                                 t.positions, {0.25, 0.5}, Numbers(position + 10)};
    for (int i = 0; i < position + 10; ++i)
      held[5][i] = 1.0 / (1 << i % 4);
    for (int part : {1, 2}) {
      Numbers &elements = part == 1 ? t.row : t.rows;
      for (size_t i = 0; i < elements.size(); ++i) {
        held[part][i] = std::round(5 * elements[i]);
        elements[i] = held[part][i] * held[3 + part][i / 48];
      }
    }
    expectNear(run(attentionStep(c, 0, "i8"), held)[0], attention(c, t), tolerance());
  }
};

TEST_P(LatentFragments, HeadsInGroups) {
  // 70 heads are two groups of 35, three strips of 16 each; values of 48 elements are as many as
  // two warps have, and 80 elements of a row no power of two.
  Cache c{2, 2, 80, 70, 80, 48};
  Tensors t = someTensors(c, {70, 71, 3, -1});
  expectNear(run(attentionStep(c), t.all())[0], attention(c, t), tolerance());
}

TEST_P(LatentFragments, GroupsOfUnequalHeads) {
  // 129 heads: three groups, of 43, as 64 are the most; lines of a power of two are swizzled.
  Cache c{1, 1, 40, 129, 64, 16};
  Tensors t = someTensors(c, {37});
  expectNear(run(attentionStep(c), t.all())[0], attention(c, t), tolerance());
}

TEST_P(LatentFragments, LastGroupIsSmaller) {
  // 65 heads: 33 and 32.
  Cache c{1, 1, 40, 65, 32, 32};
  Tensors t = someTensors(c, {33});
  expectNear(run(attentionStep(c), t.all())[0], attention(c, t), tolerance());
}

TEST_P(LatentFragments, Pages) {
  Cache c{2, 1, 16, 5, 48, 32, {{5, 0, 3}, {2, -1, -1}}};
  Tensors t = someTensors(c, {40, 2}, 6);
  expectNear(run(attentionStep(c, 6), t.all())[0], attention(c, t), tolerance());
}

TEST_P(LatentFragments, PartsOfACache) {
  // Parts of 1024 positions: the first sequence has rows in two of three, the second in one, the
  // third none.
  Cache c{3, 1, 2100, 3, 32, 16};
  Tensors t = someTensors(c, {1100, 40, -1});
  expectNear(run(attentionStep(c), t.all())[0], attention(c, t), tolerance());
}

TEST_P(LatentFragments, PartsOfManyTokensInSeveralLaunches) {
  // 200 tokens of three parts are more than a launch takes; three of them have positions.
  Cache c{1, 200, 2100, 2, 32, 16};
  Numbers positions(200, -1);
  positions[0] = 1022, positions[1] = 1023, positions[2] = 1024;
  Tensors t = someTensors(c, positions);
  expectNear(run(attentionStep(c), t.all())[0], attention(c, t), tolerance());
}

TEST_P(LatentFragments, BitsDoNotDependOnTheDivisionIntoSteps) { expectEqualBits(80, 65); }
TEST_P(LatentFragments, BitsOfPartsDoNotDependOnTheDivisionIntoSteps) {
  expectEqualBits(1100, 1025);
}

TEST_P(LatentFragments, BitsDoNotDependOnTheLengthOfACache) {
  // 90 tokens in a cache of one part, and in one of two.
  expectBitsOfLengths(90, 2, 100, 1100);
}

TEST_P(LatentFragments, RowsOfBytes) { expectRowsOfBytes(70, 20); }

// On a GPU more heads than 16 are strips of one block, and more than 64 two groups, which read the
// same rows.

TEST_P(LatentFragments, OneGroupOfManyHeads) {
  // 20 heads have five parts of 1024 positions, 40 one.
  Cache c{2, 1, 4300, 20, 32, 16}, shorter{1, 1, 320, 40, 48, 32};
  Tensors t = someTensors(c, {4250, 40}), u = someTensors(shorter, {300});
  expectNear(run(attentionStep(c), t.all())[0], attention(c, t), tolerance());
  expectNear(run(attentionStep(shorter), u.all())[0], attention(shorter, u), tolerance());
}

TEST_P(LatentFragments, BitsOfOneGroupDoNotDependOnTheDivisionIntoSteps) {
  expectEqualBits(300, 257, 40);
}

TEST_P(LatentFragments, GroupsReadRowsOfManyRounds) {
  // 128 heads, whole groups; 300 tokens are five rounds of 64 positions, of which the last is not
  // full. A second sequence has one row, and the third none.
  Cache c{3, 1, 320, 128, 80, 64};
  Tensors t = someTensors(c, {300, 0, -1});
  expectNear(run(attentionStep(c), t.all())[0], attention(c, t), tolerance());
}

TEST_P(LatentFragments, GroupsInPages) {
  Cache c{2, 1, 16, 66, 48, 32, {{5, 0, 3}, {2, -1, -1}}};
  Tensors t = someTensors(c, {40, 2}, 6);
  expectNear(run(attentionStep(c, 6), t.all())[0], attention(c, t), tolerance());
}

TEST_P(LatentFragments, GroupsReadRowsOfBytes) { expectRowsOfBytes(150, 66); }
TEST_P(LatentFragments, BitsOfGroupsDoNotDependOnTheDivisionIntoSteps) {
  expectEqualBits(80, 65, 66);
  expectEqualBits(300, 257, 66);
}

TEST_P(LatentFragments, BitsOfGroupsDoNotDependOnTheLengthOfACache) {
  // One cache is a part of 2048 positions, which has no sums in the workspace, and one has five
  // parts.
  expectBitsOfLengths(90, 66, 100, 8200);
}

TEST_P(LatentFragments, PartsOfGroups) {
  // Five parts, of which the first sequence has rows in all.
  Cache c{2, 1, 8300, 66, 32, 16};
  Tensors t = someTensors(c, {8250, 40});
  expectNear(run(attentionStep(c), t.all())[0], attention(c, t), tolerance());
}

INSTANTIATE_TEST_SUITE_P(Types, LatentFragments, ::testing::Values("f32", "bf16", "f16"),
                         [](const auto &info) { return info.param; });

// f64 is compared with transformers (test/EndToEnd/generate-deepseek*.test).
INSTANTIATE_TEST_SUITE_P(Types, LatentKernels, ::testing::Values("f32", "bf16"),
                         [](const auto &info) { return info.param; });

} // namespace
