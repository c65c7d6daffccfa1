//===- RuleGradientsTest.cpp - Every rule against central differences ------===//

#include "GradientCheck.h"
#include "gtest/gtest.h"

using namespace llmmem::test;

namespace {

//===----------------------------------------------------------------------===//
// Products and tables
//===----------------------------------------------------------------------===//

TEST(RuleGradients, LinearInOut) {
  checkGradients(R"(
    func.func @f(%x: tensor<2x3x4xf64>, %w: tensor<4x5xf64>, %b: tensor<5xf64>) -> tensor<2x3x5xf64> {
      %y = llm.linear %x, %w bias(%b) layout(in_out)
         : (tensor<2x3x4xf64>, tensor<4x5xf64>, tensor<5xf64>) -> tensor<2x3x5xf64>
      return %y : tensor<2x3x5xf64>
    })");
}

TEST(RuleGradients, LinearOutIn) {
  checkGradients(R"(
    func.func @f(%x: tensor<2x3x4xf64>, %w: tensor<5x4xf64>, %b: tensor<5xf64>) -> tensor<2x3x5xf64> {
      %y = llm.linear %x, %w bias(%b) layout(out_in)
         : (tensor<2x3x4xf64>, tensor<5x4xf64>, tensor<5xf64>) -> tensor<2x3x5xf64>
      return %y : tensor<2x3x5xf64>
    })");
}

TEST(RuleGradients, LinearWithoutBias) {
  checkGradients(R"(
    func.func @f(%x: tensor<6x4xf64>, %w: tensor<5x4xf64>) -> tensor<6x5xf64> {
      %y = llm.linear %x, %w layout(out_in) : (tensor<6x4xf64>, tensor<5x4xf64>) -> tensor<6x5xf64>
      return %y : tensor<6x5xf64>
    })");
}

TEST(RuleGradients, EmbeddingWithRepeatedIds) {
  checkGradients(R"(
    func.func @f(%ids: tensor<2x3xi32>, %t: tensor<5x4xf64>) -> tensor<2x3x4xf64> {
      %y = llm.embedding %ids, %t : (tensor<2x3xi32>, tensor<5x4xf64>) -> tensor<2x3x4xf64>
      return %y : tensor<2x3x4xf64>
    })",
                 {{0, {1, 4, 1, 0, 1, 4}}});
}

