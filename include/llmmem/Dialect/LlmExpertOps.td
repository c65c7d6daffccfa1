//===- LlmExpertOps.td - Mixtures of experts -------------------*- tablegen -*-===//
//
// For each token a router chooses k of E experts. Shapes are static, so each expert has as many
// places as its capacity, in each sequence separately: what a part of the batch computes does not
// depend on the others. Tensors of experts are [expert, batch, place, width], so that an expert's
// rows are contiguous. All ops that move tokens read by a table of numbers, so bits do not depend
// on an order of threads.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_DIALECT_LLMEXPERTOPS
#define LLMMEM_DIALECT_LLMEXPERTOPS

include "llmmem/Dialect/LlmBackwardOps.td"

//===----------------------------------------------------------------------===//
// Routing
//===----------------------------------------------------------------------===//

def Llm_RouteOp : Llm_PureOp<"route", [Shardable, Cost, Differentiable]> {
  let summary = "Chooses the experts of each token, and their weights.";
  let description = [{
    The k experts of a token are those of its largest logits, largest first; of equal ones the lowest is first. (A logit
    that is NaN is never chosen; where fewer than k are left, expert 0 fills the rest.) A score is the softmax of the
    token's logits or, where it is `logistic`, 1 / (1 + exp(-logit)). With `bias`, in f32 (f64 for f64), an expert is
    chosen by score + bias[e], and its weight comes from its score alone; the bias has no gradient. With `groups`, the
    experts form that many groups of neighbours, and the choice is among the `kept_groups` groups with the largest sum
    of the selection scores of their `group_best` best experts, one expert by default. weights[..., j] is `factor` times
    the score of experts[..., j], divided by the sum of those of all k where they are `normalized`. lse is the log of
    the sum of exponentials of the logits, in f32 (f64 for f64). Keeps for the backward: logits, experts, lse.

    ```mlir
    %weights, %experts, %lse = llm.route %logits {normalized}
       : (tensor<1x4096x8xbf16>) -> (tensor<1x4096x2xbf16>, tensor<1x4096x2xi32>, tensor<1x4096xf32>)
    ```
  }];
  let arguments = (ins Llm_Rows:$logits, Optional<Llm_WideTensor>:$bias, UnitAttr:$logistic, UnitAttr:$normalized,
    DefaultValuedAttr<F64Attr, "1.0">:$factor, DefaultValuedAttr<I64Attr, "1">:$groups,
    DefaultValuedAttr<I64Attr, "1">:$kept_groups, DefaultValuedAttr<I64Attr, "1">:$group_best);
  let results = (outs Llm_Rows:$weights, Llm_Ids:$experts, Llm_WideTensor:$lse);
  let assemblyFormat = "$logits (`bias` `(` $bias^ `)`)? attr-dict `:` functional-type(operands, results)";
}

def Llm_RouteGradOp : Llm_PureOp<"route_grad", [Cost]> {
  let summary = "Computes the gradient of a router's logits from that of its weights.";
  let description = [{
    With r the scores of the chosen experts: dr = factor dweights, or factor (dweights - sum(dweights r) / sum(r)) /
    sum(r) where they are `normalized`. dlogits is that of the softmax, or of each logistic; the choice of experts has
    no gradient.

    ```mlir
    %dlogits = llm.route_grad %logits, %experts, %lse, %dweights {normalized}
       : (tensor<1x4096x8xbf16>, tensor<1x4096x2xi32>, tensor<1x4096xf32>, tensor<1x4096x2xbf16>) -> tensor<1x4096x8xbf16>
    ```
  }];
  let arguments = (ins Llm_Rows:$logits, Llm_Ids:$experts, Llm_WideTensor:$lse, Llm_Rows:$dweights,
    UnitAttr:$logistic, UnitAttr:$normalized, DefaultValuedAttr<F64Attr, "1.0">:$factor);
  let results = (outs Llm_Rows:$dlogits);
  let assemblyFormat = [{
    $logits `,` $experts `,` $lse `,` $dweights attr-dict `:` functional-type(operands, results)
  }];
}

