//===- AttentionReferenceTest.cpp - What judges attention on a machine without us ===//
//
// llmmem-replay compares a GPU's attention with float64
// (tools/llmmem-replay/Reference/Attention.h). Kernels that are right pass here, on the CPU and on
// the emulator, and changed results do not.
//
//===----------------------------------------------------------------------===//

#include "StepRunner.h"
#include "llmmem-replay/Reference/Attention.h"
#include "gtest/gtest.h"
#include <cstring>

using namespace llmmem::test;

namespace {

/// Heads of 64 that share keys in pairs, over more than one block of queries.
constexpr AttentionShape kShape = {1, 80, 2, 1, 64, 0, 0.125, TYPE_BF16};

constexpr const char *kStep = R"(
func.func @step(%q: tensor<1x80x128xbf16>, %k: tensor<1x80x64xbf16>, %v: tensor<1x80x64xbf16>, %do: tensor<1x80x128xbf16>)
    -> (tensor<1x80x128xbf16>, tensor<1x2x80xf32>, tensor<1x80x128xbf16>, tensor<1x80x64xbf16>, tensor<1x80x64xbf16>) {
  %out, %lse = llm.attention %q, %k, %v {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.125 : f64}
    : (tensor<1x80x128xbf16>, tensor<1x80x64xbf16>, tensor<1x80x64xbf16>) -> (tensor<1x80x128xbf16>, tensor<1x2x80xf32>)
  %dq, %dk, %dv = llm.attention_grad %q, %k, %v, %out, %lse, %do {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.125 : f64}
    : (tensor<1x80x128xbf16>, tensor<1x80x64xbf16>, tensor<1x80x64xbf16>, tensor<1x80x128xbf16>, tensor<1x2x80xf32>,
       tensor<1x80x128xbf16>) -> (tensor<1x80x128xbf16>, tensor<1x80x64xbf16>, tensor<1x80x64xbf16>)
  return %out, %lse, %dq, %dk, %dv : tensor<1x80x128xbf16>, tensor<1x2x80xf32>, tensor<1x80x128xbf16>,
    tensor<1x80x64xbf16>, tensor<1x80x64xbf16>
})";

/// Numbers that are exact in bf16.
std::vector<uint16_t> asBF16(const Numbers &numbers) {
  std::vector<uint16_t> halves;
  for (double number : numbers) {
    auto value = static_cast<float>(number);
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    halves.push_back(static_cast<uint16_t>(bits >> 16));
  }
  return halves;
}

class AttentionReference : public testing::Test {
protected:
  void SetUp() override {
    Numbers wide = someNumbers(80 * 128, 1), keys = someNumbers(80 * 64, 2),
            values = someNumbers(80 * 64, 3), gradient = someNumbers(80 * 128, 4);
    std::vector<Numbers> results = runStep(kStep, {wide, keys, values, gradient});
    ASSERT_EQ(results.size(), 5u);
    q = asBF16(wide), k = asBF16(keys), v = asBF16(values), dout = asBF16(gradient);
    out = asBF16(results[0]), dq = asBF16(results[2]), dk = asBF16(results[3]);
    dv = asBF16(results[4]);
    lse.assign(results[1].begin(), results[1].end());
  }

  AttentionOperands operands() const {
    return {q.data(),    k.data(),  v.data(),  out.data(), lse.data(),
            dout.data(), dq.data(), dk.data(), dv.data()};
  }
  double forward() const {
    AttentionOperands all = operands();
    return attention_error(&kShape, &all, /*count=*/64, /*stream=*/7);
  }
  double backward() const {
    AttentionOperands all = operands();
    return attention_grad_error(&kShape, &all, /*count=*/64, /*stream=*/7);
  }

  std::vector<uint16_t> q, k, v, dout, out, dq, dk, dv;
  std::vector<float> lse;
};

TEST_F(AttentionReference, AcceptsWhatIsRight) {
  EXPECT_LT(forward(), 1);
  EXPECT_LT(backward(), 1);
  EXPECT_GT(forward(), 0);
  EXPECT_GT(backward(), 0);
}

TEST_F(AttentionReference, SeesEachResultThatIsWrong) {
  for (std::vector<uint16_t> *tensor : {&out, &dq, &dk, &dv}) {
    std::vector<uint16_t> right = *tensor;
    for (uint16_t &number : *tensor)
      number ^= 0x8000; // the sign
    EXPECT_GT(tensor == &out ? forward() : backward(), 1);
    *tensor = right;
  }
  for (float &number : lse)
    number += 0.01F;
  EXPECT_GT(forward(), 1);
}

TEST_F(AttentionReference, SeesNaN) {
  std::fill(out.begin(), out.end(), uint16_t{0x7FC0});
  EXPECT_GT(forward(), 1);
}

} // namespace
