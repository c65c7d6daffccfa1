//===- RecurrentOps.td - States that are carried along a sequence -*- tablegen -*-===//
//
// A head keeps a matrix, its state, which forgets a share at each token and adds an outer product.
// With the delta rule it is gated DeltaNet (Yang, Kautz and Hatamizadeh 2024); without it, it is the
// state space dual of Mamba-2 (Dao and Gu 2024). The elementwise ops make its gates.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_DIALECT_RECURRENTOPS
#define LLMMEM_DIALECT_RECURRENTOPS

include "llmmem/Dialect/LlmOpBase.td"

//===----------------------------------------------------------------------===//
// The state
//===----------------------------------------------------------------------===//

def Llm_StateScanOp : Llm_PureOp<"state_scan", [Shardable, Cost, Differentiable, AllTypesMatch<["v", "y"]>,
    AllTypesMatch<["decay", "strength"]>]> {
  let summary = "Carries a state along each sequence and reads it at each token.";
  let description = [{
    The state of a head begins as 0, [key, value], and at token t
    S_t = exp(decay_t) S_{t-1} + k_t u_t^T and y_t = scale S_t^T q_t. Without `delta`, u_t = strength_t v_t (Mamba-2, with the
    step as the strength). With it, u_t = strength_t (v_t - exp(decay_t) S_{t-1}^T k_t) (gated DeltaNet): what the key
    reads already is replaced. q and k are [batch, seq, groups, key], v is [batch, seq, heads, value]; heads / groups
    neighbouring heads have one group's query and key. decay and strength, [batch, seq, heads], are in f32, or in f64 for
    f64 tensors, as is `states`, [batch, chunks, heads, key, value]: the state after each `chunk` of tokens, and after the
    last token. A token has the same bits in llm.cached_scan. Keeps for the backward: q, k, v, decay, strength, states.

    ```mlir
    %y, %states = llm.state_scan %q, %k, %v decay(%g) strength(%b) {delta}
       : (tensor<1x512x2x64xbf16>, tensor<1x512x2x64xbf16>, tensor<1x512x4x64xbf16>, tensor<1x512x4xf32>, tensor<1x512x4xf32>)
         -> (tensor<1x512x4x64xbf16>, tensor<1x8x4x64x64xf32>)
    ```
  }];
  let arguments = (ins Llm_Tensor:$q, Llm_Tensor:$k, Llm_Tensor:$v, Llm_Tensor:$decay, Llm_Tensor:$strength,
    UnitAttr:$delta, DefaultValuedAttr<F64Attr, "1.0">:$scale, DefaultValuedAttr<I64Attr, "64">:$chunk);
  let results = (outs Llm_Tensor:$y, Llm_Tensor:$states);
  let assemblyFormat = [{
    $q `,` $k `,` $v `decay` `(` $decay `)` `strength` `(` $strength `)` attr-dict `:` functional-type(operands, results)
  }];
}

def Llm_StateScanGradOp : Llm_PureOp<"state_scan_grad", [CostWithWorkspace, AllTypesMatch<["v", "dy", "dv"]>,
    AllTypesMatch<["dq", "dk"]>, AllTypesMatch<["decay", "strength", "ddecay", "dstrength"]>]> {
  let summary = "Computes the gradients of what llm.state_scan reads.";
  let description = [{
    Goes through the chunks from the last to the first, and computes in each what the forward did from the state before it. The
    workspace holds for each head the gradient of the state, and what the tokens of one chunk have in common (Yang et al.
    2024, section 3; Dao and Gu 2024, section 6). dq and dk are those of each head, [batch, seq, heads, key]: llm.sum_heads adds
    what a group shares.

    ```mlir
    %dq, %dk, %dv, %dg, %db = llm.state_scan_grad %q, %k, %v decay(%g) strength(%b) states(%states) %dy {delta}
       : (tensor<1x512x2x64xbf16>, tensor<1x512x2x64xbf16>, tensor<1x512x4x64xbf16>, tensor<1x512x4xf32>, tensor<1x512x4xf32>,
          tensor<1x8x4x64x64xf32>, tensor<1x512x4x64xbf16>)
         -> (tensor<1x512x4x64xbf16>, tensor<1x512x4x64xbf16>, tensor<1x512x4x64xbf16>, tensor<1x512x4xf32>, tensor<1x512x4xf32>)
    ```
  }];
  let arguments = (ins Llm_Tensor:$q, Llm_Tensor:$k, Llm_Tensor:$v, Llm_Tensor:$decay, Llm_Tensor:$strength,
    Llm_Tensor:$states, Llm_Tensor:$dy, UnitAttr:$delta, DefaultValuedAttr<F64Attr, "1.0">:$scale,
    DefaultValuedAttr<I64Attr, "64">:$chunk);
  let results = (outs Llm_Tensor:$dq, Llm_Tensor:$dk, Llm_Tensor:$dv, Llm_Tensor:$ddecay, Llm_Tensor:$dstrength);
  let assemblyFormat = [{
    $q `,` $k `,` $v `decay` `(` $decay `)` `strength` `(` $strength `)` `states` `(` $states `)` $dy attr-dict `:`
    functional-type(operands, results)
  }];
}

