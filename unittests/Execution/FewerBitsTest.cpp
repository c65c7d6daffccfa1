//===- FewerBitsTest.cpp - What is held in fewer bits, element by element --===//

#include "Check.h"
#include "ExecutionContext.h"
#include "llmmem/Execution/PackNumbers.h"
#include "mlir/AsmParser/AsmParser.h"
#include <limits>

using namespace llmmem;
using namespace llmmem::test;

namespace {

mlir::Type typeOf(const std::string &element) {
  return mlir::parseType(element, &executionContext());
}

/// The number as a tensor of `element` holds it.
double rounded(const std::string &element, double number) {
  double bytes = 0;
  writeElement(typeOf(element), &bytes, 0, number);
  return readElement(typeOf(element), &bytes, 0);
}

std::string tensor(std::initializer_list<int64_t> shape, const std::string &element) {
  std::string text = "tensor<";
  for (int64_t extent : shape)
    text += std::to_string(extent) + "x";
  return text + element + ">";
}

/// A matrix in fewer bits, and what its elements are: products, rounded to f32.
struct Held {
  Numbers numbers, scales, zeros, elements;
};

Held someHeld(const std::string &held, const std::string &computed, int64_t count, int64_t group) {
  Held made;
  const bool hasZeros = held == "i4";
  const double most = held == "i8" ? 127 : held == "f8E4M3FN" ? 448 : 57344;
  for (double number : someNumbers(count, 7))
    made.numbers.push_back(hasZeros ? std::floor(8 * (number + 1)) : rounded(held, number * most));
  for (double number : someNumbers(count / group, 8))
    made.scales.push_back(rounded(computed, 0.37 * std::abs(number) / (hasZeros ? 15 : most)));
  made.scales[0] = 0; // a group of zeros
  if (hasZeros)
    for (double number : someNumbers(count / group, 9))
      made.zeros.push_back(std::floor(8 * (number + 1)));
  for (int64_t i = 0; i < count; ++i) {
    double zero = hasZeros ? made.zeros[i / group] : 0;
    made.elements.push_back(static_cast<float>((made.numbers[i] - zero) * made.scales[i / group]));
  }
  return made;
}

std::vector<Numbers> withHeld(std::vector<Numbers> arguments, const Held &held) {
  arguments.insert(arguments.end(), {held.numbers, held.scales});
  if (!held.zeros.empty())
    arguments.push_back(held.zeros);
  return arguments;
}

//===----------------------------------------------------------------------===//
// Products and tables
//===----------------------------------------------------------------------===//

/// Parameters: the type of the numbers, and of what is computed with.
class PackedKernels : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {
protected:
  std::string held() const { return std::get<0>(GetParam()); }
  std::string computed() const { return std::get<1>(GetParam()); }
  std::string zeros() const { return held() == "i4" ? " zeros(%z)" : ""; }

  /// `, %w: ..., %s: ...` of a stored [rows, columns], and the types alone.
  std::pair<std::string, std::string> heldArguments(int64_t rows, int64_t columns, int64_t group,
                                                    const std::string &between = "") const {
    std::string weight = tensor({rows, columns}, held()),
                scales = tensor({rows, columns / group}, computed()),
                zero = tensor({rows, columns / group}, "i4");
    bool hasZeros = held() == "i4";
    return {", %w: " + weight + ", %s: " + scales + (hasZeros ? ", %z: " + zero : ""),
            ", " + weight + between + ", " + scales + (hasZeros ? ", " + zero : "")};
  }