TEST(RuleGradients, AddPositionsFromLongerTable) {
  checkGradients(R"(
    func.func @f(%x: tensor<2x3x4xf64>, %t: tensor<5x4xf64>) -> tensor<2x3x4xf64> {
      %y = llm.add_positions %x, %t : (tensor<2x3x4xf64>, tensor<5x4xf64>) -> tensor<2x3x4xf64>
      return %y : tensor<2x3x4xf64>
    })");
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

TEST(RuleGradients, LayerNorm) {
  checkGradients(R"(
    func.func @f(%x: tensor<2x3x6xf64>, %w: tensor<6xf64>, %b: tensor<6xf64>) -> tensor<2x3x6xf64> {
      %y, %m, %r = llm.layer_norm %x, %w, %b {eps = 1.0e-2 : f64}
         : (tensor<2x3x6xf64>, tensor<6xf64>, tensor<6xf64>) -> (tensor<2x3x6xf64>, tensor<2x3xf64>, tensor<2x3xf64>)
      return %y : tensor<2x3x6xf64>
    })");
}

TEST(RuleGradients, RmsNorm) {
  checkGradients(R"(
    func.func @f(%x: tensor<2x3x6xf64>, %w: tensor<6xf64>) -> tensor<2x3x6xf64> {
      %y, %r = llm.rms_norm %x, %w {eps = 1.0e-2 : f64}
         : (tensor<2x3x6xf64>, tensor<6xf64>) -> (tensor<2x3x6xf64>, tensor<2x3xf64>)
      return %y : tensor<2x3x6xf64>
    })");
}

TEST(RuleGradients, RmsNormOfHeadsWithOffset) {
  checkGradients(R"(
    func.func @f(%x: tensor<2x3x8xf64>, %w: tensor<4xf64>) -> tensor<2x3x8xf64> {
      %h = llm.reshape %x : tensor<2x3x8xf64> -> tensor<2x3x2x4xf64>
      %n, %r = llm.rms_norm %h, %w {eps = 1.0e-2 : f64, offset = 1.0 : f64}
         : (tensor<2x3x2x4xf64>, tensor<4xf64>) -> (tensor<2x3x2x4xf64>, tensor<2x3x2xf64>)
      %y = llm.reshape %n : tensor<2x3x2x4xf64> -> tensor<2x3x8xf64>
      return %y : tensor<2x3x8xf64>
    })");
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

TEST(RuleGradients, RepeatHeads) {
  checkGradients(R"(
    func.func @f(%x: tensor<2x3x5xf64>) -> tensor<2x3x4x5xf64> {
      %y = llm.repeat_heads %x : tensor<2x3x5xf64> -> tensor<2x3x4x5xf64>
      return %y : tensor<2x3x4x5xf64>
    })");
}

TEST(RuleGradients, RopeInterleaved) {
  checkGradients(R"(
    func.func @f(%x: tensor<2x3x12xf64>) -> tensor<2x3x12xf64> {
      %y = llm.rope %x {heads = 2 : i64, theta = 100.0 : f64, interleaved} : tensor<2x3x12xf64>
      return %y : tensor<2x3x12xf64>
    })");
}

TEST(RuleGradients, Rope) {
  checkGradients(R"(
    func.func @f(%x: tensor<2x5x8xf64>) -> tensor<2x5x8xf64> {
      %y = llm.rope %x {heads = 2 : i64, theta = 100.0 : f64} : tensor<2x5x8xf64>
      return %y : tensor<2x5x8xf64>
    })");
}

TEST(RuleGradients, RopeInverse) {
  checkGradients(R"(
    func.func @f(%x: tensor<1x5x8xf64>) -> tensor<1x5x8xf64> {
      %y = llm.rope %x {heads = 2 : i64, theta = 100.0 : f64, inverse} : tensor<1x5x8xf64>
      return %y : tensor<1x5x8xf64>
    })");
}

// Four of six elements of a head turn, the second pair more slowly.
TEST(RuleGradients, RopeScaledOnPartOfAHead) {
  checkGradients(R"(
    func.func @f(%x: tensor<1x5x12xf64>) -> tensor<1x5x12xf64> {
      %y = llm.rope %x {heads = 2 : i64, theta = 100.0 : f64, rotary = 4 : i64,
             scaling = #llm.rope_scaling<divisors = dense<[1.0, 2.5]> : tensor<2xf64>, magnitude = 1.3 : f64>} : tensor<1x5x12xf64>
      return %y : tensor<1x5x12xf64>
    })");
}

std::string attention(const std::string &attributes, bool seeded) {
  std::string seedArgument = seeded ? ", %s: tensor<2xi32>" : "", seed = seeded ? "seed(%s)" : "",
              seedType = seeded ? ", tensor<2xi32>" : "";
  return "func.func @f(%q: tensor<2x5x8xf64>, %k: tensor<2x5x4xf64>, %v: tensor<2x5x4xf64>" +
         seedArgument + ") -> tensor<2x5x8xf64> {\n  %y, %lse = llm.attention %q, %k, %v " + seed +
         " {heads = 4 : i64, kv_heads = 2 : i64, scale = 0.7 : f64" + attributes +
         "} : (tensor<2x5x8xf64>, tensor<2x5x4xf64>, tensor<2x5x4xf64>" + seedType +
         ") -> (tensor<2x5x8xf64>, tensor<2x4x5xf64>)\n  return %y : tensor<2x5x8xf64>\n}";
}

TEST(RuleGradients, AttentionWithGroupedHeads) { checkGradients(attention("", false)); }

TEST(RuleGradients, AttentionWithWindow) { checkGradients(attention(", window = 3 : i64", false)); }

TEST(RuleGradients, AttentionWithCappedScores) {
  checkGradients(attention(", window = 4 : i64, softcap = 0.8 : f64", false));
}

TEST(RuleGradients, AttentionWithDropout) {
  checkGradients(attention(", p = 0.4 : f64, key = 3 : i64", true), {{3, {11, 12}}});
}

TEST(RuleGradients, AttentionWithWindowAndDropout) {
  checkGradients(attention(", window = 2 : i64, p = 0.3 : f64, key = 1 : i64", true),
                 {{3, {5, -7}}});
}

TEST(RuleGradients, AttentionBidirectional) {
  checkGradients(attention(", bidirectional, p = 0.3 : f64, key = 1 : i64", true), {{3, {5, -7}}});
}

TEST(RuleGradients, AttentionWithSinks) {
  checkGradients(R"(
    func.func @f(%q: tensor<2x5x8xf64>, %k: tensor<2x5x4xf64>, %v: tensor<2x5x4xf64>, %z: tensor<4xf64>,
                 %s: tensor<2xi32>) -> tensor<2x5x8xf64> {
      %y, %lse = llm.attention %q, %k, %v sinks(%z) seed(%s)
           {heads = 4 : i64, key = 1 : i64, kv_heads = 2 : i64, p = 0.3 : f64, scale = 0.7 : f64, window = 3 : i64}
         : (tensor<2x5x8xf64>, tensor<2x5x4xf64>, tensor<2x5x4xf64>, tensor<4xf64>, tensor<2xi32>)
        -> (tensor<2x5x8xf64>, tensor<2x4x5xf64>)
      return %y : tensor<2x5x8xf64>
    })",
                 {{4, {5, -7}}});
}

TEST(RuleGradients, AttentionOfPackedSequences) {
  checkGradients(R"(
    func.func @f(%q: tensor<2x5x8xf64>, %k: tensor<2x5x4xf64>, %v: tensor<2x5x4xf64>, %t: tensor<2x5xi32>)
        -> tensor<2x5x8xf64> {
      %y, %lse = llm.attention %q, %k, %v at(%t) {heads = 4 : i64, kv_heads = 2 : i64, scale = 0.7 : f64}
         : (tensor<2x5x8xf64>, tensor<2x5x4xf64>, tensor<2x5x4xf64>, tensor<2x5xi32>)
        -> (tensor<2x5x8xf64>, tensor<2x4x5xf64>)
      return %y : tensor<2x5x8xf64>
    })",
                 {{3, {0, 1, 2, 0, 1, 0, 0, 1, 2, 3}}});
}

TEST(RuleGradients, AttentionScoresWithGroupedHeads) {
  checkGradients(R"(
    func.func @f(%q: tensor<2x5x8xf64>, %k: tensor<2x5x4xf64>) -> tensor<2x4x5x5xf64> {
      %y = llm.attention_scores %q, %k {heads = 4 : i64, kv_heads = 2 : i64, scale = 0.7 : f64}
         : (tensor<2x5x8xf64>, tensor<2x5x4xf64>) -> tensor<2x4x5x5xf64>
      return %y : tensor<2x4x5x5xf64>
    })");
}

TEST(RuleGradients, AttentionValuesWithGroupedHeads) {
  checkGradients(R"(
    func.func @f(%p: tensor<2x4x5x5xf64>, %v: tensor<2x5x4xf64>) -> tensor<2x5x8xf64> {
      %y = llm.attention_values %p, %v {heads = 4 : i64, kv_heads = 2 : i64, scale = 0.7 : f64}
         : (tensor<2x4x5x5xf64>, tensor<2x5x4xf64>) -> tensor<2x5x8xf64>
      return %y : tensor<2x5x8xf64>
    })");
}

// A finite fill, so that differences of the masked scores can be taken; the window hides the far
// past.
TEST(RuleGradients, CausalMaskWithWindow) {
  checkGradients(R"(
    func.func @f(%s: tensor<1x2x5x5xf64>) -> tensor<1x2x5x5xf64> {
      %y = llm.causal_mask %s {fill = -3.0 : f64, window = 3 : i64} : tensor<1x2x5x5xf64>
      return %y : tensor<1x2x5x5xf64>
    })");
}

TEST(RuleGradients, SoftmaxOfMaskedScores) {
  checkGradients(R"(
    func.func @f(%s: tensor<1x2x5x5xf64>) -> tensor<1x2x5x5xf64> {
      %m = llm.causal_mask %s {fill = 0xFFF0000000000000 : f64} : tensor<1x2x5x5xf64>
      %y = llm.softmax %m : tensor<1x2x5x5xf64>
      return %y : tensor<1x2x5x5xf64>
    })");
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

std::string unary(const std::string &op) {
  return "func.func @f(%x: tensor<3x7xf64>) -> tensor<3x7xf64> {\n  %y = " + op +
         " : tensor<3x7xf64>\n  return %y : tensor<3x7xf64>\n}";
}

TEST(RuleGradients, Gelu) { checkGradients(unary("llm.gelu %x")); }

TEST(RuleGradients, ExactGelu) { checkGradients(unary("llm.gelu %x {exact}")); }

TEST(RuleGradients, Scale) { checkGradients(unary("llm.scale %x {factor = -1.5 : f64}")); }

TEST(RuleGradients, Softcap) { checkGradients(unary("llm.softcap %x {cap = 0.7 : f64}")); }

TEST(RuleGradients, Silu) { checkGradients(unary("llm.silu %x")); }

TEST(RuleGradients, SteepSilu) { checkGradients(unary("llm.silu %x {alpha = 1.7 : f64}")); }

TEST(RuleGradients, Clamp) {
  checkGradients(unary("llm.clamp %x {high = 0.301 : f64, low = -0.402 : f64}"));
}

TEST(RuleGradients, SumOfOneValueTwice) { checkGradients(unary("llm.add %x, %x")); }

TEST(RuleGradients, Square) { checkGradients(unary("llm.mul %x, %x")); }

TEST(RuleGradients, AddAndMul) {
  checkGradients(R"(
    func.func @f(%a: tensor<3x4xf64>, %b: tensor<3x4xf64>) -> tensor<3x4xf64> {
      %0 = llm.add %a, %b : tensor<3x4xf64>
      %1 = llm.mul %0, %b : tensor<3x4xf64>
      return %1 : tensor<3x4xf64>
    })");
}

TEST(RuleGradients, SeededDropout) {
  checkGradients(R"(
    func.func @f(%x: tensor<3x7xf64>, %s: tensor<2xi32>) -> tensor<3x7xf64> {
      %y = llm.dropout %x, %s {p = 0.4 : f64, key = 7 : i64} : tensor<3x7xf64>, tensor<2xi32>
      return %y : tensor<3x7xf64>
    })",
                 {{1, {3, 4}}});
}

TEST(RuleGradients, StoredDropout) {
  checkGradients(R"(
    func.func @f(%x: tensor<3x7xf64>, %s: tensor<2xi32>) -> tensor<3x7xf64> {
      %y, %m = llm.stored_dropout %x, %s {p = 0.4 : f64, key = 7 : i64}
         : (tensor<3x7xf64>, tensor<2xi32>) -> (tensor<3x7xf64>, tensor<3x7xi8>)
      return %y : tensor<3x7xf64>
    })",
                 {{1, {3, 4}}});
}

