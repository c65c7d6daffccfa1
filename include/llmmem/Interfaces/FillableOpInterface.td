//===- FillableOpInterface.td - Constants of one number --------*- tablegen -*-===//

#ifndef LLMMEM_INTERFACES_FILLABLEOPINTERFACE
#define LLMMEM_INTERFACES_FILLABLEOPINTERFACE

include "mlir/IR/OpBase.td"

def FillableOpInterface : OpInterface<"FillableOpInterface"> {
  let description = [{
    A constant that can be written by a fill where all of its elements are one number. A plan may then write it where it is
    read, instead of holding it throughout.

    Example: `arith.constant dense<0.0> : tensor<64xf32>` and `linalg.fill`.
  }];
  let cppNamespace = "::llmmem";

  let methods = [
    InterfaceMethod<"A value of the constant's type that ops made by `builder` write: null where its elements differ, or nothing can write them.",
      "::mlir::Value", "makeFill", (ins "::mlir::OpBuilder &":$builder)>
  ];
}

#endif // LLMMEM_INTERFACES_FILLABLEOPINTERFACE
