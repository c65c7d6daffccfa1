//===- LlmBackwardOps.td - What gradients are written in -------*- tablegen -*-===//
//
// Only what a forward op cannot express has an op of its own. Gradients of parameters take an
// accumulator, `into`, whose bytes the result reuses (a resident gradient, or an earlier use of a
// tied weight).
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_DIALECT_LLMBACKWARDOPS
#define LLMMEM_DIALECT_LLMBACKWARDOPS

include "llmmem/Dialect/LlmForwardOps.td"

//===----------------------------------------------------------------------===//
// Gradients of parameters
//===----------------------------------------------------------------------===//

def Llm_LinearWeightGradOp : Llm_PureOp<"linear_weight_grad", [CostOfMatmul, BuffersInPlace, GroupMatmul,
    AccumulatingOpInterface]> {
  let summary = "Computes the gradient of a linear's weight.";
  let description = [{
    dw = into + x^T dy (layout in_out) or into + dy^T x (out_in), summed over all rows in f32 and rounded once.

    ```mlir
    %dw = llm.linear_weight_grad %x, %dy into(%acc) layout(in_out)
       : (tensor<8x1024x768xbf16>, tensor<8x1024x3072xbf16>, tensor<768x3072xbf16>) -> tensor<768x3072xbf16>
    ```
  }];
  let arguments = (ins Llm_Tensor:$x, Llm_Tensor:$dy, Optional<Llm_Tensor>:$into, Llm_WeightLayout:$layout);
  let results = (outs Llm_Tensor:$dw);
  let assemblyFormat = [{
    $x `,` $dy (`into` `(` $into^ `)`)? `layout` `(` $layout `)` attr-dict `:` functional-type(operands, results)
  }];
}

def Llm_SumRowsOp : Llm_PureOp<"sum_rows", [Cost, BuffersInPlace, GroupColumnReduction, AccumulatingOpInterface]> {
  let summary = "Sums all dimensions except the last: the gradient of a bias.";
  let description = [{
    db = into + the sum of dy over all rows in f32, rounded once.

    ```mlir
    %db = llm.sum_rows %dy into(%acc) : (tensor<8x1024x3072xbf16>, tensor<3072xbf16>) -> tensor<3072xbf16>
    ```
  }];
  let arguments = (ins Llm_Tensor:$dy, Optional<Llm_Tensor>:$into);
  let results = (outs Llm_Tensor:$db);
  let assemblyFormat = "$dy (`into` `(` $into^ `)`)? attr-dict `:` functional-type(operands, results)";
}

def Llm_EmbeddingGradOp : Llm_PureOp<"embedding_grad", [CostWithTraffic, BuffersInPlace, AccumulatingOpInterface]> {
  let summary = "Computes the gradient of an embedding's table.";
  let description = [{
    dtable[id] = into[id] + the sum of dy over the positions with that id, in the order of the positions. With a
    `vocabulary`, dtable is a rank's part of it, and ids of other ranks add nothing.

    ```mlir
    %dt = llm.embedding_grad %ids, %dy into(%acc)
       : (tensor<8x1024xi32>, tensor<8x1024x768xbf16>, tensor<50257x768xbf16>) -> tensor<50257x768xbf16>
    ```
  }];
  let arguments = (ins Llm_Ids:$ids, Llm_Tensor:$dy, Optional<Llm_Tensor>:$into,
    OptionalAttr<Llm_VocabularyAttr>:$vocabulary);
  let results = (outs Llm_Tensor:$dtable);
  let assemblyFormat = "$ids `,` $dy (`into` `(` $into^ `)`)? attr-dict `:` functional-type(operands, results)";
}

def Llm_PositionsGradOp : Llm_PureOp<"positions_grad", [CostWithTraffic, BuffersInPlace, AccumulatingOpInterface]> {
  let summary = "Computes the gradient of a table of positions.";
  let description = [{
    dtable[s, :] = into[s, :] + sum_b dy[b, s, :]; rows beyond seq receive nothing. With `axes`, dy is a rank's part of
    the sequence, and only its positions receive something.

    ```mlir
    %dt = llm.positions_grad %dy into(%acc)
       : (tensor<8x1024x768xbf16>, tensor<1024x768xbf16>) -> tensor<1024x768xbf16>
    ```
  }];
  let arguments = (ins Llm_Tensor:$dy, Optional<Llm_Tensor>:$into, OptionalAttr<Llm_Axes>:$axes);
  let results = (outs Llm_Tensor:$dtable);
  let assemblyFormat = "$dy (`into` `(` $into^ `)`)? attr-dict `:` functional-type(operands, results)";
}

