//===- LlmHostOps.td - Calls of a GPU's libraries by the host ---*- tablegen -*-===//

#ifndef LLMMEM_DIALECT_LLMHOSTOPS
#define LLMMEM_DIALECT_LLMHOSTOPS

include "llmmem/Dialect/LlmOpBase.td"

// The numbers are those of include/llmmem/Runtime/CudaProducts.h.
def Llm_ProductEpilogue : I64EnumAttr<"ProductEpilogue", "The epilogue of a matmul, which precedes rounding and the store", [
    I64EnumAttrCase<"None", 0, "none">,
    I64EnumAttrCase<"Bias", 1, "bias">,                  // x + bias
    I64EnumAttrCase<"GeluBias", 2, "gelu_bias">,         // gelu(x + bias)
    I64EnumAttrCase<"GeluAuxBias", 3, "gelu_aux_bias">,  // the same, and aux = x + bias
    I64EnumAttrCase<"GeluGrad", 4, "gelu_grad">,         // x * gelu'(aux)
    I64EnumAttrCase<"GeluGradSum", 5, "gelu_grad_sum">,  // the same, and bias = the sum of its rows
    I64EnumAttrCase<"SumB", 6, "sum_b">,                 // x, and bias = the sum of the rows of B
    I64EnumAttrCase<"SumA", 7, "sum_a">]>                // x, and bias = the sums of the rows of A
{
  let cppNamespace = "::llmmem::llm";
}

def Llm_MatrixAttr : Llm_Attr<"Matrix", "matrix"> {
  let summary = "The layout of a row-major matrix in a flat buffer.";
  let description = [{
    Rows begin `pitch` elements apart, and the matrices of a batch `stride`; stride 0 shares one matrix. In memory the
    rows of a `transposed` one are its columns. It begins at a multiple of `alignment` bytes.

    Example: `#llm.matrix<pitch = 768>`, `#llm.matrix<pitch = 64, transposed = true, stride = 4096, alignment = 128>`.
  }];
  let parameters = (ins "int64_t":$pitch, DefaultValuedParameter<"bool", "false">:$transposed,
    DefaultValuedParameter<"int64_t", "0">:$stride, DefaultValuedParameter<"int64_t", "::llmmem::kArenaAlignment">:$alignment);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Llm_FlatBuffer : StaticShapeMemRefOf<[BF16, F32]>;
def Llm_Bytes : StaticShapeMemRefOf<[I8]>;

def Llm_LibraryProductOp : Llm_Op<"library_product", [AttrSizedOperandSegments]> {
  let summary = "Multiplies matrices by a GPU's library.";
  let description = [{
    C = epilogue(scale * A B + initial), `batch` times, in f32 and rounded once. It stands in the host functions of a
    lowered step instead of a launch, and becomes a call of `llmmem_cuda_multiply`
    (include/llmmem/Runtime/CudaProducts.h). Matrices begin at an element of their flat buffers. `bias` and `aux` are
    what the epilogue (1 is `bias`) reads or writes; `aux` has the layout of C.

    ```mlir
    llm.library_product %x[%c0], %w[%c0], %y[%c0] bias(%b : memref<96xbf16>) workspace(%s : memref<4096xi8>)
        {a = #llm.matrix<pitch = 64>, b = #llm.matrix<pitch = 96>, c = #llm.matrix<pitch = 96>, columns = 96 : i64,
         epilogue = 1 : i64, inner = 64 : i64, rows = 128 : i64} : memref<8192xbf16>, memref<6144xbf16>, memref<12288xbf16>
    ```
  }];
  let arguments = (ins Llm_FlatBuffer:$a_buffer, Index:$a_begin, Llm_FlatBuffer:$b_buffer, Index:$b_begin,
    Llm_FlatBuffer:$c_buffer, Index:$c_begin, Optional<Llm_FlatBuffer>:$initial_buffer, Optional<Index>:$initial_begin,
    Optional<Llm_FlatBuffer>:$bias, Optional<Llm_FlatBuffer>:$aux, Optional<Llm_Bytes>:$workspace,
    I64Attr:$rows, I64Attr:$columns, I64Attr:$inner, DefaultValuedAttr<I64Attr, "1">:$batch,
    Llm_MatrixAttr:$a, Llm_MatrixAttr:$b, Llm_MatrixAttr:$c, OptionalAttr<Llm_MatrixAttr>:$initial,
    DefaultValuedAttr<F64Attr, "1.0">:$scale,
    DefaultValuedAttr<Llm_ProductEpilogue, "::llmmem::llm::ProductEpilogue::None">:$epilogue);
  let assemblyFormat = [{
    $a_buffer `[` $a_begin `]` `,` $b_buffer `[` $b_begin `]` `,` $c_buffer `[` $c_begin `]`
    (`initial` `(` $initial_buffer^ `[` $initial_begin `]` `:` type($initial_buffer) `)`)?
    (`bias` `(` $bias^ `:` type($bias) `)`)? (`aux` `(` $aux^ `:` type($aux) `)`)?
    (`workspace` `(` $workspace^ `:` type($workspace) `)`)? attr-dict `:` type($a_buffer) `,` type($b_buffer) `,` type($c_buffer)
  }];
}

#endif // LLMMEM_DIALECT_LLMHOSTOPS