def Llm_AssignPlacesOp : Llm_PureOp<"assign_places", [Shardable, Cost]> {
  let summary = "Gives each choice of a token a place at its expert while places are left.";
  let description = [{
    Choice i = s * k + j of sequence b is expert e = experts[b, s, j]. The choices of e take its places 0, 1, ... in
    their order; places[b, s, j] is e * capacity + the place, or -1 where e has none left: the choice is dropped.
    choices[e, b, c] is the choice that has place c, or -1 where it is empty. The capacity is the last dimension of
    `choices`; with a capacity of seq, nothing can be dropped. The op has no gradient.

    ```mlir
    %places, %choices = llm.assign_places %experts
       : tensor<1x4096x2xi32> -> (tensor<1x4096x2xi32>, tensor<8x1x1280xi32>)
    ```
  }];
  let arguments = (ins Llm_Ids:$experts);
  let results = (outs Llm_Ids:$places, Llm_Ids:$choices);
  let assemblyFormat = "$experts attr-dict `:` type($experts) `->` `(` type($places) `,` type($choices) `)`";
}

def Llm_CountDroppedOp : Llm_PureOp<"count_dropped", [Shardable, Cost]> {
  let summary = "Counts the choices that found no place.";
  let description = [{
    count = the number of elements in the tensors of places that are -1.

    ```mlir
    %dropped = llm.count_dropped %p0, %p1 : tensor<1x4096x2xi32>, tensor<1x4096x2xi32> -> tensor<i32>
    ```
  }];
  let arguments = (ins Variadic<Llm_Ids>:$places);
  let results = (outs Llm_Count:$count);
  let assemblyFormat = "$places attr-dict `:` type($places) `->` type($count)";
}

//===----------------------------------------------------------------------===//
// To the experts and back
//===----------------------------------------------------------------------===//

