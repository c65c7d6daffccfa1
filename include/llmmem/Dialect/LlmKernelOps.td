//===- LlmKernelOps.td - Ops that run as one kernel ------------*- tablegen -*-===//

#ifndef LLMMEM_DIALECT_LLMKERNELOPS
#define LLMMEM_DIALECT_LLMKERNELOPS

include "llmmem/Dialect/LlmOpBase.td"
include "mlir/IR/OpAsmInterface.td"

def Llm_KernelOp : Llm_Op<"kernel", [Cost, BuffersInPlace, IsolatedFromAbove, SingleBlock,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "Ops that run as one kernel: what lives only between them has no bytes.";
  let description = [{
    The body computes what its ops compute, with every rounding point of theirs, so grouping changes no bit; but its
    values exist an element (or a row) at a time. The body is made of ops that are `GroupableOpInterface`: at most one
    goes by rows, ops by elements stand before and after it, and its results leave the kernel or go through elements.

    FLOPs: those of the body. Traffic: operands and results once each. A result may take over the bytes of an operand
    whose elements are as wide, where each op on the way from one to the other may work in place.

    ```mlir
    %y = llm.kernel(%g = %gate, %u = %up)
       : (tensor<1x8192x14336xbf16>, tensor<1x8192x14336xbf16>) -> tensor<1x8192x14336xbf16> {
      %s = llm.silu %g : tensor<1x8192x14336xbf16>
      %p = llm.mul %s, %u : tensor<1x8192x14336xbf16>
      llm.yield %p : tensor<1x8192x14336xbf16>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$inputs);
  let results = (outs Variadic<AnyType>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// What the kernel hands out: one value of the body for each result.
    ::mlir::OperandRange getYielded();
    /// The op of the body that goes by rows, or null.
    ::mlir::Operation *getRowOp();
  }];
}

def Llm_YieldOp : Llm_Op<"yield", [Terminator, HasParent<"KernelOp">]> {
  let summary = "Hands the results of a kernel's body out.";
  let description = [{
    ```mlir
    llm.yield %p : tensor<1x8192x14336xbf16>
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

#endif // LLMMEM_DIALECT_LLMKERNELOPS
