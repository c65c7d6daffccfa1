//===- LossHeadTest.cpp - The loss head over a split vocabulary -------------===//
//
// Ranks that have parts of the vocabulary give together what one rank gives: the losses and the
// gradients of x are sums over ranks, those of the weight lie side by side. Chunks change no bit.
//
//===----------------------------------------------------------------------===//

#include "Differentiation/GradientCheck.h"
#include "RankStep.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::test;

namespace {

constexpr int64_t kTokens = 10, kWidth = 19, kVocabulary = 37;

struct Case {
  std::string element;
  int64_t ranks;
  double tolerance;

  int64_t columns() const { return (kVocabulary + ranks - 1) / ranks; }
};

void PrintTo(const Case &test, std::ostream *os) { *os << test.element << test.ranks; }

std::string tensorOf(std::vector<int64_t> sizes, const std::string &element) {
  std::string text = "tensor<";
  for (int64_t size : sizes)
    text += std::to_string(size) + "x";
  return text + element + ">";
}

std::string program(const Case &test, int64_t chunk) {
  std::string x = tensorOf({kTokens, kWidth}, test.element),
              weight = tensorOf({test.columns(), kWidth}, test.element),
              targets = tensorOf({kTokens}, "i32"),
              loss = tensorOf({}, test.element == "f64" ? "f64" : "f32");
  std::string results = "(" + loss + ", " + x + ", " + weight + ")";
  std::string vocabulary = test.ranks == 1
                               ? ""
                               : ", vocabulary = #llm.vocabulary<axes = [\"tp\"], size = " +
                                     std::to_string(kVocabulary) + ">";
  return "func.func @f(%x: " + x + ", %w: " + weight + ", %t: " + targets + ") -> " + results +
         " attributes {llm.mesh = #llm.mesh<tp = " + std::to_string(test.ranks) +
         ">} {\n%loss, %dx, %dw = llm.loss_head %x, %w, %t layout(out_in) {chunk = " +
         std::to_string(chunk) + " : i64, granule = 3 : i64" + vocabulary + "} : (" + x + ", " +
         weight + ", " + targets + ") -> " + results + "\nreturn %loss, %dx, %dw : " + loss + ", " +
         x + ", " + weight + "\n}";
}

/// Each rank has its rows of the weight, and zeros as padding. Every third target is ignored, one
/// lies outside the vocabulary.
std::vector<std::vector<Numbers>> argumentsOf(const Case &test) {
  Numbers x, weight, targets;
  for (int64_t i = 0; i < kTokens * kWidth; ++i)
    x.push_back(std::sin(0.7 * static_cast<double>(i)));
  for (int64_t i = 0; i < test.ranks * test.columns() * kWidth; ++i)
    weight.push_back(i < kVocabulary * kWidth ? std::cos(1.3 * static_cast<double>(i)) : 0.0);
  for (int64_t i = 0; i < kTokens; ++i)
    targets.push_back(i % 3 == 1 ? -100 : i == 2 ? kVocabulary + 5 : (7 * i) % kVocabulary);
  std::vector<std::vector<Numbers>> arguments;
  for (int64_t rank = 0; rank < test.ranks; ++rank) {
    auto begin = weight.begin() + rank * test.columns() * kWidth;
    arguments.push_back({x, Numbers(begin, begin + test.columns() * kWidth), targets});
  }
  return arguments;
}

std::vector<std::vector<Numbers>> run(const Case &test, int64_t chunk) {
  OwningOpRef<ModuleOp> module = parse(program(test, chunk));
  std::unique_ptr<RankStep> step = module ? RankStep::compile(*module, "f") : nullptr;
  return step ? step->run(argumentsOf(test)) : std::vector<std::vector<Numbers>>();
}

/// Loss and dx summed over ranks, dw without padding.
std::vector<Numbers> together(const std::vector<std::vector<Numbers>> &ofRanks) {
  std::vector<Numbers> all = ofRanks.front();
  for (const std::vector<Numbers> &rank : llvm::drop_begin(ofRanks)) {
    for (int result : {0, 1})
      for (auto [sum, addend] : llvm::zip_equal(all[result], rank[result]))
        sum += addend;
    llvm::append_range(all[2], rank[2]);
  }
  for (size_t i = kVocabulary * kWidth; i < all[2].size(); ++i)
    EXPECT_EQ(all[2][i], 0.0) << "padding, element " << i;
  all[2].resize(kVocabulary * kWidth);
  return all;
}

class LossHeadOfRanks : public ::testing::TestWithParam<Case> {};

TEST_P(LossHeadOfRanks, IsThatOfOneRank) {
  Case one = GetParam();
  one.ranks = 1;
  std::vector<std::vector<Numbers>> ofOne = run(one, kTokens), ofRanks = run(GetParam(), kTokens);
  ASSERT_FALSE(ofOne.empty() || ofRanks.empty());
  std::vector<Numbers> expected = together(ofOne), got = together(ofRanks);
  for (int result : {0, 1, 2})
    for (auto [i, numbers] : llvm::enumerate(llvm::zip_equal(got[result], expected[result])))
      EXPECT_NEAR(std::get<0>(numbers), std::get<1>(numbers), GetParam().tolerance)
          << "result " << result << ", element " << i;
}

TEST_P(LossHeadOfRanks, ChunksChangeNoBit) {
  std::vector<std::vector<Numbers>> whole = run(GetParam(), kTokens);
  ASSERT_FALSE(whole.empty());
  for (int64_t chunk : {3, 6}) // 3 + 3 + 3 + 1 and 6 + 4 tokens
    EXPECT_EQ(run(GetParam(), chunk), whole) << "chunk " << chunk;
}

INSTANTIATE_TEST_SUITE_P(Elements, LossHeadOfRanks,
                         ::testing::Values(Case{"f64", 2, 1e-12}, Case{"f64", 4, 1e-12},
                                           Case{"f32", 2, 1e-5}, Case{"bf16", 4, 5e-2}));

} // namespace