def Llm_CachedScanOp : Llm_PureOp<"cached_scan", [Shardable, Cost,
    DeclareOpInterfaceMethods<BufferOpInterface, ["getInPlaceOperands", "isRecomputable"]>, AllTypesMatch<["v", "y"]>,
    AllTypesMatch<["decay", "strength"]>, AllTypesMatch<["state", "new_state"]>]> {
  let summary = "Carries the states of a step of inference over new tokens.";
  let description = [{
    This is llm.state_scan for new tokens at these positions, from `state`, [batch, heads, key, value], whose bytes the new state
    reuses. A token at position 0 begins with the state 0. A row without a position gives 0, and leaves the state as it is. The
    op runs once.

    ```mlir
    %y, %state1 = llm.cached_scan %q, %k, %v decay(%g) strength(%b) state(%state) at(%positions) {delta}
       : (tensor<16x1x2x64xbf16>, tensor<16x1x2x64xbf16>, tensor<16x1x4x64xbf16>, tensor<16x1x4xf32>, tensor<16x1x4xf32>,
          tensor<16x4x64x64xf32>, tensor<16x1xi32>) -> (tensor<16x1x4x64xbf16>, tensor<16x4x64x64xf32>)
    ```
  }];
  let arguments = (ins Llm_Tensor:$q, Llm_Tensor:$k, Llm_Tensor:$v, Llm_Tensor:$decay, Llm_Tensor:$strength,
    Llm_Tensor:$state, Llm_Ids:$positions, UnitAttr:$delta, DefaultValuedAttr<F64Attr, "1.0">:$scale);
  let results = (outs Llm_Tensor:$y, Llm_Tensor:$new_state);
  let assemblyFormat = [{
    $q `,` $k `,` $v `decay` `(` $decay `)` `strength` `(` $strength `)` `state` `(` $state `)` `at` `(` $positions `)`
    attr-dict `:` functional-type(operands, results)
  }];
}

//===----------------------------------------------------------------------===//
// Its gates
//===----------------------------------------------------------------------===//

def Llm_LogisticOp : Llm_UnaryOp<"logistic"> {
  let summary = "Computes the logistic.";
  let description = [{
    y = 1 / (1 + exp(-x)). Keeps for the backward: x, y.

    ```mlir
    %y = llm.logistic %x : tensor<1x512x4xf32>
    ```
  }];
  let hasVerifier = 0;
}

def Llm_SoftplusOp : Llm_UnaryOp<"softplus"> {
  let summary = "Computes a smooth positive part.";
  let description = [{
    y = log(1 + exp(x)), computed as max(x, 0) + log(1 + exp(-|x|)). Keeps for the backward: x.

    ```mlir
    %y = llm.softplus %x : tensor<1x512x4xf32>
    ```
  }];
  let hasVerifier = 0;
}

def Llm_ExpOp : Llm_UnaryOp<"exp"> {
  let summary = "Computes the exponential.";
  let description = [{
    y = exp(x). Keeps for the backward: y.

    ```mlir
    %y = llm.exp %x : tensor<4xf32>
    ```
  }];
  let hasVerifier = 0;
}

def Llm_ScaleColumnsOp : Llm_PureOp<"scale_columns",
    [Shardable, Cost, Differentiable, BuffersInPlace, GroupElementwise, AllTypesMatch<["x", "y"]>]> {
  let summary = "Multiplies each column by a weight of its own.";
  let description = [{
    y[..., j] = x[..., j] * weight[j]. Keeps for the backward: weight, and x for the weight's gradient.

    ```mlir
    %y = llm.scale_columns %x, %w : tensor<1x512x4xf32>, tensor<4xf32>
    ```
  }];
  let arguments = (ins Llm_Rows:$x, Llm_Tensor:$weight);
  let results = (outs Llm_Rows:$y);
  let assemblyFormat = "$x `,` $weight attr-dict `:` type($x) `,` type($weight)";
}

#endif // LLMMEM_DIALECT_RECURRENTOPS
