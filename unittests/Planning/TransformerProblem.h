//===- TransformerProblem.h - Training steps of transformers, as problems -------===//
//
// Forward, backward and update of a decoder-only transformer with roofline costs, about 45 ops per
// block: norms, projections, rotary embedding, attention (fused or written out), a gated
// feed-forward. Sizes are those of 16-bit activations. With or without labels (phase and block).
//
// Example: makeTransformer({.blocks = 12}) has 12 equal blocks between an embedding and a loss
// head.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_UNITTESTS_PLANNING_TRANSFORMERPROBLEM_H
#define LLMMEM_UNITTESTS_PLANNING_TRANSFORMERPROBLEM_H

#include "llmmem/Planning/Model/Problem.h"
#include <algorithm>

namespace llmmem::planning::test {

struct TransformerShape {
  int64_t blocks = 12;
  int64_t tokens = 8192;
  int64_t hidden = 4096;
  int64_t feedForward = 14336;
  int64_t heads = 32;
  int64_t keyValueHeads = 8;
  int64_t vocabulary = 32000;
  int64_t alignment = 256;
  bool fusedAttention = true;
  bool transientGradients = false; // end at their update, which follows them directly
  bool labels = false;
};

class TransformerBuilder {
public:
  explicit TransformerBuilder(const TransformerShape &shape) : shape(shape) {}
  Problem build();

private:
  using Values = std::vector<ValueIndex>;
  struct Saved {
    ValueIndex input, rstd1, norm1, q, k, v, scores, probabilities, attention, logSum, middle,
        rstd2, norm2, gate, up, silu, product;
    ValueIndex wq, wk, wv, wo, wGate, wUp, wDown, wNorm1, wNorm2;
  };

  ValueIndex value(int64_t bytes, bool resident = false) {
    problem.values.push_back({static_cast<int64_t>(problem.values.size()), bytes, resident, ""});
    return static_cast<ValueIndex>(problem.values.size()) - 1;
  }
  /// Adds an op of `flops` that moves its operands and results once.
  void op(const char *name, Values reads, Values writes, double flops,
          std::vector<InPlace> inPlace = {}, bool recompute = true) {
    Op result;
    result.id = static_cast<int64_t>(problem.ops.size());
    result.name = name;
    double moved = 0;
    for (ValueIndex read : reads)
      moved += double(problem.values[read].bytes);
    for (ValueIndex write : writes)
      moved += double(problem.values[write].bytes);
    result.cost = static_cast<int64_t>(std::max(flops / 600e3, moved / 3e3)) + 2000; // ns
    result.reads = std::move(reads);
    result.writes = std::move(writes);
    result.inPlace = std::move(inPlace);
    result.recompute = recompute;
    if (shape.labels) {
      result.phase = phase;
      result.block = block;
    }
    problem.ops.push_back(std::move(result));
  }
  ValueIndex linear(const char *name, ValueIndex input, ValueIndex weight, int64_t in,
                    int64_t out) {
    ValueIndex result = value(2 * shape.tokens * out);
    op(name, {input, weight}, {result}, 2.0 * shape.tokens * in * out);
    return result;
  }
  ValueIndex weight(int64_t elements) { return value(2 * elements, true); }
  void weightGradient(ValueIndex input, ValueIndex gradient, ValueIndex weight, double flops);
  ValueIndex inputGradient(ValueIndex gradient, ValueIndex weight, int64_t in, int64_t out);
  void forwardBlock(ValueIndex &x, Saved &saved);
  ValueIndex backwardBlock(ValueIndex dx, const Saved &saved);