  void expectBits(int64_t rows, int64_t in, int64_t out, int64_t group, bool isInOut,
                  const std::string &processor = "") const {
    Held weight = someHeld(held(), computed(), in * out, group);
    Numbers x = someNumbers(rows * in, 1), b = someNumbers(out, 2), expected;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t o = 0; o < out; ++o) {
        float sum = 0;
        for (int64_t i = 0; i < in; ++i)
          sum = std::fma(static_cast<float>(x[row * in + i]),
                         static_cast<float>(weight.elements[isInOut ? i * out + o : o * in + i]),
                         sum);
        expected.push_back(rounded(computed(), static_cast<float>(sum + b[o])));
      }
    std::string X = tensor({rows, in}, computed()), B = tensor({out}, computed()),
                Y = tensor({rows, out}, computed());
    auto [arguments, types] =
        heldArguments(isInOut ? in : out, isInOut ? out : in, group, ", " + B);
    std::string text = "func.func @step(%x: " + X + ", %b: " + B + arguments + ") -> " + Y +
                       " {\n %y = llm.linear %x, %w bias(%b) scales(%s)" + zeros() + " layout(" +
                       (isInOut ? "in_out" : "out_in") + ") : (" + X + types + ") -> " + Y +
                       "\n return %y : " + Y + " }";
    EXPECT_EQ(runStep(text, withHeld({x, b}, weight), {.processor = processor})[0], expected)
        << rows << " x " << in << " x " << out << ", groups of " << group
        << (isInOut ? ", in_out" : "");
  }
};

TEST_P(PackedKernels, ProductsHaveTheBitsOfTheirElements) {
  // Few rows and many; columns that fill no vector or no strip, and terms that fill no step.
  expectBits(1, 64, 37, 32, false);
  expectBits(5, 256, 18, 128, false);
  expectBits(9, 192, 18, 96, false);
  expectBits(1, 384, 70, 64, false);
  expectBits(2, 256, 331, 128, false);
  expectBits(1, 35, 256, 128, true);
  expectBits(8, 11, 224, 32, true);
  expectBits(3, 20, 416, 32, true);
  expectBits(9, 11, 96, 96, true);
}

#ifdef __x86_64__
// Machines with vectors of 256 bits and no AVX-512 give the same bits.
TEST_P(PackedKernels, ProductsOfFewRowsHaveTheSameBitsOnOtherMachines) {
  for (int64_t group : {32, 128})
    expectBits(2, 256, 77, group, false, "x86-64-v3");
}
#endif

/// Tests that each of `groups` weights, which share buffers of numbers, scales and zero points, has
/// the bits that it has alone.
TEST_P(PackedKernels, GroupsHaveTheBitsOfTheirOwnWeights) {
  constexpr int64_t groups = 3, out = 6, in = 96, group = 32;
  for (int64_t rows : {1, 9, 33}) {
    Held all = someHeld(held(), computed(), groups * out * in, group);
    Numbers x = someNumbers(groups * rows * in, 1), expected;
    for (int64_t row = 0; row < groups * rows; ++row)
      for (int64_t o = 0; o < out; ++o) {
        float sum = 0;
        const double *weight = all.elements.data() + (row / rows * out + o) * in;
        for (int64_t i = 0; i < in; ++i)
          sum = std::fma(static_cast<float>(x[row * in + i]), static_cast<float>(weight[i]), sum);
        expected.push_back(rounded(computed(), sum));
      }
    bool hasZeros = held() == "i4";
    std::string X = tensor({groups, rows, in}, computed()),
                Y = tensor({groups, rows, out}, computed()), W = tensor({groups, out, in}, held()),
                S = tensor({groups, out, in / group}, computed()),
                Z = tensor({groups, out, in / group}, "i4");
    std::string text = "func.func @step(%x: " + X + ", %w: " + W + ", %s: " + S +
                       (hasZeros ? ", %z: " + Z : "") + ") -> " + Y +
                       " {\n %y = llm.grouped_linear %x, %w scales(%s)" + zeros() +
                       " layout(out_in) : (" + X + ", " + W + ", " + S +
                       (hasZeros ? ", " + Z : "") + ") -> " + Y + "\n return %y : " + Y + " }";
    EXPECT_EQ(runStep(text, withHeld({x}, all))[0], expected) << rows << " rows";
  }
}