TEST(RuleGradients, ApplyMask) {
  checkGradients(R"(
    func.func @f(%x: tensor<2x3xf64>, %m: tensor<2x3xi8>) -> tensor<2x3xf64> {
      %y = llm.apply_mask %x, %m {p = 0.25 : f64} : tensor<2x3xf64>, tensor<2x3xi8>
      return %y : tensor<2x3xf64>
    })",
                 {{1, {1, 0, 1, 1, 0, 0}}});
}

// The numbers and the steps are exact in f32, so rounding changes nothing.
TEST(RuleGradients, Cast) {
  checkGradients(R"(
    func.func @f(%x: tensor<3x4xf64>) -> tensor<3x4xf64> {
      %0 = llm.cast %x : tensor<3x4xf64> -> tensor<3x4xf32>
      %1 = llm.cast %0 : tensor<3x4xf32> -> tensor<3x4xf64>
      return %1 : tensor<3x4xf64>
    })");
}

TEST(RuleGradients, ProductWithFill) {
  checkGradients(R"(
    func.func @f(%x: tensor<3x4xf64>) -> tensor<3x4xf64> {
      %c = llm.fill {value = 2.5 : f64} : tensor<3x4xf64>
      %y = llm.mul %x, %c : tensor<3x4xf64>
      return %y : tensor<3x4xf64>
    })");
}