  TransformerShape shape;
  Problem problem;
  Phase phase = Phase::Forward;
  std::optional<int64_t> block;
};

inline void TransformerBuilder::weightGradient(ValueIndex input, ValueIndex gradient,
                                               ValueIndex weight, double flops) {
  int64_t bytes = problem.values[weight].bytes;
  if (!shape.transientGradients) { // adds into a resident gradient: nothing new in the arena
    op("weight_gradient", {input, gradient, weight}, {value(0)}, flops, {}, false);
    return;
  }
  ValueIndex result = value(bytes);
  op("weight_gradient", {input, gradient}, {result}, flops);
  Phase before = phase;
  phase = Phase::Update;
  op("update", {result, weight}, {value(0)}, 0, {}, false);
  phase = before;
}

inline ValueIndex TransformerBuilder::inputGradient(ValueIndex gradient, ValueIndex weight,
                                                    int64_t in, int64_t out) {
  ValueIndex result = value(2 * shape.tokens * in);
  op("input_gradient", {gradient, weight}, {result}, 2.0 * shape.tokens * in * out);
  return result;
}

inline void TransformerBuilder::forwardBlock(ValueIndex &x, Saved &s) {
  int64_t t = shape.tokens, h = shape.hidden, f = shape.feedForward;
  int64_t keyValue = h / shape.heads * shape.keyValueHeads;
  s.input = x;
  s.wNorm1 = weight(h), s.wNorm2 = weight(h);
  s.wq = weight(h * h), s.wk = weight(h * keyValue), s.wv = weight(h * keyValue);
  s.wo = weight(h * h), s.wGate = weight(h * f), s.wUp = weight(h * f), s.wDown = weight(f * h);
  s.norm1 = value(2 * t * h), s.rstd1 = value(4 * t);
  op("rms_norm", {x, s.wNorm1}, {s.norm1, s.rstd1}, 0);
  ValueIndex q = linear("q", s.norm1, s.wq, h, h);
  ValueIndex k = linear("k", s.norm1, s.wk, h, keyValue);
  s.v = linear("v", s.norm1, s.wv, h, keyValue);
  s.q = value(2 * t * h), s.k = value(2 * t * keyValue);
  op("rope", {q}, {s.q}, 0, {{s.q, q}});
  op("rope", {k}, {s.k}, 0, {{s.k, k}});
  s.attention = value(2 * t * h);
  s.logSum = s.scores = s.probabilities = -1;
  if (shape.fusedAttention) {
    s.logSum = value(4 * t * shape.heads);
    op("attention", {s.q, s.k, s.v}, {s.attention, s.logSum}, 2.0 * t * t * h);
  } else {
    ValueIndex scores = value(2 * shape.heads * t * t);
    op("scores", {s.q, s.k}, {scores}, 2.0 * t * t * h);
    s.probabilities = value(2 * shape.heads * t * t);
    op("softmax", {scores}, {s.probabilities}, 0, {{s.probabilities, scores}});
    op("attend", {s.probabilities, s.v}, {s.attention}, 2.0 * t * t * h);
  }
  ValueIndex projected = linear("o", s.attention, s.wo, h, h);
  s.middle = value(2 * t * h);
  op("add", {x, projected}, {s.middle}, 0, {{s.middle, projected}});
  s.norm2 = value(2 * t * h), s.rstd2 = value(4 * t);
  op("rms_norm", {s.middle, s.wNorm2}, {s.norm2, s.rstd2}, 0);
  s.gate = linear("gate", s.norm2, s.wGate, h, f);
  s.up = linear("up", s.norm2, s.wUp, h, f);
  s.silu = value(2 * t * f);
  op("silu", {s.gate}, {s.silu}, 0);
  s.product = value(2 * t * f);
  op("mul", {s.silu, s.up}, {s.product}, 0);
  ValueIndex down = linear("down", s.product, s.wDown, f, h);
  x = value(2 * t * h);
  op("add", {s.middle, down}, {x}, 0, {{x, down}});
}

inline ValueIndex TransformerBuilder::backwardBlock(ValueIndex dx, const Saved &s) {
  int64_t t = shape.tokens, h = shape.hidden, f = shape.feedForward;
  int64_t keyValue = h / shape.heads * shape.keyValueHeads;
  auto like = [&](ValueIndex other) { return value(problem.values[other].bytes); };
  auto matmul = [&](int64_t in, int64_t out) { return 2.0 * t * in * out; };
  ValueIndex dProduct = inputGradient(dx, s.wDown, f, h);
  weightGradient(s.product, dx, s.wDown, matmul(f, h));
  ValueIndex dSilu = like(s.silu), dUp = like(s.up), dGate = like(s.gate);
  op("mul_backward", {dProduct, s.silu, s.up}, {dSilu, dUp}, 0, {{dSilu, dProduct}});
  op("silu_backward", {dSilu, s.gate}, {dGate}, 0, {{dGate, dSilu}});
  weightGradient(s.norm2, dGate, s.wGate, matmul(h, f));
  ValueIndex dNorm2a = inputGradient(dGate, s.wGate, h, f);
  weightGradient(s.norm2, dUp, s.wUp, matmul(h, f));
  ValueIndex dNorm2b = inputGradient(dUp, s.wUp, h, f);
  ValueIndex dNorm2 = like(s.norm2);
  op("add", {dNorm2a, dNorm2b}, {dNorm2}, 0, {{dNorm2, dNorm2a}});
  ValueIndex dMiddleNorm = like(s.middle), dMiddle = like(s.middle);
  op("rms_norm_backward", {dNorm2, s.middle, s.rstd2, s.wNorm2}, {dMiddleNorm, value(2 * h)}, 0,
     {{dMiddleNorm, dNorm2}});
  op("add", {dx, dMiddleNorm}, {dMiddle}, 0, {{dMiddle, dMiddleNorm}});
  ValueIndex dAttention = inputGradient(dMiddle, s.wo, h, h);
  weightGradient(s.attention, dMiddle, s.wo, matmul(h, h));
  ValueIndex dq = like(s.q), dk = like(s.k), dv = like(s.v);
  if (shape.fusedAttention) {
    op("attention_backward", {dAttention, s.q, s.k, s.v, s.attention, s.logSum}, {dq, dk, dv},
       5.0 * t * t * h);
  } else {
    ValueIndex dProbabilities = like(s.probabilities), dScores = like(s.probabilities);
    op("attend_backward", {dAttention, s.probabilities, s.v}, {dProbabilities, dv},
       4.0 * t * t * h);
    op("softmax_backward", {dProbabilities, s.probabilities}, {dScores}, 0,
       {{dScores, dProbabilities}});
    op("scores_backward", {dScores, s.q, s.k}, {dq, dk}, 4.0 * t * t * h);
  }
  ValueIndex dqFlat = like(dq), dkFlat = like(dk);
  op("rope_backward", {dq}, {dqFlat}, 0, {{dqFlat, dq}});
  op("rope_backward", {dk}, {dkFlat}, 0, {{dkFlat, dk}});
  ValueIndex sum = inputGradient(dqFlat, s.wq, h, h);
  weightGradient(s.norm1, dqFlat, s.wq, matmul(h, h));
  for (auto [gradient, weight] : {std::pair(dkFlat, s.wk), std::pair(dv, s.wv)}) {
    ValueIndex more = inputGradient(gradient, weight, h, keyValue);
    weightGradient(s.norm1, gradient, weight, matmul(h, keyValue));
    ValueIndex next = like(sum);
    op("add", {sum, more}, {next}, 0, {{next, sum}});
    sum = next;
  }
  ValueIndex dNorm1 = like(s.input), result = like(s.input);
  op("rms_norm_backward", {sum, s.input, s.rstd1, s.wNorm1}, {dNorm1, value(2 * h)}, 0,
     {{dNorm1, sum}});
  op("add", {dMiddle, dNorm1}, {result}, 0, {{result, dNorm1}});
  return result;
}

inline Problem TransformerBuilder::build() {
  int64_t t = shape.tokens, h = shape.hidden, vocabulary = shape.vocabulary;
  problem.alignment = shape.alignment;
  ValueIndex ids = value(4 * t, true), targets = value(4 * t, true);
  ValueIndex embedding = weight(vocabulary * h), head = weight(vocabulary * h);
  ValueIndex wFinal = weight(h), x = value(2 * t * h);
  op("embedding", {ids, embedding}, {x}, 0);
  std::vector<Saved> saved(shape.blocks);
  for (int64_t index = 0; index < shape.blocks; ++index) {
    block = index;
    forwardBlock(x, saved[index]);
  }
  block.reset();
  ValueIndex norm = value(2 * t * h), rstd = value(4 * t), last = x;
  op("rms_norm", {x, wFinal}, {norm, rstd}, 0);
  ValueIndex logits = linear("head", norm, head, h, vocabulary);
  ValueIndex loss = value(4), logSum = value(4 * t);
  op("cross_entropy", {logits, targets}, {loss, logSum}, 0);
  problem.keep.push_back(loss);
  phase = Phase::Backward;
  ValueIndex dLogits = value(2 * t * vocabulary);
  op("cross_entropy_backward", {logits, targets, logSum}, {dLogits}, 0, {{dLogits, logits}});
  ValueIndex dNorm = inputGradient(dLogits, head, h, vocabulary);
  weightGradient(norm, dLogits, head, 2.0 * t * h * vocabulary);
  ValueIndex dx = value(2 * t * h);
  op("rms_norm_backward", {dNorm, last, rstd, wFinal}, {dx, value(2 * h)}, 0, {{dx, dNorm}});
  for (int64_t index = shape.blocks - 1; index >= 0; --index) {
    block = index;
    dx = backwardBlock(dx, saved[index]);
  }
  block.reset();
  weightGradient(ids, dx, embedding, 0);
  return std::move(problem);
}

inline Problem makeTransformer(const TransformerShape &shape) {
  return TransformerBuilder(shape).build();
}

} // namespace llmmem::planning::test

#endif // LLMMEM_UNITTESTS_PLANNING_TRANSFORMERPROBLEM_H