def Llm_DispatchOp : Llm_PureOp<"dispatch", [Shardable, CostWithTraffic, Differentiable]> {
  let summary = "Copies each token to the places of its experts.";
  let description = [{
    y[e, b, c, :] = x[b, s, :] where choices[e, b, c] = s * k + j; 0 where it is -1. With `weights`, that is multiplied
    by weights[b, s, j]: the gradient of what llm.combine reads, or what experts read where their scores multiply their
    input (Llama 4). Only the gradient reads places. Keeps for the backward: places and choices, and with weights x, too.

    ```mlir
    %y = llm.dispatch %x, %places, %choices
       : (tensor<1x4096x4096xbf16>, tensor<1x4096x2xi32>, tensor<8x1x1280xi32>) -> tensor<8x1x1280x4096xbf16>
    ```
  }];
  let arguments = (ins Llm_Tensor:$x, Llm_Ids:$places, Llm_Ids:$choices, Optional<Llm_Tensor>:$weights);
  let results = (outs Llm_Tensor:$y);
  let assemblyFormat = [{
    $x `,` $places `,` $choices (`weights` `(` $weights^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
}

def Llm_CombineOp : Llm_PureOp<"combine", [Shardable, CostWithTraffic, Differentiable]> {
  let summary = "Adds up the results of its experts for each token.";
  let description = [{
    y[b, s, :] = sum over j of weights[b, s, j] x[e, b, c, :] where places[b, s, j] = e * capacity + c, in the order of
    j and rounded once; a dropped choice adds nothing. Without weights they are 1: the gradient of llm.dispatch. Only
    the gradient reads choices. Keeps for the backward: x, places, choices, weights.

    ```mlir
    %y = llm.combine %x, %places, %choices weights(%w)
       : (tensor<8x1x1280x4096xbf16>, tensor<1x4096x2xi32>, tensor<8x1x1280xi32>, tensor<1x4096x2xbf16>)
      -> tensor<1x4096x4096xbf16>
    ```
  }];
  let arguments = (ins Llm_Tensor:$x, Llm_Ids:$places, Llm_Ids:$choices, Optional<Llm_Tensor>:$weights);
  let results = (outs Llm_Tensor:$y);
  let assemblyFormat = [{
    $x `,` $places `,` $choices (`weights` `(` $weights^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
}

def Llm_CombineWeightsGradOp : Llm_PureOp<"combine_weights_grad", [CostWithTraffic]> {
  let summary = "Computes the gradient of the weights by which experts' results are combined.";
  let description = [{
    dweights[b, s, j] = sum over the width of dy[b, s, :] x[e, b, c, :] where places[b, s, j] = e * capacity + c; 0 where it is -1.

    ```mlir
    %dw = llm.combine_weights_grad %x, %places, %dy
       : (tensor<8x1x1280x4096xbf16>, tensor<1x4096x2xi32>, tensor<1x4096x4096xbf16>) -> tensor<1x4096x2xbf16>
    ```
  }];
  let arguments = (ins Llm_Tensor:$x, Llm_Ids:$places, Llm_Tensor:$dy);
  let results = (outs Llm_Tensor:$dweights);
  let assemblyFormat = "$x `,` $places `,` $dy attr-dict `:` functional-type(operands, results)";
}

//===----------------------------------------------------------------------===//
// Products of the experts
//===----------------------------------------------------------------------===//

def Llm_GroupedLinearOp : Llm_PureOp<"grouped_linear",
    [Shardable, CostOfUnpackingMatmul, Differentiable, AttrSizedOperandSegments]> {
  let summary = "Multiplies the rows of each group by the group's own weight.";
  let description = [{
    y[g, ..., o] = sum_i x[g, ..., i] W[g, i, o], with W stored as [groups, in, out] or as [groups, out, in]. Keeps for
    the backward: x and choices. FLOPs: 2 * rows of all groups * in * out, those of empty places included. A weight in
    fewer bits has scales and zero points as a weight of llm.linear does, for groups of neighbours in its rows as they
    are stored.

    `choices` are those of llm.assign_places, one for each row of x. Rows whose choice is -1 are zeros in x, as
    llm.dispatch writes them, and so in y: a kernel need not read the weight of a group that has no other rows, whatever
    is in it. Where x has other numbers there, which is not checked, y has zeros or their products. The gradient also
    relies on zeros in such rows of dy, as llm.combine gives them.

    ```mlir
    %y = llm.grouped_linear %x, %w layout(out_in)
       : (tensor<8x1x1280x4096xbf16>, tensor<8x14336x4096xbf16>) -> tensor<8x1x1280x14336xbf16>
    %z = llm.grouped_linear %x, %q scales(%s) zeros(%zero) layout(out_in)
       : (tensor<8x1x1280x4096xbf16>, tensor<8x14336x4096xi4>, tensor<8x14336x32xbf16>, tensor<8x14336x32xi4>)
      -> tensor<8x1x1280x14336xbf16>
    %u = llm.grouped_linear %x, %w choices(%c) layout(out_in)
       : (tensor<8x1x1280x4096xbf16>, tensor<8x14336x4096xbf16>, tensor<8x1x1280xi32>) -> tensor<8x1x1280x14336xbf16>
    ```
  }];
  let arguments = (ins Llm_Tensor:$x, Llm_HeldTensor:$weight, Optional<Llm_Tensor>:$scales, Optional<Llm_ZeroPoints>:$zeros,
    Optional<Llm_Ids>:$choices, Llm_WeightLayout:$layout);
  let results = (outs Llm_Tensor:$y);
  let assemblyFormat = [{
    $x `,` $weight (`scales` `(` $scales^ `)`)? (`zeros` `(` $zeros^ `)`)? (`choices` `(` $choices^ `)`)?
    `layout` `(` $layout `)` attr-dict `:` functional-type(operands, results)
  }];
}

def Llm_GroupedWeightGradOp : Llm_PureOp<"grouped_weight_grad", [CostOfMatmul, BuffersInPlace, AccumulatingOpInterface]> {
  let summary = "Computes the gradient of the weights of llm.grouped_linear.";
  let description = [{
    dw[g] = into[g] + x[g]^T dy[g] (layout in_out) or into[g] + dy[g]^T x[g] (out_in), summed over the group's rows in
    f32 and rounded once.

    ```mlir
    %dw = llm.grouped_weight_grad %x, %dy into(%acc) layout(out_in)
       : (tensor<8x1x1280x4096xbf16>, tensor<8x1x1280x14336xbf16>, tensor<8x14336x4096xbf16>) -> tensor<8x14336x4096xbf16>
    ```
  }];
  let arguments = (ins Llm_Tensor:$x, Llm_Tensor:$dy, Optional<Llm_Tensor>:$into, Llm_WeightLayout:$layout);
  let results = (outs Llm_Tensor:$dw);
  let assemblyFormat = [{
    $x `,` $dy (`into` `(` $into^ `)`)? `layout` `(` $layout `)` attr-dict `:` functional-type(operands, results)
  }];
}

def Llm_AddGroupBiasOp : Llm_PureOp<"add_group_bias",
    [Shardable, Cost, Differentiable, BuffersInPlace, AllTypesMatch<["x", "y"]>]> {
  let summary = "Adds to the rows of each group the group's own bias.";
  let description = [{
    y[g, ..., o] = x[g, ..., o] + bias[g, o]. With `choices`, one for each row of x, rows whose choice is -1 do not
    change: where they are zeros, the next llm.grouped_linear may have `choices`, too. Its gradient relies on zeros in
    the rows of dy whose choice is -1, as llm.combine gives them. Keeps nothing.

    ```mlir
    %y = llm.add_group_bias %x, %bias choices(%c)
       : (tensor<32x1x512x2880xbf16>, tensor<32x2880xbf16>, tensor<32x1x512xi32>) -> tensor<32x1x512x2880xbf16>
    ```
  }];
  let arguments = (ins Llm_Rows:$x, Llm_Rows:$bias, Optional<Llm_Ids>:$choices);
  let results = (outs Llm_Rows:$y);
  let assemblyFormat = [{
    $x `,` $bias (`choices` `(` $choices^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
}

def Llm_SumGroupRowsOp : Llm_PureOp<"sum_group_rows", [Cost, BuffersInPlace, AccumulatingOpInterface]> {
  let summary = "Sums the rows of each group: the gradient of a group's bias.";
  let description = [{
    db[g, o] = into[g, o] + the sum of dy[g, ..., o] in f32, rounded once.

    ```mlir
    %db = llm.sum_group_rows %dy into(%acc)
       : (tensor<32x1x512x2880xbf16>, tensor<32x2880xbf16>) -> tensor<32x2880xbf16>
    ```
  }];
  let arguments = (ins Llm_Rows:$dy, Optional<Llm_Rows>:$into);
  let results = (outs Llm_Rows:$db);
  let assemblyFormat = "$dy (`into` `(` $into^ `)`)? attr-dict `:` functional-type(operands, results)";
}

def Llm_GateRowsOp : Llm_PureOp<"gate_rows", [Shardable, Cost, Differentiable, BuffersInPlace, AllTypesMatch<["x", "y"]>]> {
  let summary = "Multiplies each row by the logistic of a number of its own.";
  let description = [{
    y[..., :] = x[..., :] / (1 + exp(-gate[..., 0])): the share of a shared expert that a token takes. Keeps for the
    backward: x, gate.

    ```mlir
    %y = llm.gate_rows %x, %gate : (tensor<1x4096x2048xbf16>, tensor<1x4096x1xbf16>) -> tensor<1x4096x2048xbf16>
    ```
  }];
  let arguments = (ins Llm_Rows:$x, Llm_Rows:$gate);
  let results = (outs Llm_Rows:$y);
  let assemblyFormat = "$x `,` $gate attr-dict `:` functional-type(operands, results)";
}

def Llm_GateRowsGradOp : Llm_PureOp<"gate_rows_grad", [Cost]> {
  let summary = "Computes the gradient of the number whose logistic multiplies each row.";
  let description = [{
    With s = 1 / (1 + exp(-gate)): dgate[..., 0] = s (1 - s) sum(x[..., :] dy[..., :]).

    ```mlir
    %dgate = llm.gate_rows_grad %x, %gate, %dy
       : (tensor<1x4096x2048xbf16>, tensor<1x4096x1xbf16>, tensor<1x4096x2048xbf16>) -> tensor<1x4096x1xbf16>
    ```
  }];
  let arguments = (ins Llm_Rows:$x, Llm_Rows:$gate, Llm_Rows:$dy);
  let results = (outs Llm_Rows:$dgate);
  let assemblyFormat = "$x `,` $gate `,` $dy attr-dict `:` functional-type(operands, results)";
}

//===----------------------------------------------------------------------===//
// Balance
//===----------------------------------------------------------------------===//

def Llm_RouterLoadOp : Llm_PureOp<"router_load", [Shardable, Cost, Differentiable]> {
  let summary = "Counts how often each expert is chosen, and sums its probabilities.";
  let description = [{
    counts[e] = the number of choices that are e; sums[e] = the sum over all tokens of the softmax of their logits,
    exp(logits - lse). Both are in f32 (f64 for f64). Counts have no gradient. Keeps for the backward: logits, lse.

    ```mlir
    %counts, %sums = llm.router_load %logits, %experts, %lse
       : (tensor<1x4096x8xbf16>, tensor<1x4096x2xi32>, tensor<1x4096xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    ```
  }];
  let arguments = (ins Llm_Rows:$logits, Llm_Ids:$experts, Llm_WideTensor:$lse);
  let results = (outs Llm_WideTensor:$counts, Llm_WideTensor:$sums);
  let assemblyFormat = "$logits `,` $experts `,` $lse attr-dict `:` functional-type(operands, results)";
}

def Llm_RouterLoadGradOp : Llm_PureOp<"router_load_grad", [Cost]> {
  let summary = "Computes the gradient of a router's logits from that of its sums of probabilities.";
  let description = [{
    With p = exp(logits - lse): dlogits = p (dsums - sum(p dsums)), token by token.

    ```mlir
    %dlogits = llm.router_load_grad %logits, %lse, %dsums
       : (tensor<1x4096x8xbf16>, tensor<1x4096xf32>, tensor<8xf32>) -> tensor<1x4096x8xbf16>
    ```
  }];
  let arguments = (ins Llm_Rows:$logits, Llm_WideTensor:$lse, Llm_WideTensor:$dsums);
  let results = (outs Llm_Rows:$dlogits);
  let assemblyFormat = "$logits `,` $lse `,` $dsums attr-dict `:` functional-type(operands, results)";
}

def Llm_BalanceLossOp : Llm_PureOp<"balance_loss", [Shardable, Cost, Differentiable]> {
  let summary = "Computes the loss of a mixture for unequally chosen experts.";
  let description = [{
    loss = coefficient * E * sum_e (counts[e] / tokens) (sums[e] / tokens) over the E experts (Fedus et al. 2021), which
    is least where all are chosen equally often. `tokens` is the number that counts and sums cover, each layer
    separately. Keeps for the backward: counts.

    ```mlir
    %loss = llm.balance_loss %counts, %sums {coefficient = 0.02 : f64, tokens = 4096 : i64}
       : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>
    ```
  }];
  let arguments = (ins Llm_WideTensor:$counts, Llm_WideTensor:$sums, F64Attr:$coefficient, I64Attr:$tokens);
  let results = (outs Llm_Scalar:$loss);
  let assemblyFormat = "$counts `,` $sums attr-dict `:` functional-type(operands, results)";
}

def Llm_BalanceLossGradOp : Llm_PureOp<"balance_loss_grad", [Cost, AllTypesMatch<["counts", "dsums"]>]> {
  let summary = "Computes the gradient of the sums of probabilities of a balance loss.";
  let description = [{
    dsums[e] = dloss * coefficient * E * counts[e] / tokens^2.

    ```mlir
    %dsums = llm.balance_loss_grad %counts, %dloss {coefficient = 0.02 : f64, tokens = 4096 : i64}
       : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
    ```
  }];
  let arguments = (ins Llm_WideTensor:$counts, Llm_Scalar:$dloss, F64Attr:$coefficient, I64Attr:$tokens);
  let results = (outs Llm_WideTensor:$dsums);
  let assemblyFormat = "$counts `,` $dloss attr-dict `:` functional-type(operands, results)";
}

#endif // LLMMEM_DIALECT_LLMEXPERTOPS