//===----------------------------------------------------------------------===//
// Shape and loss
//===----------------------------------------------------------------------===//

TEST(RuleGradients, Reshape) {
  checkGradients(R"(
    func.func @f(%x: tensor<2x3x4xf64>) -> tensor<6x4xf64> {
      %0 = llm.gelu %x : tensor<2x3x4xf64>
      %y = llm.reshape %0 : tensor<2x3x4xf64> -> tensor<6x4xf64>
      return %y : tensor<6x4xf64>
    })");
}

TEST(RuleGradients, SplitWithAPartThatNobodyReads) {
  checkGradients(R"(
    func.func @f(%x: tensor<3x9xf64>) -> (tensor<3x2xf64>, tensor<3x4xf64>) {
      %p:3 = llm.split %x : (tensor<3x9xf64>) -> (tensor<3x2xf64>, tensor<3x3xf64>, tensor<3x4xf64>)
      return %p#0, %p#2 : tensor<3x2xf64>, tensor<3x4xf64>
    })");
}

TEST(RuleGradients, Concat) {
  checkGradients(R"(
    func.func @f(%a: tensor<3x2xf64>, %b: tensor<3x4xf64>) -> tensor<3x8xf64> {
      %y = llm.concat %a, %b, %a : (tensor<3x2xf64>, tensor<3x4xf64>, tensor<3x2xf64>) -> tensor<3x8xf64>
      return %y : tensor<3x8xf64>
    })");
}