def Llm_NormWeightGradOp : Llm_PureOp<"norm_weight_grad", [Cost, BuffersInPlace, AccumulatingOpInterface, AttrSizedOperandSegments,
    AllTypesMatch<["x", "dy"]>]> {
  let summary = "Computes the gradient of the scale of a norm.";
  let description = [{
    dw = into + sum over rows of dy * (x - mean) * rstd. Without a mean it is the gradient of RMSNorm.

    ```mlir
    %dw = llm.norm_weight_grad %x, %dy, %rstd mean(%mean)
       : (tensor<8x1024x768xbf16>, tensor<8x1024x768xbf16>, tensor<8x1024xf32>, tensor<8x1024xf32>) -> tensor<768xbf16>
    ```
  }];
  let arguments = (ins Llm_Tensor:$x, Llm_Tensor:$dy, Llm_WideTensor:$rstd, Optional<Llm_WideTensor>:$mean,
    Optional<Llm_Tensor>:$into);
  let results = (outs Llm_Tensor:$dw);
  let assemblyFormat = [{
    $x `,` $dy `,` $rstd (`mean` `(` $mean^ `)`)? (`into` `(` $into^ `)`)? attr-dict `:`
    functional-type(operands, results)
  }];
}

//===----------------------------------------------------------------------===//
// Gradients of activations
//===----------------------------------------------------------------------===//

def Llm_LayerNormGradOp : Llm_PureOp<"layer_norm_grad", [Cost, BuffersInPlace, GroupRowReduction, AllTypesMatch<["x", "dy", "dx"]>]> {
  let summary = "Computes the gradient of layer_norm's input.";
  let description = [{
    With n = (x - mean) rstd and g = dy * weight: dx = rstd (g - mean(g) - n mean(g n)), per row.

    ```mlir
    %dx = llm.layer_norm_grad %x, %mean, %rstd, %w, %dy
       : (tensor<8x1024x768xbf16>, tensor<8x1024xf32>, tensor<8x1024xf32>, tensor<768xbf16>, tensor<8x1024x768xbf16>)
      -> tensor<8x1024x768xbf16>
    ```
  }];
  let arguments = (ins Llm_Tensor:$x, Llm_WideTensor:$mean, Llm_WideTensor:$rstd, Llm_Tensor:$weight, Llm_Tensor:$dy);
  let results = (outs Llm_Tensor:$dx);
  let assemblyFormat = [{
    $x `,` $mean `,` $rstd `,` $weight `,` $dy attr-dict `:` functional-type(operands, results)
  }];
}

def Llm_RmsNormGradOp : Llm_PureOp<"rms_norm_grad", [Cost, BuffersInPlace, GroupRowReduction, AllTypesMatch<["x", "dy", "dx"]>]> {
  let summary = "Computes the gradient of rms_norm's input.";
  let description = [{
    With n = x rstd and g = dy * (offset + weight): dx = rstd (g - n mean(g n)), per row.

    ```mlir
    %dx = llm.rms_norm_grad %x, %rstd, %w, %dy
       : (tensor<1x8192x4096xbf16>, tensor<1x8192xf32>, tensor<4096xbf16>, tensor<1x8192x4096xbf16>)
      -> tensor<1x8192x4096xbf16>
    ```
  }];
  let arguments = (ins Llm_Tensor:$x, Llm_WideTensor:$rstd, Llm_Tensor:$weight, Llm_Tensor:$dy,
    DefaultValuedAttr<F64Attr, "0.0">:$offset);
  let results = (outs Llm_Tensor:$dx);
  let assemblyFormat = "$x `,` $rstd `,` $weight `,` $dy attr-dict `:` functional-type(operands, results)";
}

