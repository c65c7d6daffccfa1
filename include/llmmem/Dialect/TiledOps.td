//===- TiledOps.td - Ops that go through their rows in parts ---*- tablegen -*-===//
//
// A feed-forward widens each token, and no token reads another. So it may run over some tokens
// after others, and what it widens exists for those alone (Luo et al. 2024, "Mini-Sequence
// Transformer"; Bekman et al. 2025, "Arctic Long Sequence Training").
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_DIALECT_TILEDOPS
#define LLMMEM_DIALECT_TILEDOPS

include "llmmem/Dialect/LlmOpBase.td"
include "mlir/IR/OpAsmInterface.td"

def Llm_TiledOp : Llm_PureOp<"tiled", [
    DeclareOpInterfaceMethods<CostOpInterface, ["getBytesMoved", "getKernelCosts", "getLibraryWorkspaceBytes",
      "getWorkspaceBytes", "multipliesMatrices"]>, BuffersInPlace, DeclareOpInterfaceMethods<ChunkedOpInterface>,
    IsolatedFromAbove, SingleBlock, DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "Runs ops over a chunk of rows after another: values that live only between them have the bytes of a chunk.";
  let description = [{
    The body computes what its ops compute. It consists of llm.linear, whose x has rows; elementwise ops; and sums over
    all rows, llm.linear_weight_grad and llm.sum_rows, which leave the body. A row of a value depends on that row of
    other values alone; weights, biases and accumulators are operands and are read as a whole.

    Rows are processed in chunks of `chunk`. Of a value that stays in the body, the workspace has the rows of a chunk.
    Products and sums are computed one accumulation tile of `granule` rows after another, whatever the chunk, and a
    chunk consists of whole accumulation tiles, so equal operands give equal bits for every chunk. Sums of bf16 and f16
    are f32 until they are rounded at the end, as those of llm.loss_head are. With rows of one accumulation tile the
    bits are those of the ops by themselves; with more, sums over rows are rounded at other places.

    The plan chooses the chunk, unless a user did (`fixed_chunk`).

    A row of a result is written when all that the chunk reads has been read, except by products whose results leave the
    body: results reuse no bytes, except that a sum goes on where its accumulator lies.

    FLOPs: those of the body. Traffic: each chunk reads the weights, and reads and writes each sum.

    ```mlir
    %y = llm.tiled(%a = %x, %g = %wg, %u = %wu, %d = %wd)
       : (tensor<1x8192x64xf32>, tensor<176x64xf32>, tensor<176x64xf32>, tensor<64x176xf32>) -> tensor<1x8192x64xf32> {
      %gate = llm.linear %a, %g layout(out_in) : (tensor<1x8192x64xf32>, tensor<176x64xf32>) -> tensor<1x8192x176xf32>
      %up = llm.linear %a, %u layout(out_in) : (tensor<1x8192x64xf32>, tensor<176x64xf32>) -> tensor<1x8192x176xf32>
      %act = llm.silu %gate : tensor<1x8192x176xf32>
      %gated = llm.mul %act, %up : tensor<1x8192x176xf32>
      %down = llm.linear %gated, %d layout(out_in) : (tensor<1x8192x176xf32>, tensor<64x176xf32>) -> tensor<1x8192x64xf32>
      llm.tiled_yield %down : tensor<1x8192x64xf32>
    } attributes {chunk = 1024 : i64}
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$inputs, I64Attr:$chunk, DefaultValuedAttr<I64Attr, "512">:$granule,
    UnitAttr:$fixed_chunk);
  let results = (outs Variadic<AnyType>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns what the op returns: one value of the body for each result.
    ::mlir::OperandRange getYielded();
    /// Returns the sums over all rows, in the order of the body.
    ::llvm::SmallVector<::llmmem::AccumulatingOpInterface> getSums();
    /// Returns whether a sum takes more than one accumulation tile, and its accumulator is wider than
    /// its result.
    bool splitsSums();
  }];
}

def Llm_TiledYieldOp : Llm_PureOp<"tiled_yield", [Terminator, HasParent<"TiledOp">]> {
  let summary = "Returns the results of the body of llm.tiled.";
  let description = [{
    Operand i, which an op of the body computes, is result i. Its type has all rows.

    ```mlir
    %y = llm.tiled(%a = %x, %m = %w) : (tensor<64x8xf32>, tensor<8x16xf32>) -> tensor<64x16xf32> {
      %p = llm.linear %a, %m layout(in_out) : (tensor<64x8xf32>, tensor<8x16xf32>) -> tensor<64x16xf32>
      %g = llm.gelu %p : tensor<64x16xf32>
      llm.tiled_yield %g : tensor<64x16xf32>
    } attributes {chunk = 64 : i64}
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict $values `:` type($values)";
  let hasVerifier = 0;
}

#endif // LLMMEM_DIALECT_TILEDOPS