/// The rows of a head after the first eight of sixteen, as latent attention reads its weight.
TEST_P(PackedKernels, HeadsHaveTheBitsOfTheirPartOfAWeight) {
  constexpr int64_t heads = 3, rowsOfHead = 16, first = 8, columns = 64, group = 32;
  Held all = someHeld(held(), computed(), heads * rowsOfHead * columns, group);
  Numbers x = someNumbers(2 * heads * columns, 1), expected;
  for (int64_t row = 0; row < 2; ++row)
    for (int64_t head = 0; head < heads; ++head)
      for (int64_t o = 0; o < rowsOfHead - first; ++o) {
        float sum = 0;
        const double *weight = all.elements.data() + (head * rowsOfHead + first + o) * columns;
        for (int64_t i = 0; i < columns; ++i)
          sum = std::fma(static_cast<float>(x[(row * heads + head) * columns + i]),
                         static_cast<float>(weight[i]), sum);
        expected.push_back(rounded(computed(), sum));
      }
  std::string X = tensor({1, 2, heads * columns}, computed()),
              Y = tensor({1, 2, heads * (rowsOfHead - first)}, computed());
  auto [arguments, types] = heldArguments(heads * rowsOfHead, columns, group);
  std::string text = "func.func @step(%x: " + X + arguments + ") -> " + Y +
                     " {\n %y = llm.head_linear %x, %w scales(%s)" + zeros() +
                     " layout(out_in) {heads = 3 : i64, first = 8 : i64} : (" + X + types +
                     ") -> " + Y + "\n return %y : " + Y + " }";
  EXPECT_EQ(runStep(text, withHeld({x}, all))[0], expected);
}

TEST_P(PackedKernels, LookedUpRowsAreRoundedOnce) {
  constexpr int64_t rows = 5, width = 96, group = 32;
  Held table = someHeld(held(), computed(), rows * width, group);
  Numbers ids = {3, 0, 4, 9}, expected; // one beyond the table
  for (double id : ids)
    for (int64_t j = 0; j < width; ++j)
      expected.push_back(
          rounded(computed(), table.elements[std::min<int64_t>(id, rows - 1) * width + j]));
  std::string Y = tensor({2, 2, width}, computed());
  auto [arguments, types] = heldArguments(rows, width, group);
  std::string text = "func.func @step(%i: tensor<2x2xi32>" + arguments + ") -> " + Y +
                     " {\n %y = llm.embedding %i, %w scales(%s)" + zeros() + " : (tensor<2x2xi32>" +
                     types + ") -> " + Y + "\n return %y : " + Y + " }";
  EXPECT_EQ(runStep(text, withHeld({ids}, table))[0], expected);
}

using Formats = std::tuple<std::string, std::string>;
std::string nameOf(const ::testing::TestParamInfo<Formats> &info) {
  return std::get<0>(info.param) + "_" + std::get<1>(info.param);
}

INSTANTIATE_TEST_SUITE_P(Types, PackedKernels,
                         ::testing::Values(Formats("i4", "f32"), Formats("i4", "bf16"),
                                           Formats("i8", "f32"), Formats("i8", "bf16"),
                                           Formats("f8E4M3FN", "bf16"), Formats("f8E5M2", "f32")),
                         nameOf);

//===----------------------------------------------------------------------===//
// Products of rounded activations
//===----------------------------------------------------------------------===//

class RoundedActivations : public PackedKernels {
protected:
  /// A product of `rows` rows, as llm.linear's description says, in f32; and in f64 from the same
  /// integers.
  struct Product {
    Numbers bits, exact;
  };
  struct Sizes {
    int64_t rows, in, out, group, activations;
    bool isInOut;
  };

  static Product multiply(const Sizes &of, const Numbers &x, const Held &weight, const Numbers &b,
                          const std::string &computed) {
    Product made;
    for (int64_t row = 0; row < of.rows; ++row)
      for (int64_t o = 0; o < of.out; ++o) {
        float sum = 0;
        double exact = 0;
        for (int64_t first = 0; first < of.in; first += of.activations)
          addGroup(of, x.data() + row * of.in, weight, o, first, sum, exact);
        made.bits.push_back(rounded(computed, static_cast<float>(sum + b[o])));
        made.exact.push_back(exact + b[o]);
      }
    return made;
  }