def Llm_AttentionGradOp : Llm_PureOp<"attention_grad", [CostWithWorkspace, Random, GroupAttention, AttrSizedOperandSegments,
    AllTypesMatch<["q", "out", "dout", "dq"]>, AllTypesMatch<["k", "dk"]>, AllTypesMatch<["v", "dv"]>]> {
  let summary = "Computes the gradients of attention's queries, keys and values without ever storing the scores.";
  let description = [{
    Probabilities are recomputed from q, k and lse (Dao et al. 2022, algorithm 4). The workspace is delta = rowsum(dout
    * out), [batch, heads, seq] in f32 (f64 for f64). Dropout samples the forward's mask again. With a `softcap` c, the
    gradient of a score s is that of c tanh(s / c) times 1 - tanh(s / c)^2. Sinks are already in lse and in out.
    `positions` are those of llm.attention.

    ```mlir
    %dq, %dk, %dv = llm.attention_grad %q, %k, %v, %out, %lse, %dout
        {heads = 32 : i64, kv_heads = 8 : i64, scale = 0.088388 : f64}
       : (tensor<1x8192x4096xbf16>, tensor<1x8192x1024xbf16>, tensor<1x8192x1024xbf16>, tensor<1x8192x4096xbf16>,
          tensor<1x32x8192xf32>, tensor<1x8192x4096xbf16>)
      -> (tensor<1x8192x4096xbf16>, tensor<1x8192x1024xbf16>, tensor<1x8192x1024xbf16>)
    ```
  }];
  let arguments = (ins Llm_Tensor:$q, Llm_Tensor:$k, Llm_Tensor:$v, Llm_Tensor:$out, Llm_WideTensor:$lse,
    Llm_Tensor:$dout, Optional<Llm_Ids>:$positions, Optional<Llm_Seed>:$seed,
    I64Attr:$heads, I64Attr:$kv_heads, F64Attr:$scale, OptionalAttr<I64Attr>:$window,
    DefaultValuedAttr<F64Attr, "0.0">:$p, DefaultValuedAttr<I64Attr, "0">:$key,
    OptionalAttr<Llm_ShardingAttr>:$sharding, OptionalAttr<F64Attr>:$softcap, UnitAttr:$bidirectional);
  let results = (outs Llm_Tensor:$dq, Llm_Tensor:$dk, Llm_Tensor:$dv);
  let assemblyFormat = [{
    $q `,` $k `,` $v `,` $out `,` $lse `,` $dout (`at` `(` $positions^ `)`)? (`seed` `(` $seed^ `)`)? attr-dict `:`
    functional-type(operands, results)
  }];
}

