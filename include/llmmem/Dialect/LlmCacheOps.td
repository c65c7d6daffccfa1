//===- LlmCacheOps.td - Steps that keep keys and values --------*- tablegen -*-===//
//
// A step of inference runs a few new tokens of each sequence. Keys and values of the previous
// tokens lie in caches, which are arguments of the role `kv_cache`. Attention reads the caches
// before they change, and llm.append_cache then appends the new rows in place. The position of a
// token is its number in its sequence, from 0. A row that is no token (after the last token of a
// sequence that has fewer, or of a sequence that pauses) has the position -1: nothing is stored for
// it, and it attends to nothing.
//
// A cache is [batch, rows, width]. The token at position p has the row p or, where the layer has a
// window, which makes the cache a ring, the row p mod rows. Alternatively a cache is [pages, page,
// width] with a table [batch, pages of a sequence]. The token at p then has the row p mod page of
// page table[b, p / page]; a page of -1 is none.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_DIALECT_LLMCACHEOPS
#define LLMMEM_DIALECT_LLMCACHEOPS

include "llmmem/Dialect/LlmOpBase.td"

def Llm_PositionsOp : Llm_PureOp<"positions", [Cost]> {
  let summary = "Numbers the new tokens of each sequence.";
  let description = [{
    positions[b, s] = lengths[b] + s, where lengths[b] tokens are in the caches, if that is less than `context` and s is
    less than counts[b]; else -1. Without counts all rows are tokens. A sequence whose length is negative has none.

    ```mlir
    %positions = llm.positions %lengths counts(%counts) {context = 8192 : i64}
       : (tensor<16xi32>, tensor<16xi32>) -> tensor<16x512xi32>
    ```
  }];
  let arguments = (ins Llm_Ids:$lengths, Optional<Llm_Ids>:$counts, I64Attr:$context);
  let results = (outs Llm_Ids:$positions);
  let assemblyFormat = [{
    $lengths (`counts` `(` $counts^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
}

def Llm_CachedAttentionOp : Llm_PureOp<"cached_attention", [ShardableWithChange, CostOfUnpackingCaches, BuffersOnce, AttrSizedOperandSegments]> {
  let summary = "Computes attention of new tokens to those in the caches and to each other.";
  let description = [{
    out = softmax(q k^T * scale) v per head over the keys at positions j <= p that a query at position p attends to.
    Those before the sequence's first new position come from the caches, the others from k and v. Query head i reads
    key/value head i / (heads / kv_heads). With a window, which is at most the rows of a cache, only j > p - window
    counts. With a `softcap` c, a score s is c tanh(s / c). With `sinks`, each row of head h has one more score,
    sinks[h], that no value belongs to, as in llm.attention. Rows without a position give 0. Keys are added up in the
    order of their positions, in blocks that begin at multiples of 64 positions, so that the bits do not depend on how
    the tokens are divided into steps. The op runs once, before llm.append_cache overwrites what it reads. FLOPs: 4 *
    batch * seq * width * the keys that a full cache holds.

    Caches in fewer bits have `scales`, of k, v, keys and values in this order, one for each head of a row. The new rows
    are rounded before (llm.pack), so that attention reads the same numbers in this step and in later ones. FLOPs do not
    change.

    ```mlir
    %out = llm.cached_attention %q, %k, %v caches(%keys, %values) at(%positions)
        {heads = 32 : i64, kv_heads = 8 : i64, scale = 0.088388 : f64}
       : (tensor<16x1x4096xbf16>, tensor<16x1x1024xbf16>, tensor<16x1x1024xbf16>, tensor<16x8192x1024xbf16>,
          tensor<16x8192x1024xbf16>, tensor<16x1xi32>) -> tensor<16x1x4096xbf16>
    ```
  }];
  let arguments = (ins Llm_Tensor:$q, Llm_HeldTensor:$k, Llm_HeldTensor:$v, Llm_HeldTensor:$keys, Llm_HeldTensor:$values,
    Llm_Ids:$positions, Optional<Llm_Ids>:$table, Optional<Llm_Tensor>:$sinks, Variadic<Llm_Tensor>:$scales, I64Attr:$heads,
    I64Attr:$kv_heads, F64Attr:$scale, OptionalAttr<I64Attr>:$window, OptionalAttr<F64Attr>:$softcap);
  let results = (outs Llm_Tensor:$out);
  let assemblyFormat = [{
    $q `,` $k `,` $v `caches` `(` $keys `,` $values `)` `at` `(` $positions `)` (`pages` `(` $table^ `)`)?
    (`sinks` `(` $sinks^ `)`)? (`scales` `(` $scales^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    /// Returns the tokens that a sequence can have in a cache.
    int64_t getCapacity();
    /// Returns the keys that a query can attend to.
    int64_t getReach();
    /// Counts the positions of a block of keys.
    static constexpr int64_t kBlock = 64;
  }];
}

def Llm_AppendCacheOp : Llm_PureOp<"append_cache", [Shardable, CostWithTraffic, BuffersInPlace,
    AllTypesMatch<["keys", "new_keys"]>, AllTypesMatch<["values", "new_values"]>]> {
  let summary = "Puts the keys and values of new tokens into their caches.";
  let description = [{
    The results are the caches with k[b, s] and v[b, s] in the rows of positions[b, s]. Rows without a position, and
    those beyond the end of a cache, are not stored. With `ring`, positions count modulo the cache's rows; if there are
    more new rows than it has, the last ones are stored. A result reuses its cache's bytes, so that only the new rows
    move. The scales of caches in fewer bits are caches of their own, with a column for each head.

    ```mlir
    %keys1, %values1 = llm.append_cache %keys, %values, %k, %v at(%positions)
       : (tensor<16x8192x1024xbf16>, tensor<16x8192x1024xbf16>, tensor<16x1x1024xbf16>, tensor<16x1x1024xbf16>,
          tensor<16x1xi32>) -> (tensor<16x8192x1024xbf16>, tensor<16x8192x1024xbf16>)
    ```
  }];
  let arguments = (ins Llm_HeldTensor:$keys, Llm_HeldTensor:$values, Llm_HeldTensor:$k, Llm_HeldTensor:$v, Llm_Ids:$positions,
    Optional<Llm_Ids>:$table, UnitAttr:$ring);
  let results = (outs Llm_HeldTensor:$new_keys, Llm_HeldTensor:$new_values);
  let assemblyFormat = [{
    $keys `,` $values `,` $k `,` $v `at` `(` $positions `)` (`pages` `(` $table^ `)`)?
    attr-dict `:` functional-type(operands, results)
  }];
}

def Llm_PackOp : Llm_PureOp<"pack", [Shardable, Cost]> {
  let summary = "Rounds rows to fewer bits, with a scale for each group.";
  let description = [{
    scales = max |x| of the group / the largest number of the type (127 of i8, 448 of f8E4M3FN, 57344 of f8E5M2),
    rounded to the type of x; packed = x / scales, rounded to nearest even and clamped to the largest number. A group of
    zeros has the scale 0. Groups are neighbours in a row: a row of 1024 with 8 scales has groups of 128.

    ```mlir
    %packed, %scales = llm.pack %k : tensor<16x1x1024xbf16> -> tensor<16x1x1024xi8>, tensor<16x1x8xbf16>
    ```
  }];
  let arguments = (ins Llm_Tensor:$x);
  let results = (outs Llm_PackedTensor:$packed, Llm_Tensor:$scales);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($packed) `,` type($scales)";
}

def Llm_UnpackOp : Llm_PureOp<"unpack", [Shardable, Cost]> {
  let summary = "Converts rows in fewer bits back to numbers.";
  let description = [{
    x = packed * scale of its group, in f32, rounded to the type of x: it undoes `llm.pack` up to its rounding.

    ```mlir
    %x = llm.unpack %packed, %scales : tensor<8x1024x768xi8>, tensor<8x1024x3xbf16> -> tensor<8x1024x768xbf16>
    ```
  }];
  let arguments = (ins Llm_PackedTensor:$packed, Llm_Tensor:$scales);
  let results = (outs Llm_Tensor:$x);
  let assemblyFormat = "$packed `,` $scales attr-dict `:` type($packed) `,` type($scales) `->` type($x)";
}

def Llm_LastRowsOp : Llm_PureOp<"last_rows", [Shardable, CostWithTraffic]> {
  let summary = "Takes the row of each sequence's last token.";
  let description = [{
    y[b, 0, :] = x[b, counts[b] - 1, :], where a count below 1 is taken as 1 and one beyond seq as seq. The ops after
    it, above all the head, then have one row a sequence.

    ```mlir
    %y = llm.last_rows %x, %counts : (tensor<16x512x4096xbf16>, tensor<16xi32>) -> tensor<16x1x4096xbf16>
    ```
  }];
  let arguments = (ins Llm_Tensor:$x, Llm_Ids:$counts);
  let results = (outs Llm_Tensor:$y);
  let assemblyFormat = "$x `,` $counts attr-dict `:` functional-type(operands, results)";
}

#endif // LLMMEM_DIALECT_LLMCACHEOPS
