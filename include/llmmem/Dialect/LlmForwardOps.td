//===- LlmForwardOps.td - What a forward pass is written in ----*- tablegen -*-===//

#ifndef LLMMEM_DIALECT_LLMFORWARDOPS
#define LLMMEM_DIALECT_LLMFORWARDOPS

include "llmmem/Dialect/LlmOpBase.td"

//===----------------------------------------------------------------------===//
// Matmuls and tables
//===----------------------------------------------------------------------===//

def Llm_LinearOp : Llm_PureOp<"linear",
    [ShardableBySeparation, CostOfUnpackingMatmul, Differentiable, GroupMatmul, AttrSizedOperandSegments]> {
  let summary = "Multiplies the last dimension of x by a weight and adds a bias.";
  let description = [{
    y[..., o] = sum_i x[..., i] W[i, o] + b[o], with W stored as [in, out] or as [out, in].
    Keeps for the backward: x. FLOPs: 2 * rows * in * out.

    A weight in fewer bits has `scales`, one for each group of elements that are neighbours in a row as it is stored,
    whatever its layout: a row of 768 elements with 6 scales has groups of 128. An element is the stored number times
    its scale, rounded to f32; for i4 it is the stored number less the group's zero point, times its scale. So the bits
    of y are those of a product by such f32s.

    With `activation_group` = G, the weight is of i4 or i8 and the factors of its numbers are rounded to 8 bits, so that
    products are of integers. A factor is x[i] where groups lie along the sum (out_in), and x[i] times the group's
    scale, rounded to f32, where they lie along the outputs (in_out). G neighbours along i are rounded as `llm.pack`
    rounds a group to i8: s = max |factor| / 127 and r[i] = factor[i] / s, to nearest and ties to even. The sum of r[i]
    (number less zero point) of the group is an exact integer; times s (out_in: times s times the scale, rounded to f32)
    it is added by a fused multiply-add in f32, group after group from i = 0 up. Only a CPU computes such a product, and
    it has no gradient.

    ```mlir
    %y = llm.linear %x, %w bias(%b) layout(in_out)
       : (tensor<8x1024x768xbf16>, tensor<768x3072xbf16>, tensor<3072xbf16>) -> tensor<8x1024x3072xbf16>
    %z = llm.linear %x, %q scales(%s) zeros(%zero) layout(out_in)
       : (tensor<8x1024x768xbf16>, tensor<3072x768xi4>, tensor<3072x6xbf16>, tensor<3072x6xi4>) -> tensor<8x1024x3072xbf16>
    %u = llm.linear %x, %q scales(%s) zeros(%zero) layout(out_in) {activation_group = 64 : i64}
       : (tensor<8x1024x768xbf16>, tensor<3072x768xi4>, tensor<3072x6xbf16>, tensor<3072x6xi4>) -> tensor<8x1024x3072xbf16>
    ```
  }];
  let arguments = (ins Llm_Tensor:$x, Llm_HeldTensor:$weight, Optional<Llm_Tensor>:$bias, Optional<Llm_Tensor>:$scales,
    Optional<Llm_ZeroPoints>:$zeros, Llm_WeightLayout:$layout, OptionalAttr<I64Attr>:$activation_group);
  let results = (outs Llm_Tensor:$y);
  let builders = [OpBuilder<(ins "::mlir::Type":$y, "::mlir::Value":$x, "::mlir::Value":$weight, "::mlir::Value":$bias,
    "::llmmem::llm::WeightLayout":$layout), [{
      build($_builder, $_state, y, x, weight, bias, /*scales=*/::mlir::Value(), /*zeros=*/::mlir::Value(), layout,
            /*activation_group=*/::mlir::IntegerAttr());
    }]>];
  let assemblyFormat = [{
    $x `,` $weight (`bias` `(` $bias^ `)`)? (`scales` `(` $scales^ `)`)? (`zeros` `(` $zeros^ `)`)?
    `layout` `(` $layout `)` attr-dict `:` functional-type(operands, results)
  }];
}

