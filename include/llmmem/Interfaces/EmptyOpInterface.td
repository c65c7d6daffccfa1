//===- EmptyOpInterface.td - Values without contents -----------*- tablegen -*-===//

#ifndef LLMMEM_INTERFACES_EMPTYOPINTERFACE
#define LLMMEM_INTERFACES_EMPTYOPINTERFACE

include "mlir/IR/OpBase.td"

def EmptyOpInterface : OpInterface<"EmptyOpInterface"> {
  let description = [{
    Is an op whose results have no contents, and so no bytes: what is given them reads a shape, and writes into bytes of its
    own. It is part of no schedule, as a constant is not.

    Example: `tensor.empty`.
  }];
  let cppNamespace = "::llmmem";
}

#endif // LLMMEM_INTERFACES_EMPTYOPINTERFACE
