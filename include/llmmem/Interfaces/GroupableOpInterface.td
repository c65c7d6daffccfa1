//===- GroupableOpInterface.td - Who may share a kernel --------*- tablegen -*-===//

#ifndef LLMMEM_INTERFACES_GROUPABLEOPINTERFACE
#define LLMMEM_INTERFACES_GROUPABLEOPINTERFACE

include "mlir/IR/OpBase.td"

def GroupableOpInterface : OpInterface<"GroupableOpInterface"> {
  let description = [{
    Says how an op traverses its elements, which decides with whom it may share a kernel (`group-kernels`). An op without this
    interface has a kernel of its own.

    `Elementwise`: element i of each result depends on element i of the operands that have as many elements as it, and on
    the whole of all others (a seed, a table). `RowReduction`: sums run over the last dimension; an element operand is
    read within the row that is being written, and the elements of result 0 are written once each, after the row's sums.
    `Matmul`: its operands are read from memory, so they are operands of the kernel, and the elements of its one result
    are written once each, after their sums. `ColumnReduction`: sums over all but the last dimension of its first operand,
    from memory; it shares a kernel with a matmul of that operand alone, as libraries sum what they multiply.
    `Attention`: reads and writes rows of heads in memory, wherever they begin. `Columns`: takes columns of a tensor apart or
    puts them side by side; it shares a kernel with attention alone, which reads and writes them where they lie, so that no
    byte is copied.

    Example: `llm.add` is elementwise, `llm.softmax` a row reduction; `softmax(mask(x))` and `add(a, norm_grad(...))` are
    one kernel each, `softmax(softmax(x))` is two; `attention(split(qkv))` is one. Matmuls and column reductions share kernels
    where a plan says so (`fuse-epilogues`).
  }];
  let cppNamespace = "::llmmem";
  let methods = [
    InterfaceMethod<"How the op traverses its elements.",
      "::llmmem::Traversal", "getTraversal", (ins), "", [{ return ::llmmem::Traversal::Elementwise; }]>,
    InterfaceMethod<[{
        Returns whether its elements may be recomputed at every read: a row reduction reads an operand once for each of its
        sums, and a cheap op that the backward reads may be recomputed there.
      }],
      "bool", "isCheapToRepeat", (ins), "", [{ return true; }]>,
    InterfaceMethod<[{
        Returns the operand that may be a matmul whose library computes this op with it, as an epilogue: `llm.gelu` of a matmul,
        `llm.gelu_grad` of one that is `dy`. Returns none where libraries have no such epilogue.
      }],
      "std::optional<unsigned>", "getEpilogueOperand", (ins), "", [{ return std::nullopt; }]>,
    InterfaceMethod<"Of attention: the operands that are rows of heads, [batch, seq, heads * head].",
      "::llvm::SmallVector<unsigned>", "getHeadOperands", (ins), "", [{ return {}; }]>,
    InterfaceMethod<"Of attention: the results that are rows of heads.",
      "::llvm::SmallVector<unsigned>", "getHeadResults", (ins), "", [{ return {}; }]>,
  ];
}

#endif // LLMMEM_INTERFACES_GROUPABLEOPINTERFACE