TEST(RuleGradients, AttentionAcross) {
  checkGradients(R"(
    func.func @f(%q: tensor<2x3x8xf64>, %k: tensor<2x5x4xf64>, %v: tensor<2x5x4xf64>) -> tensor<2x3x8xf64> {
      %s = llm.attention_scores %q, %k {heads = 4 : i64, kv_heads = 2 : i64, scale = 0.7 : f64}
         : (tensor<2x3x8xf64>, tensor<2x5x4xf64>) -> tensor<2x4x3x5xf64>
      %p = llm.softmax %s : tensor<2x4x3x5xf64>
      %y = llm.attention_values %p, %v {heads = 4 : i64, kv_heads = 2 : i64, scale = 1.0 : f64}
         : (tensor<2x4x3x5xf64>, tensor<2x5x4xf64>) -> tensor<2x3x8xf64>
      return %y : tensor<2x3x8xf64>
    })");
}

TEST(RuleGradients, RelativeBias) {
  checkGradients(R"(
    func.func @f(%s: tensor<2x3x5x7xf64>, %t: tensor<8x3xf64>) -> tensor<2x3x5x7xf64> {
      %b = llm.relative_bias %t {queries = 5 : i64, keys = 7 : i64, max_distance = 6 : i64, bidirectional}
         : tensor<8x3xf64> -> tensor<3x11xf64>
      %y = llm.add_relative_bias %s, %b : tensor<2x3x5x7xf64>, tensor<3x11xf64>
      return %y : tensor<2x3x5x7xf64>
    })");
}

