//===- LlmLossOps.td - The loss head in one op -----------------*- tablegen -*-===//

#ifndef LLMMEM_DIALECT_LLMLOSSOPS
#define LLMMEM_DIALECT_LLMLOSSOPS

include "llmmem/Dialect/LlmOpBase.td"
include "mlir/IR/OpAsmInterface.td"

// Over a part of the vocabulary it is a collective, which no pass hoists.
def Llm_LossHeadOp : Llm_Op<"loss_head", [NoMemoryEffect, DeclareOpInterfaceMethods<ConditionallySpeculatable>,
    DeclareOpInterfaceMethods<CostOpInterface, ["getBytesMoved", "getKernelCosts", "getLibraryWorkspaceBytes", "getTransfer",
      "getWorkspaceBytes", "multipliesMatrices"]>,
    BuffersInPlace, DeclareOpInterfaceMethods<ChunkedOpInterface>, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "Computes the loss of a last projection and its gradients, a chunk of tokens at a time, so that logits never exist as a whole.";
  let description = [{
    With logits = linear(x, weight): loss = mean over the targets that are not `ignore_index` of lse - logits[target];
    dx and dw are its gradients, and dw is added to the accumulator `into`. A `count` replaces the number of such
    targets; `label_smoothing` and `z_loss` are those of llm.cross_entropy. The op computes llm.linear,
    llm.cross_entropy, llm.cross_entropy_grad with the `dloss` or, without one, a dloss of 1, llm.linear_weight_grad and
    the linear of the other layout. Logits and their gradient are rounded to x's element type, as those ops round them.
    A frozen weight has no dw, and nothing is held for it; a `constant_x`, which no trained parameter reaches, has no
    dx.

    Tokens are processed in chunks of `chunk`, whose logits are in the workspace. Matmuls and the sum of dw are computed
    one accumulation tile of `granule` tokens after another, whatever the chunk, and a chunk consists of whole
    accumulation tiles, so equal operands give equal bits for every chunk. For bf16 and f16 the accumulator of dw is f32
    until it is rounded at the end: for bf16 its upper halves are in dw and its lower ones in the workspace, for f16 all
    of it is in the workspace.

    With a `vocabulary`, the weight has a rank's part of it, and the ranks of its axes exchange, chunk by chunk, the
    log-sum-exp that each has of a token: one all_gather of a number a token. The loss is then that of the targets that
    this rank has, and dx what its part contributes: sums over the ranks give those of the unsharded weight. dw is the
    rank's own.

    ```mlir
    %loss, %dx, %dw = llm.loss_head %x, %w, %targets into(%acc) layout(out_in) {chunk = 1024 : i64}
       : (tensor<8x1024x768xbf16>, tensor<50257x768xbf16>, tensor<8x1024xi32>, tensor<50257x768xbf16>)
      -> (tensor<f32>, tensor<8x1024x768xbf16>, tensor<50257x768xbf16>)
    ```
  }];
  let arguments = (ins Llm_Tensor:$x, Llm_Tensor:$weight, Llm_Ids:$targets, Optional<Llm_Tensor>:$into, Optional<Llm_Count>:$count,
    Optional<Llm_Scalar>:$dloss, Llm_WeightLayout:$layout, I64Attr:$chunk, DefaultValuedAttr<I64Attr, "512">:$granule,
    DefaultValuedAttr<I64Attr, "-100">:$ignore_index, OptionalAttr<Llm_VocabularyAttr>:$vocabulary,
    DefaultValuedAttr<F64Attr, "0.0">:$label_smoothing, DefaultValuedAttr<F64Attr, "0.0">:$z_loss,
    UnitAttr:$constant_x);
  let results = (outs Llm_Scalar:$loss, Variadic<Llm_Tensor>:$gradients);
  let assemblyFormat = [{
    $x `,` $weight `,` $targets (`into` `(` $into^ `)`)? (`count` `(` $count^ `)`)?
    (`dloss` `(` $dloss^ `)`)? `layout` `(` $layout `)` attr-dict `:`
    functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    int64_t getWidth();
    /// Return the gradients, in the order of the results; null where there is none.
    ::mlir::TypedValue<::mlir::RankedTensorType> getDx();
    ::mlir::TypedValue<::mlir::RankedTensorType> getDw();
    /// Returns the tokens of the vocabulary that the weight has.
    int64_t getColumns();
    /// Returns the number of ranks that have the vocabulary together; 1 where this one has all of
    /// it.
    int64_t getGroupSize();
    /// Returns whether there is a dw whose sum takes more than one accumulation tile and whose
    /// accumulator is wider than dw.
    bool splitsSum();
    /// Returns the bytes of that accumulator that do not lie in dw: for bf16 the lower halves of
    /// f32, whose upper halves are dw's bits, and for f16 all of it.
    int64_t getAccumulatorBytes();
    /// Returns how many of its columns a library multiplies by one call; it multiplies the rest, if
    /// there is any, by another. Example: 50176 of the 50257 of GPT-2.
    int64_t getLibraryColumns();
  }];
}

#endif // LLMMEM_DIALECT_LLMLOSSOPS
