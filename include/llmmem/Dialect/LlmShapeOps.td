//===- LlmShapeOps.td - Other shapes, orders and ranges of elements -*- tablegen -*-===//

#ifndef LLMMEM_DIALECT_LLMSHAPEOPS
#define LLMMEM_DIALECT_LLMSHAPEOPS

include "llmmem/Dialect/LlmOpBase.td"

//===----------------------------------------------------------------------===//
// Columns and heads
//===----------------------------------------------------------------------===//

def Llm_ReshapeOp : Llm_PureOp<"reshape", [Shardable, CostWithTraffic, DifferentiableInFirst, BuffersView]> {
  let summary = "Gives the same bytes another shape.";
  let description = [{
    It is a view, with no bytes of its own and no work. Keeps nothing. Folds with another, and where it changes no
    shape.

    ```mlir
    %y = llm.reshape %x : tensor<8x1024x768xbf16> -> tensor<8192x768xbf16>
    ```
  }];
  let arguments = (ins Llm_Tensor:$x);
  let results = (outs Llm_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($y)";
  let hasFolder = 1;
}

def Llm_SplitOp : Llm_PureOp<"split", [Shardable, Cost, Differentiable, GroupColumns]> {
  let summary = "Copies column ranges of the last dimension into tensors of their own.";
  let description = [{
    parts[k] = x[..., begin_k : begin_k + width_k], one after another. Keeps nothing. Folds where there is one part, and
    where it undoes a concat.

    ```mlir
    %q, %k, %v = llm.split %qkv : (tensor<8x1024x2304xbf16>)
      -> (tensor<8x1024x768xbf16>, tensor<8x1024x768xbf16>, tensor<8x1024x768xbf16>)
    ```
  }];
  let arguments = (ins Llm_Tensor:$x);
  let results = (outs Variadic<Llm_Tensor>:$parts);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}

def Llm_ConcatOp : Llm_PureOp<"concat", [Shardable, Cost, Differentiable, GroupColumns]> {
  let summary = "Concatenates tensors along the last dimension.";
  let description = [{
    It is the inverse of llm.split. Keeps nothing. Folds where there is one part, and where it undoes a split.

    ```mlir
    %dqkv = llm.concat %dq, %dk, %dv
       : (tensor<8x1024x768xbf16>, tensor<8x1024x768xbf16>, tensor<8x1024x768xbf16>) -> tensor<8x1024x2304xbf16>
    ```
  }];
  let arguments = (ins Variadic<Llm_Tensor>:$parts);
  let results = (outs Llm_Tensor:$y);
  let assemblyFormat = "$parts attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}

def Llm_RepeatHeadsOp : Llm_PureOp<"repeat_heads", [Shardable, Cost, DifferentiableInFirst]> {
  let summary = "Gives each head a copy of one row.";
  let description = [{
    y[..., h, :] = x[..., :] for each head h: the key of DeepSeek's rotary positions, which all heads share. The
    vector-Jacobian product is llm.sum_heads. Keeps nothing.

    ```mlir
    %y = llm.repeat_heads %x : tensor<1x4096x64xbf16> -> tensor<1x4096x16x64xbf16>
    ```
  }];
  let arguments = (ins Llm_Rows:$x);
  let results = (outs Llm_Rows:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($y)";
}

def Llm_SumHeadsOp : Llm_PureOp<"sum_heads", [Cost]> {
  let summary = "Adds up the rows of all heads.";
  let description = [{
    y[..., :] = the sum of x[..., h, :] over the heads, in their order and rounded once.

    ```mlir
    %y = llm.sum_heads %x : tensor<1x4096x16x64xbf16> -> tensor<1x4096x64xbf16>
    ```
  }];
  let arguments = (ins Llm_Rows:$x);
  let results = (outs Llm_Rows:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($y)";
}

//===----------------------------------------------------------------------===//
// An image needs these orders and ranges on its way to rows of patches, and so does a row that represents a whole
// image. The adjoint of each of these ops is another of them.
//===----------------------------------------------------------------------===//

def Llm_TransposeOp : Llm_PureOp<"transpose", [Shardable, Cost, DifferentiableInFirst]> {
  let summary = "Copies the elements into another order of the dimensions.";
  let description = [{
    Dimension k of y is dimension order[k] of x: y[i_order[0], i_order[1], ...] = x[i_0, i_1, ...]. Between two views it
    cuts images into rows of patches, each with its channels, lines and columns in the order of a convolution's weight.
    The vector-Jacobian product is the transpose that undoes it. Keeps nothing. Folds where it changes no order.

    ```mlir
    // [batch, channels, patches down, lines, patches across, columns]
    %y = llm.transpose %x {order = array<i64: 0, 2, 4, 1, 3, 5>}
       : tensor<8x3x14x16x14x16xf32> -> tensor<8x14x14x3x16x16xf32>
    ```
  }];
  let arguments = (ins Llm_Tensor:$x, DenseI64ArrayAttr:$order);
  let results = (outs Llm_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($y)";
  let hasFolder = 1;
}

def Llm_SliceOp : Llm_PureOp<"slice", [Shardable, Cost, DifferentiableInFirst]> {
  let summary = "Copies a range of the last dimension.";
  let description = [{
    y[..., j] = x[..., begin + j]. On a view whose last dimension is all rows of an image, it takes one row. The
    vector-Jacobian product is llm.pad. Keeps nothing. Folds where the range is the whole.

    ```mlir
    %y = llm.slice %x {begin = 0 : i64} : tensor<8x151296xf32> -> tensor<8x768xf32>
    ```
  }];
  let arguments = (ins Llm_Rows:$x, I64Attr:$begin);
  let results = (outs Llm_Rows:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($y)";
  let hasFolder = 1;
}

def Llm_PadOp : Llm_PureOp<"pad", [Shardable, Cost, DifferentiableInFirst]> {
  let summary = "Copies x into a range of the last dimension, with zeros elsewhere.";
  let description = [{
    y[..., begin + j] = x[..., j], and 0 elsewhere. The vector-Jacobian product is llm.slice. Keeps nothing. Folds where the
    range is the whole.

    ```mlir
    %y = llm.pad %x {begin = 768 : i64} : tensor<8x150528xf32> -> tensor<8x151296xf32>
    ```
  }];
  let arguments = (ins Llm_Rows:$x, I64Attr:$begin);
  let results = (outs Llm_Rows:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($y)";
  let hasFolder = 1;
}

#endif // LLMMEM_DIALECT_LLMSHAPEOPS
