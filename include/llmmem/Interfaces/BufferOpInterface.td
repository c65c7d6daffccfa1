//===- BufferOpInterface.td - Whose bytes a result has ---------*- tablegen -*-===//

#ifndef LLMMEM_INTERFACES_BUFFEROPINTERFACE
#define LLMMEM_INTERFACES_BUFFEROPINTERFACE

include "mlir/IR/OpBase.td"

def BufferOpInterface : OpInterface<"BufferOpInterface"> {
  let description = [{
    Says whose bytes a result has, and whether the op may run again. Without this interface each result has bytes of
    its own, and an op may run again exactly if it has no memory effect.
  }];
  let cppNamespace = "::llmmem";
  let methods = [
    InterfaceMethod<"The operand whose bytes `result` looks at: a view has none of its own.",
      "std::optional<unsigned>", "getViewedOperand", (ins "unsigned":$result), "", [{ return std::nullopt; }]>,
    InterfaceMethod<[{
        Returns the operands whose bytes `result` may take over, if this op is their last reader. The op's kernel must be
        right with and without the overlap.
      }],
      "::llvm::SmallVector<unsigned>", "getInPlaceOperands", (ins "unsigned":$result), "", [{ return {}; }]>,
    InterfaceMethod<"Whether a second run gives the same bits and changes nothing else.",
      "bool", "isRecomputable", (ins), "", [{ return true; }]>,
  ];
}

#endif // LLMMEM_INTERFACES_BUFFEROPINTERFACE