TEST(RuleGradients, RelativeBiasOfOneSide) {
  checkGradients(R"(
    func.func @f(%t: tensor<4x2xf64>) -> tensor<2x17xf64> {
      %b = llm.relative_bias %t {queries = 9 : i64, keys = 9 : i64, max_distance = 6 : i64}
         : tensor<4x2xf64> -> tensor<2x17xf64>
      return %b : tensor<2x17xf64>
    })");
}

TEST(RuleGradients, CausalConvolution) {
  checkGradients(R"(
    func.func @f(%x: tensor<2x5x3xf64>, %w: tensor<4x3xf64>) -> tensor<2x5x3xf64> {
      %y = llm.causal_conv %x, %w : tensor<2x5x3xf64>, tensor<4x3xf64>
      return %y : tensor<2x5x3xf64>
    })");
}

TEST(RuleGradients, StateScanByTheDeltaRule) {
  checkGradients(R"(
    func.func @f(%q: tensor<2x5x1x3xf64>, %k: tensor<2x5x1x3xf64>, %v: tensor<2x5x2x4xf64>, %g: tensor<2x5x2xf64>,
                 %b: tensor<2x5x2xf64>) -> tensor<2x5x2x4xf64> {
      %y, %s = llm.state_scan %q, %k, %v decay(%g) strength(%b) {delta, scale = 0.7 : f64, chunk = 2 : i64}
         : (tensor<2x5x1x3xf64>, tensor<2x5x1x3xf64>, tensor<2x5x2x4xf64>, tensor<2x5x2xf64>, tensor<2x5x2xf64>)
           -> (tensor<2x5x2x4xf64>, tensor<2x3x2x3x4xf64>)
      return %y : tensor<2x5x2x4xf64>
    })");
}

TEST(RuleGradients, StateScanOfMamba) {
  checkGradients(R"(
    func.func @f(%q: tensor<1x7x2x2xf64>, %k: tensor<1x7x2x2xf64>, %v: tensor<1x7x2x3xf64>, %g: tensor<1x7x2xf64>,
                 %b: tensor<1x7x2xf64>) -> tensor<1x7x2x3xf64> {
      %y, %s = llm.state_scan %q, %k, %v decay(%g) strength(%b) {chunk = 3 : i64}
         : (tensor<1x7x2x2xf64>, tensor<1x7x2x2xf64>, tensor<1x7x2x3xf64>, tensor<1x7x2xf64>, tensor<1x7x2xf64>)
           -> (tensor<1x7x2x3xf64>, tensor<1x3x2x2x3xf64>)
      return %y : tensor<1x7x2x3xf64>
    })");
}

TEST(RuleGradients, GatesOfStates) {
  checkGradients(R"(
    func.func @f(%x: tensor<2x3x4xf64>, %w: tensor<4xf64>) -> tensor<2x3x4xf64> {
      %a = llm.logistic %x : tensor<2x3x4xf64>
      %b = llm.softplus %a : tensor<2x3x4xf64>
      %c = llm.exp %w : tensor<4xf64>
      %y = llm.scale_columns %b, %c : tensor<2x3x4xf64>, tensor<4xf64>
      return %y : tensor<2x3x4xf64>
    })");
}

TEST(RuleGradients, Transpose) {
  checkGradients(R"(
    func.func @f(%x: tensor<2x3x4xf64>) -> tensor<4x2x3xf64> {
      %y = llm.transpose %x {order = array<i64: 2, 0, 1>} : tensor<2x3x4xf64> -> tensor<4x2x3xf64>
      return %y : tensor<4x2x3xf64>
    })");
}