def Llm_AttentionSinkGradOp : Llm_PureOp<"attention_sink_grad", [Cost, BuffersInPlace, AccumulatingOpInterface]> {
  let summary = "Computes the gradient of attention's sinks.";
  let description = [{
    dsinks[h] = into[h] - sum over b and i of exp(sinks[h] - lse[b, h, i]) delta[b, h, i], with delta = rowsum(dout *
    out) of a head: all values lose what a sink takes.

    ```mlir
    %ds = llm.attention_sink_grad %sinks, %out, %lse, %dout
       : (tensor<64xbf16>, tensor<1x8192x4096xbf16>, tensor<1x64x8192xf32>, tensor<1x8192x4096xbf16>) -> tensor<64xbf16>
    ```
  }];
  let arguments = (ins Llm_Tensor:$sinks, Llm_Tensor:$out, Llm_WideTensor:$lse, Llm_Tensor:$dout, Optional<Llm_Tensor>:$into);
  let results = (outs Llm_Tensor:$dsinks);
  let assemblyFormat = [{
    $sinks `,` $out `,` $lse `,` $dout (`into` `(` $into^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
}

def Llm_AttentionValuesTransposedOp : Llm_PureOp<"attention_values_transposed", [CostOfMatmul]> {
  let summary = "Multiplies transposed probabilities by queries, summed over a group of heads.";
  let description = [{
    out[b, j, g, d] = scale * sum over i and the query heads h of group g of p[b, h, i, j] x[b, i, h, d]:
    the gradient of values (x = dout) and of keys (p = dscores, x = q).

    ```mlir
    %dv = llm.attention_values_transposed %p, %dout {heads = 12 : i64, kv_heads = 12 : i64}
       : (tensor<8x12x1024x1024xbf16>, tensor<8x1024x768xbf16>) -> tensor<8x1024x768xbf16>
    ```
  }];
  let arguments = (ins Llm_Tensor:$probabilities, Llm_Tensor:$x, I64Attr:$heads, I64Attr:$kv_heads,
    DefaultValuedAttr<F64Attr, "1.0">:$scale);
  let results = (outs Llm_Tensor:$out);
  let assemblyFormat = "$probabilities `,` $x attr-dict `:` functional-type(operands, results)";
}

class Llm_UnaryGradOp<string mnemonic, Trait elements = GroupElementwise, dag attributes = (ins)> : Llm_PureOp<mnemonic,
    [Cost, BuffersInPlace, elements, AllTypesMatch<["x", "dy", "dx"]>]> {
  let arguments = !con((ins Llm_Tensor:$x, Llm_Tensor:$dy), attributes);
  let results = (outs Llm_Tensor:$dx);
  let assemblyFormat = "$x `,` $dy attr-dict `:` type($dx)";
}

def Llm_SoftmaxGradOp : Llm_PureOp<"softmax_grad", [Cost, BuffersInPlace, GroupRowReduction, AllTypesMatch<["y", "dy", "dx"]>]> {
  let summary = "Computes the gradient of softmax's input from its result.";
  let description = [{
    dx = y (dy - sum(dy y)) over the last dimension.

    ```mlir
    %dx = llm.softmax_grad %y, %dy : tensor<8x12x1024x1024xbf16>
    ```
  }];
  let arguments = (ins Llm_Rows:$y, Llm_Rows:$dy);
  let results = (outs Llm_Rows:$dx);
  let assemblyFormat = "$y `,` $dy attr-dict `:` type($dx)";
  let hasVerifier = 0;
}

def Llm_GeluGradOp : Llm_UnaryGradOp<"gelu_grad", GroupElementwiseEpilogue, (ins UnitAttr:$exact)> {
  let summary = "Computes the gradient of gelu's input.";
  let description = [{
    With u = sqrt(2/pi) (x + 0.044715 x^3) and t = tanh(u): dx = dy ((1 + t)/2 + x/2 (1 - t^2) u'), u' = du/dx. With
    `exact`: dx = dy ((1 + erf(x / sqrt(2)))/2 + x exp(-x^2/2) / sqrt(2 pi)).

    ```mlir
    %dx = llm.gelu_grad %x, %dy : tensor<8x1024x3072xbf16>
    ```
  }];
  let hasVerifier = 0;
}

def Llm_SiluGradOp : Llm_UnaryGradOp<"silu_grad", GroupElementwise, (ins DefaultValuedAttr<F64Attr, "1.0">:$alpha)> {
  let summary = "Computes the gradient of silu's input.";
  let description = [{
    dx = dy s (1 + alpha x (1 - s)) with s = 1 / (1 + exp(-alpha x)).

    ```mlir
    %dx = llm.silu_grad %x, %dy : tensor<1x8192x14336xbf16>
    ```
  }];
}

def Llm_ClampGradOp : Llm_UnaryGradOp<"clamp_grad", GroupElementwise,
    (ins OptionalAttr<F64Attr>:$low, OptionalAttr<F64Attr>:$high)> {
  let summary = "Computes the gradient of clamp's input.";
  let description = [{
    dx = dy where low <= x <= high, else 0.

    ```mlir
    %dx = llm.clamp_grad %x, %dy {high = 7.0 : f64} : tensor<32x1x512x2880xbf16>
    ```
  }];
}

def Llm_SoftcapGradOp : Llm_PureOp<"softcap_grad", [Cost, BuffersInPlace, GroupElementwise, AllTypesMatch<["y", "dy", "dx"]>]> {
  let summary = "Computes the gradient of softcap's input from its result.";
  let description = [{
    dx = dy (1 - (y / cap)^2).

    ```mlir
    %dx = llm.softcap_grad %y, %dy {cap = 30.0 : f64} : tensor<1x8192x256000xbf16>
    ```
  }];
  let arguments = (ins Llm_Tensor:$y, Llm_Tensor:$dy, F64Attr:$cap);
  let results = (outs Llm_Tensor:$dx);
  let assemblyFormat = "$y `,` $dy attr-dict `:` type($dx)";
}

def Llm_CrossEntropyGradOp : Llm_PureOp<"cross_entropy_grad",
    [Cost, BuffersInPlace, AllTypesMatch<["logits", "dlogits"]>]> {
  let summary = "Computes the gradient of the logits.";
  let description = [{
    dlogits = dloss / n ((1 + 2 z lse) exp(logits - lse) - (1 - e) [j == target] - e / vocabulary), with the `z_loss` z
    and the `label_smoothing` e of the loss. Rows whose target is ignored have the gradient 0; n counts the others, or
    is `count`. With a `vocabulary`, the logits are a rank's columns of it: targets elsewhere subtract nothing, and
    padding has the gradient 0.

    ```mlir
    %dlogits = llm.cross_entropy_grad %logits, %lse, %targets, %dloss
       : (tensor<8x1024x50257xbf16>, tensor<8x1024xf32>, tensor<8x1024xi32>, tensor<f32>) -> tensor<8x1024x50257xbf16>
    ```
  }];
  let arguments = (ins Llm_Tensor:$logits, Llm_WideTensor:$lse, Llm_Ids:$targets, Llm_Scalar:$dloss,
    Optional<Llm_Count>:$count, DefaultValuedAttr<I64Attr, "-100">:$ignore_index,
    OptionalAttr<Llm_VocabularyAttr>:$vocabulary,
    DefaultValuedAttr<F64Attr, "0.0">:$label_smoothing, DefaultValuedAttr<F64Attr, "0.0">:$z_loss);
  let results = (outs Llm_Tensor:$dlogits);
  let assemblyFormat = [{
    $logits `,` $lse `,` $targets `,` $dloss (`count` `(` $count^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
}

#endif // LLMMEM_DIALECT_LLMBACKWARDOPS
