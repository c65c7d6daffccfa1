//===- LlmShapeOps.td - Other orders and ranges of elements ----*- tablegen -*-===//
//
// These ops turn an image into rows of patches, and make a row that represents a whole image. Each
// op's adjoint is another of them.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_DIALECT_LLMSHAPEOPS
#define LLMMEM_DIALECT_LLMSHAPEOPS

include "llmmem/Dialect/LlmOpBase.td"

def Llm_TransposeOp : Llm_PureOp<"transpose", [Shardable, Cost, Differentiable]> {
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
  let hasVerifier = 1;
}

def Llm_SliceOp : Llm_PureOp<"slice", [Shardable, Cost, Differentiable]> {
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
  let hasVerifier = 1;
}

def Llm_PadOp : Llm_PureOp<"pad", [Shardable, Cost, Differentiable]> {
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
  let hasVerifier = 1;
}

#endif // LLMMEM_DIALECT_LLMSHAPEOPS
