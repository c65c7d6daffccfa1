//===- LlmRelativeOps.td - Biases by relative position ---------*- tablegen -*-===//
//
// Raffel et al. 2020, section 2.1: each head adds to a score a number that depends on the distance
// between the query and the key, one for each of a few ranges of distances. The number of every
// distance is computed once (llm.relative_bias), for all layers that share the table, and added
// along the diagonals of each layer's scores.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_DIALECT_LLMRELATIVEOPS
#define LLMMEM_DIALECT_LLMRELATIVEOPS

include "llmmem/Dialect/LlmOpBase.td"

def Llm_RelativeBiasOp : Llm_PureOp<"relative_bias", [Shardable, Cost, DifferentiableInFirst]> {
  let summary = "Computes the bias of every distance between a query and a key, for each head.";
  let description = [{
    bias[h, d] = table[bucket(d - (queries - 1)), h], for the distances from 1 - queries to keys - 1 of a key from a
    query. Buckets of distances (`include/llmmem/Dialect/RelativePositions.h`): where `bidirectional`, half of them are
    for keys after the query and half for the others; else all are for the keys that are not after it. On each side,
    half are one distance each, and the others grow by a factor up to `max_distance`. Keeps nothing.

    ```mlir
    %b = llm.relative_bias %table {bidirectional, keys = 512 : i64, max_distance = 128 : i64, queries = 512 : i64}
       : tensor<32x8xf32> -> tensor<8x1023xf32>
    ```
  }];
  let arguments = (ins Llm_Tensor:$table, I64Attr:$queries, I64Attr:$keys, I64Attr:$max_distance, UnitAttr:$bidirectional);
  let results = (outs Llm_Tensor:$bias);
  let assemblyFormat = "$table attr-dict `:` type($table) `->` type($bias)";
}

def Llm_RelativeBiasGradOp : Llm_PureOp<"relative_bias_grad", [Cost, BuffersInPlace, AccumulatingOpInterface]> {
  let summary = "Computes the gradient of a table of biases by distance.";
  let description = [{
    dtable[r, h] = into[r, h] + the sum of dbias[h, d] over the distances of bucket r, in their order.

    ```mlir
    %dt = llm.relative_bias_grad %db {bidirectional, keys = 512 : i64, max_distance = 128 : i64, queries = 512 : i64}
       : (tensor<8x1023xf32>) -> tensor<32x8xf32>
    ```
  }];
  let arguments = (ins Llm_Tensor:$dbias, Optional<Llm_Tensor>:$into, I64Attr:$queries, I64Attr:$keys, I64Attr:$max_distance,
    UnitAttr:$bidirectional);
  let results = (outs Llm_Tensor:$dtable);
  let assemblyFormat = "$dbias (`into` `(` $into^ `)`)? attr-dict `:` functional-type(operands, results)";
}

def Llm_AddRelativeBiasOp : Llm_PureOp<"add_relative_bias",
    [Shardable, Cost, Differentiable, BuffersInPlace, AllTypesMatch<["scores", "y"]>]> {
  let summary = "Adds to each score the bias of its distance.";
  let description = [{
    y[b, h, i, j] = scores[b, h, i, j] + bias[h, j - i + queries - 1]. Keeps nothing.

    ```mlir
    %y = llm.add_relative_bias %s, %b : tensor<4x8x512x512xf32>, tensor<8x1023xf32>
    ```
  }];
  let arguments = (ins Llm_Tensor:$scores, Llm_Tensor:$bias);
  let results = (outs Llm_Tensor:$y);
  let assemblyFormat = "$scores `,` $bias attr-dict `:` type($scores) `,` type($bias)";
}

def Llm_SumDiagonalsOp : Llm_PureOp<"sum_diagonals", [Cost]> {
  let summary = "Sums the diagonals of each head's scores, over the batch.";
  let description = [{
    sums[h, d] = the sum over b and i of x[b, h, i, i + d - (queries - 1)], where that is a key: the gradient of biases by distance.

    ```mlir
    %db = llm.sum_diagonals %ds : tensor<4x8x512x512xf32> -> tensor<8x1023xf32>
    ```
  }];
  let arguments = (ins Llm_Tensor:$x);
  let results = (outs Llm_Tensor:$sums);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($sums)";
}

#endif // LLMMEM_DIALECT_LLMRELATIVEOPS
