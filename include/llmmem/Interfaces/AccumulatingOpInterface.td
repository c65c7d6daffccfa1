//===- AccumulatingOpInterface.td - Sums that go on in place ---*- tablegen -*-===//

#ifndef LLMMEM_INTERFACES_ACCUMULATINGOPINTERFACE
#define LLMMEM_INTERFACES_ACCUMULATINGOPINTERFACE

include "mlir/IR/OpBase.td"

def AccumulatingOpInterface : OpInterface<"AccumulatingOpInterface"> {
  let description = [{
    Is an op whose one result is a sum that may go on from an accumulator, `into`, and take over its bytes. Differentiation
    uses it instead of an addition: a gradient with several contributions is then never held twice, and is rounded
    once for each contribution.

    Example: `%s = llm.add %acc, %t` with `%t = llm.sum_rows %dy` is `%s = llm.sum_rows %dy into(%acc)`.
  }];
  let cppNamespace = "::llmmem";
  let methods = [
    InterfaceMethod<"The accumulator, or null.", "::mlir::Value", "getInto">,
    InterfaceMethod<"The operand to set it by: at most one.", "::mlir::MutableOperandRange", "getIntoMutable">,
  ];
}

#endif // LLMMEM_INTERFACES_ACCUMULATINGOPINTERFACE