  static void addGroup(const Sizes &of, const double *x, const Held &weight, int64_t o,
                       int64_t first, float &sum, double &exact) {
    std::vector<float> factors;
    float largest = 0;
    auto place = [&](int64_t i) { return of.isInOut ? i * of.out + o : o * of.in + i; };
    for (int64_t i = first; i < first + of.activations; ++i) {
      double scale = of.isInOut ? weight.scales[place(i) / of.group] : 1;
      factors.push_back(static_cast<float>(x[i] * scale));
      largest = std::max(largest, std::abs(factors.back()));
    }
    float step = largest / 127;
    int64_t integer = 0;
    for (int64_t i = first; i < first + of.activations; ++i) {
      float quotient = step == 0 ? 0 : factors[i - first] / step;
      double zero = weight.zeros.empty() ? 0 : weight.zeros[place(i) / of.group];
      integer += static_cast<int64_t>(std::nearbyint(std::clamp(quotient, -127.0f, 127.0f)) *
                                      (weight.numbers[place(i)] - zero));
    }
    float scale = of.isInOut ? 1 : static_cast<float>(weight.scales[place(first) / of.group]);
    sum = std::fma(static_cast<float>(integer), step * scale, sum);
    exact += static_cast<double>(integer) * step * scale;
  }

  void expectProduct(const Sizes &of, bool areLargest = false) const {
    Held weight = someHeld(held(), computed(), of.in * of.out, of.group);
    Numbers x = someNumbers(of.rows * of.in, 1), b = someNumbers(of.out, 2);
    std::fill(x.begin(), x.begin() + of.activations, areLargest ? 1.0 : 0.0); // or a group of zeros
    if (areLargest) {
      std::fill(weight.numbers.begin(), weight.numbers.end(), held() == "i4" ? 15.0 : -128.0);
      std::fill(weight.zeros.begin(), weight.zeros.end(), 0.0);
    }
    for (double &number : x)
      number = rounded(computed(), number);
    for (double &number : b)
      number = rounded(computed(), number);
    std::string X = tensor({of.rows, of.in}, computed()), B = tensor({of.out}, computed()),
                Y = tensor({of.rows, of.out}, computed());
    auto [arguments, types] =
        heldArguments(of.isInOut ? of.in : of.out, of.isInOut ? of.out : of.in, of.group, ", " + B);
    std::string text = "func.func @step(%x: " + X + ", %b: " + B + arguments + ") -> " + Y +
                       " {\n %y = llm.linear %x, %w bias(%b) scales(%s)" + zeros() + " layout(" +
                       (of.isInOut ? "in_out" : "out_in") +
                       ") {activation_group = " + std::to_string(of.activations) + " : i64} : (" +
                       X + types + ") -> " + Y + "\n return %y : " + Y + " }";
    Numbers found = runStep(text, withHeld({x, b}, weight), {.threads = {1, 2}})[0];
    Product expected = multiply(of, x, weight, b, computed());
    SCOPED_TRACE(testing::Message() << of.rows << " x " << of.in << " x " << of.out);
    EXPECT_EQ(found, expected.bits);
    expectNear(found, expected.exact, toleranceOf(computed()));
  }
};

TEST_P(RoundedActivations, ProductsAreThoseOfTheIntegers) {
  expectProduct(
      {.rows = 1, .in = 256, .out = 37, .group = 128, .activations = 64, .isInOut = false});
  expectProduct(
      {.rows = 35, .in = 128, .out = 24, .group = 128, .activations = 128, .isInOut = false});
  expectProduct(
      {.rows = 1, .in = 512, .out = 130, .group = 256, .activations = 256, .isInOut = false});
  expectProduct(
      {.rows = 1, .in = 384, .out = 25, .group = 128, .activations = 128, .isInOut = false});
  expectProduct(
      {.rows = 2, .in = 768, .out = 72, .group = 128, .activations = 64, .isInOut = false});
  expectProduct(
      {.rows = 1, .in = 192, .out = 640, .group = 128, .activations = 64, .isInOut = true});
  expectProduct(
      {.rows = 3, .in = 256, .out = 288, .group = 32, .activations = 256, .isInOut = true});
}