def Llm_EmbeddingOp : Llm_PureOp<"embedding",
    [ShardableWithChange, CostWithTraffic, Differentiable, AttrSizedOperandSegments]> {
  let summary = "Looks up rows of a table by id.";
  let description = [{
    y[b, s, :] = table[ids[b, s], :]. An id outside the table is clamped into it. Keeps for the backward: the ids. With
    a `vocabulary`, the table is a rank's part of it: an id that another rank has gives 0, and the sum over ranks is the
    row. A table in fewer bits has scales as a weight of llm.linear does; its rows are rounded to y's type.

    ```mlir
    %y = llm.embedding %ids, %table : (tensor<8x1024xi32>, tensor<50257x768xbf16>) -> tensor<8x1024x768xbf16>
    %z = llm.embedding %ids, %q scales(%s)
       : (tensor<8x1024xi32>, tensor<50257x768xi8>, tensor<50257x6xbf16>) -> tensor<8x1024x768xbf16>
    ```
  }];
  let arguments = (ins Llm_Ids:$ids, Llm_HeldTensor:$table, Optional<Llm_Tensor>:$scales, Optional<Llm_ZeroPoints>:$zeros,
    OptionalAttr<Llm_VocabularyAttr>:$vocabulary);
  let results = (outs Llm_Tensor:$y);
  let builders = [OpBuilder<(ins "::mlir::Type":$y, "::mlir::Value":$ids, "::mlir::Value":$table,
    "VocabularyAttr":$vocabulary), [{
      build($_builder, $_state, y, ids, table, /*scales=*/::mlir::Value(), /*zeros=*/::mlir::Value(), vocabulary);
    }]>];
  let assemblyFormat = [{
    $ids `,` $table (`scales` `(` $scales^ `)`)? (`zeros` `(` $zeros^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
}

def Llm_ShiftTokensOp : Llm_PureOp<"shift_tokens", [Shardable, Cost, AllTypesMatch<["labels", "ids"]>]> {
  let summary = "Returns what a decoder reads to predict labels: the labels shifted by one.";
  let description = [{
    ids[b, 0] = start, and ids[b, j] = labels[b, j - 1], or `padding` where that label is below 0, which means no loss.

    ```mlir
    %ids = llm.shift_tokens %labels {padding = 0 : i64, start = 0 : i64} : tensor<8x512xi32>
    ```
  }];
  let arguments = (ins Llm_Ids:$labels, I64Attr:$start, I64Attr:$padding);
  let results = (outs Llm_Ids:$ids);
  let assemblyFormat = "$labels attr-dict `:` type($labels)";
}

def Llm_AddPositionsOp : Llm_PureOp<"add_positions",
    [ShardableWithChange, CostWithTraffic, Differentiable, BuffersInPlace, GroupElementwise, AllTypesMatch<["x", "y"]>]> {
  let summary = "Adds the row of a table that belongs to each position.";
  let description = [{
    y[b, s, :] = x[b, s, :] + table[s, :]; the table has at least seq rows. Keeps nothing. With `axes`, x is a rank's part of the
    sequence: its first position is the rank's position times seq, and the table has the rows of all ranks.

    ```mlir
    %y = llm.add_positions %x, %table
       : (tensor<8x1024x768xbf16>, tensor<1024x768xbf16>) -> tensor<8x1024x768xbf16>
    ```
  }];
  let arguments = (ins Llm_Tensor:$x, Llm_Tensor:$table, OptionalAttr<Llm_Axes>:$axes);
  let results = (outs Llm_Tensor:$y);
  let assemblyFormat = "$x `,` $table attr-dict `:` functional-type(operands, results)";
}

def Llm_AddBiasOp : Llm_PureOp<"add_bias",
    [Shardable, Cost, Differentiable, BuffersInPlace, GroupElementwise, AllTypesMatch<["x", "y"]>]> {
  let summary = "Adds a bias to every row.";
  let description = [{
    y[..., o] = x[..., o] + bias[o]. A product adds its bias itself, unless its sum is over ranks and the bias must be
    added once. Keeps nothing.

    ```mlir
    %y = llm.add_bias %x, %b : (tensor<8x1024x768xbf16>, tensor<768xbf16>) -> tensor<8x1024x768xbf16>
    ```
  }];
  let arguments = (ins Llm_Tensor:$x, Llm_Tensor:$bias);
  let results = (outs Llm_Tensor:$y);
  let assemblyFormat = "$x `,` $bias attr-dict `:` functional-type(operands, results)";
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

def Llm_LayerNormOp : Llm_PureOp<"layer_norm", [Shardable, Cost, Differentiable, GroupRowReduction, AllTypesMatch<["x", "y"]>]> {
  let summary = "Normalises rows to mean 0 and variance 1, then scales and shifts.";
  let description = [{
    y = (x - mean) * rstd * weight + bias over the last dimension, with the biased variance and rstd = 1 / sqrt(var +
    eps). mean and rstd are [batch, seq] in f32 (f64 for f64). Keeps for the backward: x, mean, rstd.

    ```mlir
    %y, %mean, %rstd = llm.layer_norm %x, %w, %b {eps = 1.0e-5 : f64}
       : (tensor<8x1024x768xbf16>, tensor<768xbf16>, tensor<768xbf16>)
      -> (tensor<8x1024x768xbf16>, tensor<8x1024xf32>, tensor<8x1024xf32>)
    ```
  }];
  let arguments = (ins Llm_Tensor:$x, Llm_Tensor:$weight, Llm_Tensor:$bias, F64Attr:$eps);
  let results = (outs Llm_Tensor:$y, Llm_WideTensor:$mean, Llm_WideTensor:$rstd);
  let assemblyFormat = "$x `,` $weight `,` $bias attr-dict `:` functional-type(operands, results)";
}

def Llm_RmsNormOp : Llm_PureOp<"rms_norm", [Shardable, Cost, Differentiable, GroupRowReduction, AllTypesMatch<["x", "y"]>]> {
  let summary = "Divides rows by their root mean square, then scales.";
  let description = [{
    y = x * rstd * (offset + weight), rstd = 1 / sqrt(mean(x^2) + eps) as [batch, seq] in f32 (f64 for f64). Gemma's
    weights have an `offset` of 1. Keeps for the backward: x, rstd.

    ```mlir
    %y, %rstd = llm.rms_norm %x, %w {eps = 1.0e-5 : f64}
       : (tensor<1x8192x4096xbf16>, tensor<4096xbf16>) -> (tensor<1x8192x4096xbf16>, tensor<1x8192xf32>)
    ```
  }];
  let arguments = (ins Llm_Tensor:$x, Llm_Tensor:$weight, F64Attr:$eps, DefaultValuedAttr<F64Attr, "0.0">:$offset);
  let results = (outs Llm_Tensor:$y, Llm_WideTensor:$rstd);
  let assemblyFormat = "$x `,` $weight attr-dict `:` functional-type(operands, results)";
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

def Llm_RopeOp : Llm_PureOp<"rope", [ShardableWithChange, Cost, DifferentiableInFirst, BuffersInPlace, AllTypesMatch<["x", "y"]>]> {
  let summary = "Rotates halves of each head by an angle that grows with the position.";
  let description = [{
    With d = width / heads, i < d/2 and angle = s * theta^(-2i/d): y[i] = x[i] cos - x[i + d/2] sin, y[i + d/2] = x[i +
    d/2] cos + x[i] sin. `inverse` rotates the other way, which is the vector-Jacobian product. With `rotary`, d is that
    number, and the other elements of a head do not change. A `scaling` slows pairs down. Where it is `interleaved`,
    pair i is the elements 2i and 2i + 1 instead of i and i + d/2, as in DeepSeek's models. The position of x[b, s] is
    s, or positions[b, s] where they are given; negative ones mean nothing. Keeps nothing.

    ```mlir
    %y = llm.rope %x {heads = 32 : i64, theta = 500000.0 : f64} : tensor<1x8192x4096xbf16>
    ```
  }];
  let arguments = (ins Llm_Tensor:$x, Optional<Llm_Ids>:$positions, I64Attr:$heads, F64Attr:$theta,
    OptionalAttr<Llm_RopeScalingAttr>:$scaling, UnitAttr:$inverse, OptionalAttr<I64Attr>:$rotary, UnitAttr:$interleaved);
  let results = (outs Llm_Tensor:$y);
  let assemblyFormat = "$x (`at` `(` $positions^ `:` type($positions) `)`)? attr-dict `:` type($x)";
}

def Llm_AttentionOp : Llm_PureOp<"attention", [ShardableWithChange, Cost, Differentiable, Random, GroupAttention,
    AttrSizedOperandSegments]> {
  let summary = "Computes attention with grouped heads, causal or not, without ever storing the scores.";
  let description = [{
    out = dropout(softmax(causal(q k^T * scale))) v per head; query head i reads key/value head i / (heads / kv_heads).
    With a `softcap` c, a score s is c tanh(s / c) before the mask. A query at i attends to the keys j <= i, with j > i
    - window where a window is given; to all keys where it is `bidirectional`. With `positions`, for a row that packs
    several sequences, positions[b, i] is the number of keys before i in the sequence of i: the query attends to those
    and to i itself, as far as a window reaches. With `sinks`, each row of head h has one more score, sinks[h], that no
    value belongs to: it takes a share of the probabilities and counts in lse. Dropout of the probabilities samples
    element ((b * heads + h) * seq + i) * seq + j of the stream `key`. With a `sharding` of [b, h, i, j], the tensors
    are a rank's part of batch and heads, and b and h are those of the unsharded tensors. lse = log(sum_j exp(score)) is
    [batch, heads, seq] in f32 (f64 for f64). Keeps for the backward: q, k, v, sinks, out, lse. FLOPs: 4 * batch * seq^2
    * width, half of it where causal.

    ```mlir
    %out, %lse = llm.attention %q, %k, %v {heads = 32 : i64, kv_heads = 8 : i64, scale = 0.088388 : f64}
       : (tensor<1x8192x4096xbf16>, tensor<1x8192x1024xbf16>, tensor<1x8192x1024xbf16>)
      -> (tensor<1x8192x4096xbf16>, tensor<1x32x8192xf32>)
    ```
  }];
  let arguments = (ins Llm_Tensor:$q, Llm_Tensor:$k, Llm_Tensor:$v, Optional<Llm_Tensor>:$sinks, Optional<Llm_Ids>:$positions,
    Optional<Llm_Seed>:$seed, I64Attr:$heads, I64Attr:$kv_heads, F64Attr:$scale, OptionalAttr<I64Attr>:$window,
    DefaultValuedAttr<F64Attr, "0.0">:$p, DefaultValuedAttr<I64Attr, "0">:$key,
    OptionalAttr<Llm_ShardingAttr>:$sharding, OptionalAttr<F64Attr>:$softcap, UnitAttr:$bidirectional);
  let results = (outs Llm_Tensor:$out, Llm_WideTensor:$lse);
  let assemblyFormat = [{
    $q `,` $k `,` $v (`sinks` `(` $sinks^ `)`)? (`at` `(` $positions^ `)`)? (`seed` `(` $seed^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
}

def Llm_AttentionScoresOp : Llm_PureOp<"attention_scores", [ShardableWithChange, CostOfMatmul, Differentiable]> {
  let summary = "Multiplies queries by keys, per head.";
  let description = [{
    s[b, h, i, j] = scale * sum_d q[b, i, h, d] k[b, j, h / (heads / kv_heads), d]. There may be more keys than queries, or fewer. Keeps for the backward: q, k.

    ```mlir
    %s = llm.attention_scores %q, %k {heads = 12 : i64, kv_heads = 12 : i64, scale = 0.125 : f64}
       : (tensor<8x1024x768xbf16>, tensor<8x1024x768xbf16>) -> tensor<8x12x1024x1024xbf16>
    ```
  }];
  let arguments = (ins Llm_Tensor:$q, Llm_Tensor:$k, I64Attr:$heads, I64Attr:$kv_heads, F64Attr:$scale);
  let results = (outs Llm_Tensor:$scores);
  let assemblyFormat = "$q `,` $k attr-dict `:` functional-type(operands, results)";
}

def Llm_CausalMaskOp : Llm_PureOp<"causal_mask",
    [Shardable, Cost, DifferentiableInFirst, BuffersInPlace, GroupElementwise, AllTypesMatch<["scores", "masked"]>]> {
  let summary = "Replaces the scores of masked keys.";
  let description = [{
    masked[b, h, i, j] = scores where j <= i (and j > i - window), else `fill`. The gradient of a replaced score is
    zero: the vector-Jacobian product is the same op with fill 0. Keeps nothing.

    ```mlir
    %m = llm.causal_mask %s {fill = 0xFFF0000000000000 : f64} : tensor<8x12x1024x1024xbf16>
    ```
  }];
  let arguments = (ins Llm_Tensor:$scores, F64Attr:$fill, OptionalAttr<I64Attr>:$window);
  let results = (outs Llm_Tensor:$masked);
  let assemblyFormat = "$scores attr-dict `:` type($scores)";
}

def Llm_SoftmaxOp : Llm_PureOp<"softmax",
    [Shardable, Cost, DifferentiableInFirst, BuffersInPlace, GroupRowReduction, AllTypesMatch<["x", "y"]>]> {
  let summary = "Computes softmax over the last dimension.";
  let description = [{
    y = exp(x - max) / sum exp(x - max). Keeps for the backward: y.

    ```mlir
    %p = llm.softmax %m : tensor<8x12x1024x1024xbf16>
    ```
  }];
  let arguments = (ins Llm_Rows:$x);
  let results = (outs Llm_Rows:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let hasVerifier = 0;
}

def Llm_AttentionValuesOp : Llm_PureOp<"attention_values", [ShardableWithChange, CostOfMatmul, Differentiable]> {
  let summary = "Multiplies probabilities by values, per head.";
  let description = [{
    out[b, i, h, d] = scale * sum_j p[b, h, i, j] v[b, j, h / (heads / kv_heads), d]. Keeps for the backward: p, v.

    ```mlir
    %o = llm.attention_values %p, %v {heads = 12 : i64, kv_heads = 12 : i64}
       : (tensor<8x12x1024x1024xbf16>, tensor<8x1024x768xbf16>) -> tensor<8x1024x768xbf16>
    ```
  }];
  let arguments = (ins Llm_Tensor:$probabilities, Llm_Tensor:$values, I64Attr:$heads, I64Attr:$kv_heads,
    DefaultValuedAttr<F64Attr, "1.0">:$scale);
  let results = (outs Llm_Tensor:$out);
  let assemblyFormat = "$probabilities `,` $values attr-dict `:` functional-type(operands, results)";
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

def Llm_GeluOp : Llm_UnaryOp<"gelu", GroupElementwiseEpilogue, (ins UnitAttr:$exact)> {
  let summary = "Computes GELU, by the tanh approximation or exactly.";
  let description = [{
    y = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), as GPT-2's `gelu_new`; with `exact`, y = x/2 (1 + erf(x /
    sqrt(2))), as GPT-NeoX's `gelu`. Keeps for the backward: x.

    ```mlir
    %y = llm.gelu %x : tensor<8x1024x3072xbf16>
    ```
  }];
  let hasVerifier = 0;
}

def Llm_SiluOp : Llm_UnaryOp<"silu", GroupElementwise, (ins DefaultValuedAttr<F64Attr, "1.0">:$alpha)> {
  let summary = "Multiplies x by its logistic.";
  let description = [{
    y = x / (1 + exp(-alpha x)), with an alpha of 1 by default. Keeps for the backward: x.

    ```mlir
    %y = llm.silu %x : tensor<1x8192x14336xbf16>
    ```
  }];
}

def Llm_ClampOp : Llm_UnaryOp<"clamp", GroupElementwise, (ins OptionalAttr<F64Attr>:$low, OptionalAttr<F64Attr>:$high)> {
  let summary = "Clamps values below `low` or above `high`.";
  let description = [{
    y = min(max(x, low), high), with one of the bounds or both. Keeps for the backward: x.

    ```mlir
    %y = llm.clamp %x {high = 7.0 : f64, low = -7.0 : f64} : tensor<32x1x512x2880xbf16>
    ```
  }];
}

def Llm_ScaleOp : Llm_UnaryOp<"scale", GroupElementwise, (ins F64Attr:$factor)> {
  let summary = "Multiplies by a constant.";
  let description = [{
    y = factor * x. The vector-Jacobian product is the same op on the gradient. Keeps nothing.

    ```mlir
    %y = llm.scale %x {factor = 48.0 : f64} : tensor<1x8192x2304xbf16>
    ```
  }];
}

def Llm_SoftcapOp : Llm_UnaryOp<"softcap", GroupElementwise, (ins F64Attr:$cap)> {
  let summary = "Limits large numbers smoothly to a cap.";
  let description = [{
    y = cap tanh(x / cap), as for Gemma 2's logits. Keeps for the backward: y.

    ```mlir
    %y = llm.softcap %x {cap = 30.0 : f64} : tensor<1x8192x256000xbf16>
    ```
  }];
}

class Llm_BinaryOp<string mnemonic> : Llm_PureOp<mnemonic,
    [Shardable, Cost, Differentiable, BuffersInPlace, GroupElementwise, AllTypesMatch<["a", "b", "y"]>]> {
  let arguments = (ins Llm_Tensor:$a, Llm_Tensor:$b);
  let results = (outs Llm_Tensor:$y);
  let assemblyFormat = "$a `,` $b attr-dict `:` type($y)";
  let hasFolder = 1;
}

def Llm_AddOp : Llm_BinaryOp<"add"> {
  let summary = "Adds two tensors of one shape.";
  let description = [{
    y = a + b. Keeps nothing. Folds where one is a fill of -0, the identity of sums. (A fill of 0 is none: -0 + 0 is 0.)

    ```mlir
    %y = llm.add %a, %b : tensor<8x1024x768xbf16>
    ```
  }];
  let hasVerifier = 0;
}

def Llm_MulOp : Llm_BinaryOp<"mul"> {
  let summary = "Multiplies two tensors of one shape elementwise.";
  let description = [{
    y = a * b. Keeps for the backward: both factors, each for the other's gradient. Folds where one is a fill of 1.

    ```mlir
    %y = llm.mul %a, %b : tensor<1x8192x14336xbf16>
    ```
  }];
  let hasVerifier = 0;
}

def Llm_DropoutOp : Llm_PureOp<"dropout",
    [ShardableWithChange, Cost, DifferentiableInFirst, BuffersInPlace, GroupCostlyElementwise, Random, AllTypesMatch<["x", "y"]>]> {
  let summary = "Zeroes elements at random by a counter-based generator, and scales the rest.";
  let description = [{
    y[i] = x[i] / (1 - p) where u(seed, key, i) >= p, else 0; i is the flat element number and u is word i mod 4 of
    Philox4x32-10 with key = seed and counter = (i / 4, key), divided by 2^32. It has no state: a clone samples the same
    mask. Folds where p is 0. The vector-Jacobian product is the same op on the gradient. Keeps the seed. With a
    `sharding`, x is a rank's part of a whole, and i is the element's number in the whole. A seed of four words
    (llm.micro_batch_seed) says that x is a micro-batch: a part of the rows of dimension 0 that this rank has. i is then
    the element's number in the whole of which all micro-batches of the rank together are its part.

    ```mlir
    %y = llm.dropout %x, %seed {key = 7 : i64, p = 0.1 : f64} : tensor<8x1024x768xbf16>, tensor<2xi32>
    ```
  }];
  let arguments = (ins Llm_Tensor:$x, Llm_Seed:$seed, F64Attr:$p, I64Attr:$key,
    OptionalAttr<Llm_ShardingAttr>:$sharding);
  let results = (outs Llm_Tensor:$y);
  let assemblyFormat = "$x `,` $seed attr-dict `:` type($x) `,` type($seed)";
  let hasFolder = 1;
}

def Llm_StoredDropoutOp : Llm_PureOp<"stored_dropout",
    [ShardableWithChange, Cost, DifferentiableInFirst, BuffersInPlace, GroupCostlyElementwise, Random, AllTypesMatch<["x", "y"]>]> {
  let summary = "Applies dropout and returns its mask, one byte an element.";
  let description = [{
    It computes llm.dropout, bit for bit; mask[i] is 1 where the element stays. Keeps for the backward: the mask.

    ```mlir
    %y, %mask = llm.stored_dropout %x, %seed {key = 7 : i64, p = 0.1 : f64}
       : (tensor<8x1024x768xbf16>, tensor<2xi32>) -> (tensor<8x1024x768xbf16>, tensor<8x1024x768xi8>)
    ```
  }];
  let arguments = (ins Llm_Tensor:$x, Llm_Seed:$seed, F64Attr:$p, I64Attr:$key,
    OptionalAttr<Llm_ShardingAttr>:$sharding);
  let results = (outs Llm_Tensor:$y, Llm_Mask:$mask);
  let assemblyFormat = "$x `,` $seed attr-dict `:` functional-type(operands, results)";
}

def Llm_ApplyMaskOp : Llm_PureOp<"apply_mask",
    [Shardable, Cost, DifferentiableInFirst, BuffersInPlace, GroupElementwise, AllTypesMatch<["x", "y"]>]> {
  let summary = "Multiplies by a stored dropout mask and scales.";
  let description = [{
    y = mask ? x / (1 - p) : 0. Keeps for the backward: the mask.

    ```mlir
    %dx = llm.apply_mask %dy, %mask {p = 0.1 : f64} : tensor<8x1024x768xbf16>, tensor<8x1024x768xi8>
    ```
  }];
  let arguments = (ins Llm_Tensor:$x, Llm_Mask:$mask, F64Attr:$p);
  let results = (outs Llm_Tensor:$y);
  let assemblyFormat = "$x `,` $mask attr-dict `:` type($x) `,` type($mask)";
}

def Llm_CastOp : Llm_PureOp<"cast", [Shardable, Cost, DifferentiableInFirst, BuffersInPlace, GroupElementwise]> {
  let summary = "Rounds or widens elements.";
  let description = [{
    y = x in another element type, rounded to nearest even. Keeps nothing. Folds where it changes no type, and where it
    undoes a cast that widened.

    ```mlir
    %y = llm.cast %x : tensor<8x1024x768xbf16> -> tensor<8x1024x768xf32>
    ```
  }];
  let arguments = (ins Llm_Tensor:$x);
  let results = (outs Llm_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($y)";
  let hasFolder = 1;
}

def Llm_FillOp : Llm_PureOp<"fill", [Cost]> {
  let summary = "Fills a tensor with one number.";
  let description = [{
    y = value everywhere. A backward starts from a gradient that is a fill of 1.

    ```mlir
    %one = llm.fill {value = 1.0 : f64} : tensor<f32>
    ```
  }];
  let arguments = (ins F64Attr:$value);
  let results = (outs Llm_Tensor:$y);
  let assemblyFormat = "attr-dict `:` type($y)";
  let hasVerifier = 0;
}

//===----------------------------------------------------------------------===//
// Loss
//===----------------------------------------------------------------------===//

def Llm_CrossEntropyOp : Llm_PureOp<"cross_entropy", [ShardableBySeparationAndChange, Cost, Differentiable]> {
  let summary = "Computes the mean negative log-likelihood of the targets.";
  let description = [{
    loss = mean over the targets that are not `ignore_index` of lse - logits[target], as a scalar in f32 (f64 for f64);
    lse = log(sum exp(logits)) is [batch, seq]. Logits are never copied: their f32 values exist only in registers. With
    a `label_smoothing` e the likelihood of the target has the weight 1 - e, and that of every token e / vocabulary, as
    in torch.nn.functional.cross_entropy; a `z_loss` z adds z lse^2 (Chowdhery et al. 2022, section 5). A count replaces
    the number of such targets as the divisor: where it counts those of all ranks, the sum of the losses is the mean of
    all. Keeps for the backward: logits, lse, targets.

    ```mlir
    %loss, %lse = llm.cross_entropy %logits, %targets
       : (tensor<8x1024x50257xbf16>, tensor<8x1024xi32>) -> (tensor<f32>, tensor<8x1024xf32>)
    ```
  }];
  let arguments = (ins Llm_Tensor:$logits, Llm_Ids:$targets, Optional<Llm_Count>:$count,
    DefaultValuedAttr<I64Attr, "-100">:$ignore_index,
    DefaultValuedAttr<F64Attr, "0.0">:$label_smoothing, DefaultValuedAttr<F64Attr, "0.0">:$z_loss);
  let results = (outs Llm_Scalar:$loss, Llm_WideTensor:$lse);
  let assemblyFormat = [{
    $logits `,` $targets (`count` `(` $count^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
}

def Llm_LogSumExpOp : Llm_PureOp<"log_sum_exp", [ShardableByJoin, Cost]> {
  let summary = "Computes the logarithm of the sum of exponentials of each row.";
  let description = [{
    lse[...] = log(sum_v exp(x[..., v])), in f32 (f64 for f64). With a `vocabulary`, the columns are a rank's part of
    it, and lse is that of its tokens; the same op, over a dimension of ranks, combines those of all ranks. It has no
    gradient, because that of llm.target_loss includes it.

    ```mlir
    %lse = llm.log_sum_exp %logits : (tensor<8x1024x50257xbf16>) -> tensor<8x1024xf32>
    ```
  }];
  let arguments = (ins Llm_Rows:$x, OptionalAttr<Llm_VocabularyAttr>:$vocabulary);
  let results = (outs Llm_WideTensor:$lse);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
}

def Llm_TargetLossOp : Llm_PureOp<"target_loss", [ShardableWithChange, Cost, DifferentiableInFirst]> {
  let summary = "Computes the mean negative log-likelihood of the targets from the logarithm of each row's sum.";
  let description = [{
    loss = sum over the targets that are not `ignore_index` of lse - logits[target], divided by the count: the loss of
    llm.cross_entropy, whose lse is llm.log_sum_exp of the logits. With a `vocabulary`, the logits are a rank's columns
    of it. Only targets among them are summed, and a `label_smoothing` covers only these columns, so that the sum over
    ranks is the loss. The gradient of the logits contains that of their lse. Keeps for the backward: logits, lse,
    targets.

    ```mlir
    %loss = llm.target_loss %logits, %lse, %targets
       : (tensor<8x1024x50257xbf16>, tensor<8x1024xf32>, tensor<8x1024xi32>) -> tensor<f32>
    ```
  }];
  let arguments = (ins Llm_Rows:$logits, Llm_WideTensor:$lse, Llm_Ids:$targets, Optional<Llm_Count>:$count,
    DefaultValuedAttr<I64Attr, "-100">:$ignore_index, OptionalAttr<Llm_VocabularyAttr>:$vocabulary,
    DefaultValuedAttr<F64Attr, "0.0">:$label_smoothing, DefaultValuedAttr<F64Attr, "0.0">:$z_loss);
  let results = (outs Llm_Scalar:$loss);
  let assemblyFormat = [{
    $logits `,` $lse `,` $targets (`count` `(` $count^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
}

def Llm_CountTargetsOp : Llm_PureOp<"count_targets", [Cost]> {
  let summary = "Counts the targets that a loss is the mean over.";
  let description = [{
    count = the number of targets that are not `ignore_index`.

    ```mlir
    %count = llm.count_targets %targets : tensor<8x1024xi32> -> tensor<i32>
    ```
  }];
  let arguments = (ins Llm_Ids:$targets, DefaultValuedAttr<I64Attr, "-100">:$ignore_index);
  let results = (outs Llm_Count:$count);
  let assemblyFormat = "$targets attr-dict `:` type($targets) `->` type($count)";
  let hasVerifier = 0;
}

#endif // LLMMEM_DIALECT_LLMFORWARDOPS
