//===- ConvolutionOps.td - Short convolutions along a sequence -*- tablegen -*-===//
//
// A causal depthwise convolution mixes a few neighbouring tokens, each channel by weights of its
// own (Liquid AI 2025; also in front of gated DeltaNet and Mamba). A step of inference keeps the
// last rows of each sequence in a ring: the token at position p has the row p mod rows.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_DIALECT_CONVOLUTIONOPS
#define LLMMEM_DIALECT_CONVOLUTIONOPS

include "llmmem/Dialect/LlmOpBase.td"

def Llm_CausalConvOp : Llm_PureOp<"causal_conv", [Shardable, Cost, Differentiable, AllTypesMatch<["x", "y"]>]> {
  let summary = "Convolves each channel of a sequence with a few weights of its own.";
  let description = [{
    With T taps, y[b, s, c] = sum over t < T of weight[t, c] x[b, s - (T - 1) + t, c], where rows before the first are 0:
    the last tap multiplies the token itself. `inverse` reads later rows, x[b, s + (T - 1) - t, c], which is the
    vector-Jacobian product; rows after the last are 0. Keeps for the backward: x. FLOPs: 2 * taps * elements of x.

    ```mlir
    %y = llm.causal_conv %x, %w : tensor<8x1024x2048xbf16>, tensor<3x2048xbf16>
    ```
  }];
  let arguments = (ins Llm_Tensor:$x, Llm_Tensor:$weight, UnitAttr:$inverse);
  let results = (outs Llm_Tensor:$y);
  let assemblyFormat = "$x `,` $weight attr-dict `:` type($x) `,` type($weight)";
}

def Llm_CausalConvWeightGradOp : Llm_PureOp<"causal_conv_weight_grad",
    [Cost, BuffersInPlace, AccumulatingOpInterface, AllTypesMatch<["x", "dy"]>]> {
  let summary = "Computes the gradient of the weights of a causal convolution.";
  let description = [{
    dw[t, c] = into[t, c] + sum over b and s of dy[b, s, c] x[b, s - (T - 1) + t, c], where rows before the first are 0.

    ```mlir
    %dw = llm.causal_conv_weight_grad %x, %dy
       : (tensor<8x1024x2048xbf16>, tensor<8x1024x2048xbf16>) -> tensor<3x2048xbf16>
    ```
  }];
  let arguments = (ins Llm_Tensor:$x, Llm_Tensor:$dy, Optional<Llm_Tensor>:$into);
  let results = (outs Llm_Tensor:$dw);
  let assemblyFormat = "$x `,` $dy (`into` `(` $into^ `)`)? attr-dict `:` functional-type(operands, results)";
}

def Llm_CachedConvOp : Llm_PureOp<"cached_conv", [Shardable, Cost, BuffersOnce, AllTypesMatch<["x", "y"]>]> {
  let summary = "Convolves new tokens with those in a ring and with each other.";
  let description = [{
    This is llm.causal_conv for new tokens at these positions: rows of previous tokens come from the ring `state`,
    [batch, rows, channels], where the token at position p has the row p mod rows. The rows are at least the taps less
    1. Rows without a position give 0. The op runs once, before llm.append_state overwrites what it reads.

    ```mlir
    %y = llm.cached_conv %x, %w state(%state) at(%positions)
       : (tensor<16x1x2048xbf16>, tensor<3x2048xbf16>, tensor<16x2x2048xbf16>, tensor<16x1xi32>) -> tensor<16x1x2048xbf16>
    ```
  }];
  let arguments = (ins Llm_Tensor:$x, Llm_Tensor:$weight, Llm_Tensor:$state, Llm_Ids:$positions);
  let results = (outs Llm_Tensor:$y);
  let assemblyFormat = [{
    $x `,` $weight `state` `(` $state `)` `at` `(` $positions `)` attr-dict `:` functional-type(operands, results)
  }];
}

def Llm_AppendStateOp : Llm_PureOp<"append_state", [Shardable, CostWithTraffic, BuffersInPlace, AllTypesMatch<["state", "new_state"]>]> {
  let summary = "Puts the last rows of new tokens into a ring.";
  let description = [{
    The result is the ring with x[b, s] in the row positions[b, s] mod rows. Of the tokens that have the same row the
    last one stays; rows without a position are not stored. The result reuses the ring's bytes.

    ```mlir
    %state1 = llm.append_state %state, %x at(%positions)
       : (tensor<16x2x2048xbf16>, tensor<16x1x2048xbf16>, tensor<16x1xi32>) -> tensor<16x2x2048xbf16>
    ```
  }];
  let arguments = (ins Llm_Tensor:$state, Llm_Tensor:$x, Llm_Ids:$positions);
  let results = (outs Llm_Tensor:$new_state);
  let assemblyFormat = "$state `,` $x `at` `(` $positions `)` attr-dict `:` functional-type(operands, results)";
}

#endif // LLMMEM_DIALECT_CONVOLUTIONOPS
