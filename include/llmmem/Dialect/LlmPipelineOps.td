//===- LlmPipelineOps.td - Micro-batches and pipeline stages ---*- tablegen -*-===//
//
// These ops serve a step in which a rank's batch consists of several micro-batches, and the stages
// of a pipeline, whose programs differ (docs/Design/Pipeline.md).
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_DIALECT_LLMPIPELINEOPS
#define LLMMEM_DIALECT_LLMPIPELINEOPS

include "llmmem/Dialect/LlmCollectiveOps.td"

def Llm_MicroBatchNumber : TensorRankOf<[I32], [0]>;

// The number of the micro-batch is a value where one function runs once for each, and an attribute
// where one has all.
class Llm_MicroBatchOf<string mnemonic> : Llm_PureOp<mnemonic, [CostWithTraffic]> {
  let arguments = (ins Llm_SharedRows:$x, Optional<Llm_MicroBatchNumber>:$at, OptionalAttr<I64Attr>:$number, I64Attr:$of);
  let results = (outs Llm_SharedRows:$y);
  let assemblyFormat = "$x (`at` `(` $at^ `)`)? attr-dict `:` functional-type(operands, results)";
}

def Llm_MicroBatchOp : Llm_MicroBatchOf<"micro_batch"> {
  let summary = "Takes the rows of one micro-batch.";
  let description = [{
    y = the rows / of rows of x that begin at number * rows / of, where rows is x's first dimension. `number` is either
    an attribute or an operand, and is from 0 to of - 1.

    ```mlir
    %ids = llm.micro_batch %batch {number = 1 : i64, of = 4 : i64} : (tensor<8x1024xi32>) -> tensor<2x1024xi32>
    ```
  }];
}

def Llm_MicroBatchSeedOp : Llm_MicroBatchOf<"micro_batch_seed"> {
  let summary = "Makes a seed that also says which micro-batch samples.";
  let description = [{
    y = (x[0], x[1], number, of). An op that samples with it uses the numbers that its elements have in the whole batch,
    in which micro-batches are consecutive. `number` is as in llm.micro_batch.

    ```mlir
    %s = llm.micro_batch_seed %seed {number = 1 : i64, of = 4 : i64} : (tensor<2xi32>) -> tensor<4xi32>
    ```
  }];
}

def Llm_ExchangeOp : Llm_Op<"exchange", !listconcat(Llm_ExchangeTraits, [Collective, Llm_Startable])> {
  let summary = "Sends to other stages of a pipeline and receives from others, all at once.";
  let description = [{
    Sends operand i to position to[i] of the group; result i is what position from[i] sends. All of it starts at once
    and the op ends when all of it is done, so it waits only until the others have reached the op that sends what it
    receives, or receives what it sends. Between two positions messages arrive in the order in which they were sent. The
    programs of the stages differ; `check-exchanges` checks for all of them together that their exchanges fit each
    other.

    ```mlir
    func.func @stage1(%dx: tensor<2x1024x768xbf16>) -> tensor<2x1024x768xbf16> attributes {llm.mesh = #llm.mesh<pp = 4>} {
      %x = llm.exchange(%dx) over ["pp"] {from = array<i64: 0>, to = array<i64: 0>}
         : (tensor<2x1024x768xbf16>) -> tensor<2x1024x768xbf16>
      return %x : tensor<2x1024x768xbf16>
    }
    ```
  }];
  let arguments = (ins Variadic<Llm_Shared>:$sent, Llm_Axes:$axes, DenseI64ArrayAttr:$to, DenseI64ArrayAttr:$from);
  let results = (outs Variadic<Llm_Shared>:$received);
  let assemblyFormat = "`(` $sent `)` `over` $axes attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = [{
    /// Returns the number of positions along the axes.
    int64_t getGroupSize();
  }];
}

#endif // LLMMEM_DIALECT_LLMPIPELINEOPS
