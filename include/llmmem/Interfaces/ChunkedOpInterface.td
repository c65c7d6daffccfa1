//===- ChunkedOpInterface.td - Ops that work in chunks ---------*- tablegen -*-===//

#ifndef LLMMEM_INTERFACES_CHUNKEDOPINTERFACE
#define LLMMEM_INTERFACES_CHUNKEDOPINTERFACE

include "mlir/IR/OpBase.td"

def ChunkedOpInterface : OpInterface<"ChunkedOpInterface"> {
  let description = [{
    Is an op that goes through its rows in chunks. The chunk changes no bit of the results: it is a choice between time
    and bytes, which the plan makes (`plan-checkpoints` writes `llm.chunk`, `apply-checkpoints` sets it). The op's cost
    and workspace are those of its chunk: a larger one costs no more time, a smaller one needs no more bytes.

    Example: `llm.loss_head` on 8192 tokens may hold the logits of 8192, 4096, 2048, 1024 or 512 of them.
  }];
  let cppNamespace = "::llmmem";
  let methods = [
    InterfaceMethod<"Rows in all.", "int64_t", "getNumRows">,
    InterfaceMethod<"Rows at a time.", "int64_t", "getChunkRows">,
    InterfaceMethod<"Changes the rows at a time; the op's verifier says which numbers there are.",
      "void", "setChunkRows", (ins "int64_t":$rows)>,
    InterfaceMethod<"What is worth choosing from, largest first: all rows, then halves.",
      "::llvm::SmallVector<int64_t>", "getChunkCandidates">,
  ];
}

#endif // LLMMEM_INTERFACES_CHUNKEDOPINTERFACE
