//===- LlmLatentOps.td - Attention to latent rows in caches ----*- tablegen -*-===//
//
// Latent attention (DeepSeek-AI 2024) keeps one narrow row for each token, from which keys and
// values of all heads can be computed: the latent, after its norm, followed by the key that is
// rotated by the position, which all heads share. A step of inference computes neither keys nor
// values. A head's key is W_k c for the latent c, so its score with a query q is (W_k^T q) c. Each
// query is multiplied by W_k once (llm.head_linear), scores and sums are of latents
// (llm.latent_attention), and the result of a head, also a latent, is multiplied by W_v. W_k and
// W_v of a head are rows of one weight. Caches, positions and tables are those of LlmCacheOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_DIALECT_LLMLATENTOPS
#define LLMMEM_DIALECT_LLMLATENTOPS

include "llmmem/Dialect/LlmOpBase.td"

def CostOfPartOfWeight : DeclareOpInterfaceMethods<CostOpInterface, ["getLibraryWorkspaceBytes", "getWorkspaceBytes",
    "multipliesMatrices", "getBytesMoved", "getUnpackedType"]>;
def CostOfLatentAttention : DeclareOpInterfaceMethods<CostOpInterface, ["getWorkspaceBytes", "getBytesMoved", "getUnpackedType"]>;

def Llm_HeadLinearOp : Llm_PureOp<"head_linear", [CostOfPartOfWeight, AttrSizedOperandSegments]> {
  let summary = "Multiplies each head of a row by the head's own part of a weight.";
  let description = [{
    y[b, s, h, o] = sum_i x[b, s, h, i] W_h[i, o], where heads are adjacent in the rows of x and of y. The weight is
    [heads * rows, columns]; of the rows of head h those from `first` on are W_h, as [in, out] (layout in_out) or as
    [out, in] (out_in). FLOPs: 2 * elements of x * out of a head. A weight in fewer bits has scales and zero points as a
    weight of llm.linear does.

    ```mlir
    %y = llm.head_linear %x, %w layout(in_out) {first = 0 : i64, heads = 128 : i64}
       : (tensor<16x1x16384xbf16>, tensor<32768x512xbf16>) -> tensor<16x1x65536xbf16>
    ```
  }];
  let arguments = (ins Llm_Tensor:$x, Llm_HeldTensor:$weight, Optional<Llm_Tensor>:$scales, Optional<Llm_ZeroPoints>:$zeros,
    Llm_WeightLayout:$layout, I64Attr:$heads, I64Attr:$first);
  let results = (outs Llm_Tensor:$y);
  let assemblyFormat = [{
    $x `,` $weight (`scales` `(` $scales^ `)`)? (`zeros` `(` $zeros^ `)`)? `layout` `(` $layout `)` attr-dict
    `:` functional-type(operands, results)
  }];
}

def Llm_LatentAttentionOp : Llm_PureOp<"latent_attention", [CostOfLatentAttention, BuffersOnce, AttrSizedOperandSegments]> {
  let summary = "Computes attention of new tokens to latent rows in a cache and to each other's.";
  let description = [{
    out = softmax(q r^T * scale) v per head, where all heads read the same rows r and v is the first `rank` elements of
    r. The rows that a query attends to, the order in which they are added up and the result of a row without a position
    are as in llm.cached_attention; there is no window. The op runs once, before llm.append_rows overwrites what it
    reads. FLOPs: 2 * (elements of q + elements of out) * the rows that a full cache holds.

    A cache in fewer bits has `scales`, of the new rows and of the cache, one for each row. The new rows are rounded
    before (llm.pack).

    ```mlir
    %out = llm.latent_attention %q, %row cache(%rows) at(%positions) {heads = 128 : i64, rank = 512 : i64, scale = 0.135 : f64}
       : (tensor<16x1x73728xbf16>, tensor<16x1x576xbf16>, tensor<16x8192x576xbf16>, tensor<16x1xi32>) -> tensor<16x1x65536xbf16>
    ```
  }];
  let arguments = (ins Llm_Tensor:$q, Llm_HeldTensor:$row, Llm_HeldTensor:$rows, Llm_Ids:$positions, Optional<Llm_Ids>:$table,
    Variadic<Llm_Tensor>:$scales, I64Attr:$heads, I64Attr:$rank, F64Attr:$scale);
  let results = (outs Llm_Tensor:$out);
  let assemblyFormat = [{
    $q `,` $row `cache` `(` $rows `)` `at` `(` $positions `)` (`pages` `(` $table^ `)`)? (`scales` `(` $scales^ `)`)?
    attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    /// Returns the tokens that a sequence can have in the cache, all of which a query can attend
    /// to.
    int64_t getCapacity();
  }];
}

def Llm_AppendRowsOp : Llm_PureOp<"append_rows", [CostWithTraffic, BuffersInPlace, AllTypesMatch<["rows", "new_rows"]>]> {
  let summary = "Puts one row of each new token into a cache.";
  let description = [{
    The result is the cache with row[b, s] in the row of positions[b, s]. Rows without a position, and those beyond the
    end of the cache, are not stored. The result reuses the cache's bytes, so that only the new rows move.

    ```mlir
    %rows1 = llm.append_rows %rows, %row at(%positions)
       : (tensor<16x8192x576xbf16>, tensor<16x1x576xbf16>, tensor<16x1xi32>) -> tensor<16x8192x576xbf16>
    ```
  }];
  let arguments = (ins Llm_HeldTensor:$rows, Llm_HeldTensor:$row, Llm_Ids:$positions, Optional<Llm_Ids>:$table);
  let results = (outs Llm_HeldTensor:$new_rows);
  let assemblyFormat = "$rows `,` $row `at` `(` $positions `)` (`pages` `(` $table^ `)`)? attr-dict `:` functional-type(operands, results)";
}

#endif // LLMMEM_DIALECT_LLMLATENTOPS
