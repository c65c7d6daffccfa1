//===- UpdateOpInterface.td - What an optimizer's update is ----*- tablegen -*-===//

#ifndef LLMMEM_INTERFACES_UPDATEOPINTERFACE
#define LLMMEM_INTERFACES_UPDATEOPINTERFACE

include "mlir/IR/OpBase.td"

def UpdateOpInterface : OpInterface<"UpdateOpInterface"> {
  let description = [{
    Is an op that gives a parameter its new value from its gradient. Its first result is the parameter, the others are what the
    optimizer keeps from step to step. The code that runs a step learns from it which gradient and which wider copy belong to a
    parameter.
  }];
  let cppNamespace = "::llmmem";
  let methods = [
    InterfaceMethod<"The parameter as it was.", "::mlir::Value", "getUpdatedParam">,
    InterfaceMethod<"Its gradient.", "::mlir::Value", "getUpdatingGradient">,
    InterfaceMethod<"Its copy in a wider type, which is what is updated and then rounded; null where there is none.",
      "::mlir::Value", "getMasterCopy">,
  ];
}

#endif // LLMMEM_INTERFACES_UPDATEOPINTERFACE