/// Sums of numbers of 4 bits are held in 16 bits, which the largest sums fill.
TEST_P(RoundedActivations, TheLargestSumsAreExact) {
  for (bool isInOut : {false, true})
    expectProduct(
        {.rows = 1, .in = 256, .out = 256, .group = 256, .activations = 256, .isInOut = isInOut},
        /*areLargest=*/true);
}

INSTANTIATE_TEST_SUITE_P(Types, RoundedActivations,
                         ::testing::Values(Formats("i4", "f32"), Formats("i4", "bf16"),
                                           Formats("i8", "f32"), Formats("i8", "bf16")),
                         nameOf);

//===----------------------------------------------------------------------===//
// llm.pack
//===----------------------------------------------------------------------===//

class PackKernels : public PackedKernels {};

/// Groups of 32: zeros; ties; the largest and the smallest numbers; some of any size.
Numbers extremeRows(const std::string &computed) {
  Numbers x(32, 0.0);
  for (int i = 0; i < 32; ++i)
    x.push_back(i == 0 ? 127.0 : i - 15.5);
  for (int i = 0; i < 32; ++i)
    x.push_back(rounded(computed, (i % 2 ? -1.0 : 1.0) * std::ldexp(1.5, 126 - 8 * i)));
  for (int i = 0; i < 32; ++i)
    x.push_back(rounded(computed, std::ldexp(1.0 + i / 32.0, -140)));
  for (double number : someNumbers(64, 3))
    x.push_back(rounded(computed, number * 1.37));
  return x;
}

TEST_P(PackKernels, RoundsToNearestEven) {
  constexpr int64_t group = 32;
  const double most = held() == "i8" ? 127 : held() == "f8E4M3FN" ? 448 : 57344;
  Numbers x = extremeRows(computed()), numbers, scales;
  for (size_t first = 0; first < x.size(); first += group) {
    double largest = 0;
    for (int64_t i = 0; i < group; ++i)
      largest = std::max(largest, std::abs(x[first + i]));
    auto scale = static_cast<float>(
        rounded(computed(), static_cast<float>(largest) / static_cast<float>(most)));
    scales.push_back(scale);
    for (int64_t i = 0; i < group; ++i) {
      double value = scale == 0 ? 0 : static_cast<float>(x[first + i]) / scale;
      value = std::clamp(value, -most, most);
      numbers.push_back(held() == "i8" ? std::nearbyint(value) : rounded(held(), value));
    }
  }
  auto size = static_cast<int64_t>(x.size());
  std::string X = tensor({1, size}, computed()), P = tensor({1, size}, held()),
              S = tensor({1, size / group}, computed());
  std::vector<Numbers> r = runStep("func.func @step(%x: " + X + ") -> (" + P + ", " + S +
                                       ") {\n %p, %s = llm.pack %x : " + X + " -> " + P + ", " + S +
                                       "\n return %p, %s : " + P + ", " + S + " }",
                                   {x});
  EXPECT_EQ(r[1], scales);
  EXPECT_EQ(r[0], numbers);
}

TEST_P(PackKernels, UnpacksWhatNumbersStandFor) {
  constexpr int64_t group = 40, size = 6 * group; // no whole vectors
  Held rows = someHeld(held(), computed(), size, group);
  std::string X = tensor({2, size / 2}, computed()), P = tensor({2, size / 2}, held()),
              S = tensor({2, 3}, computed());
  Numbers found = runStep("func.func @step(%p: " + P + ", %s: " + S + ") -> " + X +
                              " {\n %x = llm.unpack %p, %s : " + P + ", " + S + " -> " + X +
                              "\n return %x : " + X + " }",
                          {rows.numbers, rows.scales})[0];
  for (int64_t i = 0; i < size; ++i)
    EXPECT_EQ(found[i], rounded(computed(), rows.elements[i])) << "element " << i;
}

