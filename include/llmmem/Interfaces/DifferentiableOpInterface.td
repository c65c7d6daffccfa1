//===- DifferentiableOpInterface.td - Vector-Jacobian products -*- tablegen -*-===//

#ifndef LLMMEM_INTERFACES_DIFFERENTIABLEOPINTERFACE
#define LLMMEM_INTERFACES_DIFFERENTIABLEOPINTERFACE

include "mlir/IR/OpBase.td"

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let description = [{
    Builds the vector-Jacobian product of an op. The rule may use the op's operands and results as they are: which of
    them are kept for the backward is not its business.

    Example: for `%y = llm.mul %a, %b` and the gradient `%dy` the rule builds `%da = llm.mul %dy, %b` and
    `%db = llm.mul %dy, %a`.
  }];
  let cppNamespace = "::llmmem";
  let methods = [
    InterfaceMethod<[{
        Builds the gradients of the operands from those of the results. `resultGradients` has one entry for each
        result, null where the gradient is zero (at least one is not). `active` says for each operand whether its
        gradient is wanted; `operandGradients` receives one entry for each operand, null where it is not wanted or
        is zero. Fails, after a located diagnostic, where the op has no rule for a wanted gradient.
      }],
      "::llvm::LogicalResult", "buildVJP",
      (ins "::mlir::OpBuilder &":$builder, "::llvm::ArrayRef<::mlir::Value>":$resultGradients,
           "::llvm::ArrayRef<bool>":$active, "::llvm::SmallVectorImpl<::mlir::Value> &":$operandGradients)>,
  ];
}

#endif // LLMMEM_INTERFACES_DIFFERENTIABLEOPINTERFACE
