//===- LlmKernelOps.td - Ops that run as one kernel ------------*- tablegen -*-===//

#ifndef LLMMEM_DIALECT_LLMKERNELOPS
#define LLMMEM_DIALECT_LLMKERNELOPS

include "llmmem/Dialect/LlmOpBase.td"
include "mlir/IR/OpAsmInterface.td"

def Llm_KernelOp : Llm_PureOp<"kernel", [
    DeclareOpInterfaceMethods<CostOpInterface, ["getKernelCosts", "getLibraryWorkspaceBytes", "getWorkspaceBytes",
      "multipliesMatrices"]>, BuffersInPlace,
    IsolatedFromAbove, SingleBlock, DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "Runs ops as one kernel: values that live only between them have no bytes.";
  let description = [{
    The body computes what its ops compute, with all of their rounding points, so grouping changes no bit; but its
    values exist an element (or a row) at a time. The body consists of ops that are `GroupableOpInterface`: at most one
    is a row reduction, elementwise ops come before and after it, and its results leave the kernel or go through
    elementwise ops. A matmul of operands of the kernel may replace the reduction. The ops after it are its epilogue,
    which works on the matmul's result rounded to its own type. Alternatively the body is a matmul and the sum over the
    rows of one of its factors, the gradients of a weight and of its bias: both leave the kernel, and without a library
    they are computed one after the other. Or it is attention, or its gradient, whose queries, keys and values are
    columns of an operand (`llm.split`), and whose gradients are columns of a result (`llm.concat`): they are read and
    written in place.

    FLOPs: those of the body. Traffic: operands and results once each; a result without readers is not written. A
    result may reuse the bytes of an operand whose elements are as wide, where each op on the way from one to the other
    may work in place.

    The library that multiplies may have no epilogue (a CPU's library): then it writes the whole matmul before the ops
    after it read an element. So a matmul has bytes in every plan: those of the result that returns it, else of the
    first result of its type, else a workspace. Such a result reuses no bytes except those of an accumulator of the
    matmul itself.

    With `llm.library_workspace` a matmul library computes the kernel in one call, where a target has one
    (Dialect/TargetInterface.h). Then a result reuses only the bytes of what is added to the matmul: nothing guarantees
    that the library has read an element of anything else before it writes that of the result. A sum over rows that has
    an accumulator is first written to bytes of the workspace, before the library's own, because the library overwrites;
    a second kernel adds it.

    ```mlir
    %y = llm.kernel(%g = %gate, %u = %up)
       : (tensor<1x8192x14336xbf16>, tensor<1x8192x14336xbf16>) -> tensor<1x8192x14336xbf16> {
      %s = llm.silu %g : tensor<1x8192x14336xbf16>
      %p = llm.mul %s, %u : tensor<1x8192x14336xbf16>
      llm.yield %p : tensor<1x8192x14336xbf16>
    }
    ```

    ```mlir
    %h, %a = llm.kernel(%i = %x, %m = %w) : (tensor<8x1024x768xbf16>, tensor<768x3072xbf16>)
       -> (tensor<8x1024x3072xbf16>, tensor<8x1024x3072xbf16>) {
      %s = llm.linear %i, %m layout(in_out) : (tensor<8x1024x768xbf16>, tensor<768x3072xbf16>) -> tensor<8x1024x3072xbf16>
      %g = llm.gelu %s : tensor<8x1024x3072xbf16>
      llm.yield %s, %g : tensor<8x1024x3072xbf16>, tensor<8x1024x3072xbf16>
    }
    ```

    ```mlir
    %dw, %db = llm.kernel(%i = %x, %d = %dy, %b = %acc)
       : (tensor<8x1024x768xbf16>, tensor<8x1024x3072xbf16>, tensor<3072xbf16>)
      -> (tensor<768x3072xbf16>, tensor<3072xbf16>) {
      %p = llm.linear_weight_grad %i, %d layout(in_out)
         : (tensor<8x1024x768xbf16>, tensor<8x1024x3072xbf16>) -> tensor<768x3072xbf16>
      %s = llm.sum_rows %d into(%b) : (tensor<8x1024x3072xbf16>, tensor<3072xbf16>) -> tensor<3072xbf16>
      llm.yield %p, %s : tensor<768x3072xbf16>, tensor<3072xbf16>
    }
    ```

    ```mlir
    %out, %lse = llm.kernel(%x = %qkv) : (tensor<8x1024x2304xbf16>) -> (tensor<8x1024x768xbf16>, tensor<8x12x1024xf32>) {
      %q, %k, %v = llm.split %x : (tensor<8x1024x2304xbf16>)
        -> (tensor<8x1024x768xbf16>, tensor<8x1024x768xbf16>, tensor<8x1024x768xbf16>)
      %o, %l = llm.attention %q, %k, %v {heads = 12 : i64, kv_heads = 12 : i64, scale = 0.125 : f64}
        : (tensor<8x1024x768xbf16>, tensor<8x1024x768xbf16>, tensor<8x1024x768xbf16>)
        -> (tensor<8x1024x768xbf16>, tensor<8x12x1024xf32>)
      llm.yield %o, %l : tensor<8x1024x768xbf16>, tensor<8x12x1024xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$inputs);
  let results = (outs Variadic<AnyType>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns what the kernel returns: one value of the body for each result.
    ::mlir::OperandRange getYielded();
    /// Returns the op of the body whose loops the others share: a row reduction, a matmul or
    /// attention. Null where all are elementwise.
    ::mlir::Operation *getLeadingOp();
    /// Returns the sum over rows that accompanies a matmul, or null.
    ::mlir::Operation *getSumOp();
    /// Returns the matmul whose epilogue the rest of the body is. Null without one, and where a
    /// GPU's library computes both.
    ::mlir::Operation *getProductBeforeEpilogue();
    /// Returns the result whose bytes hold that matmul before the epilogue reads it; none where no
    /// result has its type.
    std::optional<unsigned> getResultOfProduct();
  }];
}

def Llm_YieldOp : Llm_PureOp<"yield", [Terminator, HasParent<"KernelOp">]> {
  let summary = "Returns the results of a kernel's body.";
  let description = [{
    Operand i, which an op of the body computes, is result i of the kernel.

    ```mlir
    %y = llm.kernel(%a = %x) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
      %g = llm.gelu %a : tensor<4x8xf32>
      %s = llm.silu %g : tensor<4x8xf32>
      llm.yield %s : tensor<4x8xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let hasVerifier = 0;
}

#endif // LLMMEM_DIALECT_LLMKERNELOPS