/// @step of attention of two tokens, after 70 in caches, by rows of one type.
std::string attentionStep(const std::string &rows, const std::string &computed, bool hasScales,
                          bool hasSinks) {
  std::string q = tensor({1, 2, 96}, computed), k = tensor({1, 2, 48}, rows),
              cache = tensor({1, 80, 48}, rows), ofRows = tensor({1, 2, 2}, computed),
              ofCache = tensor({1, 80, 2}, computed), sinks = tensor({4}, computed);
  std::string scales =
      hasScales ? ", " + ofRows + ", " + ofRows + ", " + ofCache + ", " + ofCache : "";
  return "func.func @step(%q: " + q + ", %k: " + k + ", %v: " + k + ", %c: " + cache +
         ", %d: " + cache + ", %p: tensor<1x2xi32>" + (hasSinks ? ", %z: " + sinks : "") +
         (hasScales
              ? ", %s: " + ofRows + ", %t: " + ofRows + ", %u: " + ofCache + ", %w: " + ofCache
              : "") +
         ") -> " + q + " {\n %o = llm.cached_attention %q, %k, %v caches(%c, %d) at(%p)" +
         (hasSinks ? " sinks(%z)" : "") + (hasScales ? " scales(%s, %t, %u, %w)" : "") +
         " {heads = 4 : i64, kv_heads = 2 : i64, scale = 0.5 : f64} : (" + q + ", " + k + ", " + k +
         ", " + cache + ", " + cache + ", tensor<1x2xi32>" + (hasSinks ? ", " + sinks : "") +
         scales + ") -> " + q + "\n return %o : " + q + "\n}";
}

