//===- LlmKernelOps.td - Ops that run as one kernel ------------*- tablegen -*-===//

#ifndef LLMMEM_DIALECT_LLMKERNELOPS
#define LLMMEM_DIALECT_LLMKERNELOPS

include "llmmem/Dialect/LlmOpBase.td"
include "mlir/IR/OpAsmInterface.td"

def Llm_KernelOp : Llm_Op<"kernel", [CostOfProduct, BuffersInPlace, IsolatedFromAbove, SingleBlock,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "Ops that run as one kernel: what lives only between them has no bytes.";
  let description = [{
    The body computes what its ops compute, with every rounding point of theirs, so grouping changes no bit; but its
    values exist an element (or a row) at a time. The body is made of ops that are `GroupableOpInterface`: at most one
    goes by rows, ops by elements stand before and after it, and its results leave the kernel or go through elements.
    In its place may stand a product of operands of the kernel; the ops after it are its epilogue, which works on the
    product rounded to its own type.

    FLOPs: those of the body. Traffic: operands and results once each; a result that nobody reads is not written. A result may take over the bytes of an operand
    whose elements are as wide, where each op on the way from one to the other may work in place.

    With `llm.library_workspace` a GPU's library computes the kernel in one call (Dialect/LibraryEpilogue.h). Then a
    result takes over the bytes of what is added to the product alone: nobody says that the library has read an element
    of aux before it writes the one of C.

    ```mlir
    %y = llm.kernel(%g = %gate, %u = %up)
       : (tensor<1x8192x14336xbf16>, tensor<1x8192x14336xbf16>) -> tensor<1x8192x14336xbf16> {
      %s = llm.silu %g : tensor<1x8192x14336xbf16>
      %p = llm.mul %s, %u : tensor<1x8192x14336xbf16>
      llm.yield %p : tensor<1x8192x14336xbf16>
    }
    %h, %a = llm.kernel(%i = %x, %m = %w) : (tensor<8x1024x768xbf16>, tensor<768x3072xbf16>)
       -> (tensor<8x1024x3072xbf16>, tensor<8x1024x3072xbf16>) {
      %s = llm.linear %i, %m layout(in_out) : (tensor<8x1024x768xbf16>, tensor<768x3072xbf16>) -> tensor<8x1024x3072xbf16>
      %g = llm.gelu %s : tensor<8x1024x3072xbf16>
      llm.yield %s, %g : tensor<8x1024x3072xbf16>, tensor<8x1024x3072xbf16>
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
    /// The op of the body whose loops the others go along with: by rows, or a product. Null where all go by elements.
    ::mlir::Operation *getLeadingOp();
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