TEST(RuleGradients, SliceAndPad) {
  checkGradients(R"(
    func.func @f(%x: tensor<3x7xf64>) -> (tensor<3x4xf64>, tensor<3x9xf64>) {
      %a = llm.slice %x {begin = 2 : i64} : tensor<3x7xf64> -> tensor<3x4xf64>
      %b = llm.pad %x {begin = 1 : i64} : tensor<3x7xf64> -> tensor<3x9xf64>
      return %a, %b : tensor<3x4xf64>, tensor<3x9xf64>
    })");
}

TEST(RuleGradients, CrossEntropyWithIgnoredTargets) {
  checkGradients(R"(
    func.func @f(%x: tensor<2x3x5xf64>, %t: tensor<2x3xi32>) -> tensor<f64> {
      %loss, %lse = llm.cross_entropy %x, %t
         : (tensor<2x3x5xf64>, tensor<2x3xi32>) -> (tensor<f64>, tensor<2x3xf64>)
      return %loss : tensor<f64>
    })",
                 {{1, {1, 4, -100, 0, 0, -100}}});
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

TEST(RuleGradients, TiedWeightWithSeveralReaders) {
  checkGradients(R"(
    func.func @f(%ids: tensor<2x3xi32>, %w: tensor<5x4xf64>) -> tensor<2x3x5xf64> {
      %x = llm.embedding %ids, %w : (tensor<2x3xi32>, tensor<5x4xf64>) -> tensor<2x3x4xf64>
      %0 = llm.gelu %x : tensor<2x3x4xf64>
      %1 = llm.add_positions %0, %w : (tensor<2x3x4xf64>, tensor<5x4xf64>) -> tensor<2x3x4xf64>
      %2 = llm.mul %1, %x : tensor<2x3x4xf64>
      %y = llm.linear %2, %w layout(out_in) : (tensor<2x3x4xf64>, tensor<5x4xf64>) -> tensor<2x3x5xf64>
      return %y : tensor<2x3x5xf64>
    })",
                 {{0, {1, 4, 1, 0, 1, 4}}});
}

// x and the weight are one value: the newer contribution must not become the sum that the older one
// begins with.
TEST(RuleGradients, OneValueAsInputAndWeight) {
  checkGradients(R"(
    func.func @f(%x: tensor<4x4xf64>) -> tensor<4x4xf64> {
      %y = llm.linear %x, %x layout(in_out) : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
      return %y : tensor<4x4xf64>
    })");
}

// The bias's gradient is the gradient of both terms, and one of them has a sum already.
TEST(RuleGradients, OneGradientForTwoValues) {
  checkGradients(R"(
    func.func @f(%x: tensor<3x4xf64>, %w: tensor<4x4xf64>, %a: tensor<4xf64>, %b: tensor<4xf64>)
        -> (tensor<3x4xf64>, tensor<3x4xf64>) {
      %bias = llm.add %a, %b : tensor<4xf64>
      %0 = llm.linear %x, %w bias(%bias) layout(in_out)
         : (tensor<3x4xf64>, tensor<4x4xf64>, tensor<4xf64>) -> tensor<3x4xf64>
      %1 = llm.linear %0, %w bias(%a) layout(in_out)
         : (tensor<3x4xf64>, tensor<4x4xf64>, tensor<4xf64>) -> tensor<3x4xf64>
      return %0, %1 : tensor<3x4xf64>, tensor<3x4xf64>
    })");
}

TEST(RuleGradients, ArgumentWithoutInfluenceHasGradientZero) {
  checkGradients(R"(
    func.func @f(%x: tensor<3x4xf64>, %unused: tensor<2xf64>) -> tensor<3x4xf64> {
      %y = llm.gelu %x : tensor<3x4xf64>
      return %y : tensor<3x4xf64>
    })");
}

} // namespace