TEST_P(PackKernels, AttentionReadsWhatRowsStandFor) {
  constexpr int64_t size = 24, fresh = 2 * 48, rows = 80 * 48;
  Held k = someHeld(held(), computed(), fresh, size), v = k,
       keys = someHeld(held(), computed(), rows, size), values = keys;
  std::reverse(v.numbers.begin(), v.numbers.end());
  for (int64_t i = 0; i < fresh; ++i)
    v.elements[i] = static_cast<float>(v.numbers[i] * v.scales[i / size]);
  Numbers q = someNumbers(2 * 96, 4);
  std::vector<Numbers> plain = {q,       k.elements, v.elements, keys.elements, values.elements,
                                {70, 71}};
  std::vector<Numbers> packed = {q, k.numbers, v.numbers, keys.numbers, values.numbers, {70, 71}};
  for (bool hasSinks : {false, true}) {
    std::vector<Numbers> theirs = plain, ours = packed;
    if (hasSinks)
      theirs.push_back({0.5, -1, 2, 0}), ours.push_back(theirs.back());
    ours.insert(ours.end(), {k.scales, v.scales, keys.scales, values.scales});
    Numbers expected = runStep(attentionStep("f32", "f32", false, hasSinks), theirs)[0];
    Numbers actual = runStep(attentionStep(held(), computed(), true, hasSinks), ours)[0];
    if (computed() == "f32")
      EXPECT_EQ(actual, expected);
    else
      for (size_t i = 0; i < actual.size(); ++i)
        EXPECT_EQ(actual[i], rounded(computed(), expected[i])) << "element " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, PackKernels,
                         ::testing::Values(Formats("i8", "f32"), Formats("i8", "bf16"),
                                           Formats("f8E4M3FN", "f32"), Formats("f8E5M2", "bf16")),
                         nameOf);

//===----------------------------------------------------------------------===//
// Weights that are loaded
//===----------------------------------------------------------------------===//

TEST(PackNumbers, SmallFloatsAreRoundedAsTheirTypeSays) {
  for (const char *element : {"f8E4M3FN", "f8E5M2"}) {
    const double most = element == std::string("f8E4M3FN") ? 448 : 57344;
    // Every number below the largest, every middle between two, and its neighbours.
    for (int bits = 0; bits < 0x7B; ++bits) {
      auto low = static_cast<uint8_t>(bits), high = static_cast<uint8_t>(bits + 1);
      double a = readElement(typeOf(element), &low, 0), b = readElement(typeOf(element), &high, 0);
      for (double value : {a, (a + b) / 2, std::nextafter((a + b) / 2, 0.0),
                           std::nextafter((a + b) / 2, most), -(a + b) / 2}) {
        uint8_t expected = 0;
        writeElement(typeOf(element), &expected, 0, value);
        EXPECT_EQ(roundToSmallFloat(typeOf(element), value), expected) << element << " " << value;
      }
    }
    uint8_t largest = roundToSmallFloat(typeOf(element), 1e30);
    EXPECT_EQ(readElement(typeOf(element), &largest, 0), most);
  }
}

PackedBytes bytesFor(const std::string &element, int64_t group, std::vector<uint8_t> &numbers,
                     std::vector<float> &scales, std::vector<uint8_t> &zeros) {
  PackedBytes bytes;
  bytes.element = typeOf(element);
  bytes.group = group;
  bytes.numbers = numbers.data();
  bytes.scales = scales.data();
  bytes.zeros = zeros.data();
  return bytes;
}

TEST(PackNumbers, IntegersCountFromZero) {
  std::vector<uint8_t> numbers(4), zeros;
  std::vector<float> scales(1);
  PackedBytes bytes = bytesFor("i8", 4, numbers, scales, zeros);
  ASSERT_TRUE(packGroup(bytes, 0, {0.5, -1.0, 0.25, 0.0}));
  EXPECT_EQ(scales[0], static_cast<float>(1.0 / 127));
  EXPECT_EQ((Numbers{bytes.numberAt(0), bytes.numberAt(1), bytes.numberAt(2), bytes.numberAt(3)}),
            (Numbers{64, -127, 32, 0}));
}

TEST(PackNumbers, NibblesCountFromTheirZeroPoint) {
  // From -1 to 2 in 15 steps of 0.2: zero is at 5. Neighbouring groups share bytes of zero points.
  std::vector<uint8_t> numbers(4), zeros(1);
  std::vector<float> scales(2);
  PackedBytes bytes = bytesFor("i4", 4, numbers, scales, zeros);
  ASSERT_TRUE(packGroup(bytes, 0, {-1.0, 2.0, 0.0, 0.29}));
  ASSERT_TRUE(packGroup(bytes, 1, {3.0, 6.0, 7.5, 0.1})); // all above 0: from 0 on
  EXPECT_EQ(zeros[0], 5);
  EXPECT_EQ(scales[0], 0.2f);
  EXPECT_EQ(scales[1], 0.5f);
  EXPECT_EQ((Numbers{bytes.numberAt(0), bytes.numberAt(1), bytes.numberAt(2), bytes.numberAt(3)}),
            (Numbers{-5, 10, 0, 1}));
  EXPECT_EQ((Numbers{bytes.numberAt(4), bytes.numberAt(5), bytes.numberAt(6), bytes.numberAt(7)}),
            (Numbers{6, 12, 15, 0}));
}

TEST(PackNumbers, ErrorIsHalfAStep) {
  for (const char *element : {"i4", "i8"}) {
    Numbers weights = someNumbers(128, 5);
    std::vector<uint8_t> numbers(128), zeros(1);
    std::vector<float> scales(1);
    PackedBytes bytes = bytesFor(element, 128, numbers, scales, zeros);
    ASSERT_TRUE(packGroup(bytes, 0, weights));
    // The zero point is rounded, too: at the ends of the range it moves an element by half a step.
    double most = scales[0] * (element == std::string("i4") ? 1.0 : 0.5000001);
    for (int i = 0; i < 128; ++i)
      EXPECT_NEAR(bytes.elementAt(i), weights[i], most) << element << " " << i;
  }
}

TEST(PackNumbers, WhatIsNotFiniteHasNoScale) {
  std::vector<uint8_t> numbers(2), zeros(1);
  std::vector<float> scales(1);
  for (const char *element : {"i4", "i8", "f8E4M3FN"})
    for (double bad : {std::numeric_limits<double>::infinity(), std::nan("")})
      EXPECT_FALSE(packGroup(bytesFor(element, 2, numbers, scales, zeros), 0, {1.0, bad}));
}

} // namespace
