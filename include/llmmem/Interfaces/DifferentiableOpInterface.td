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
        gradient is wanted. `operandGradients` has a null entry for each operand, and receives the gradients that are
        wanted and not zero. Fails, after a located diagnostic, where the op has no rule for a wanted gradient. Without
        a rule of its own, an op gives its first operand what `buildGradient` builds.
      }],
      "::llvm::LogicalResult", "buildVJP",
      (ins "::mlir::OpBuilder &":$builder, "::llvm::ArrayRef<::mlir::Value>":$resultGradients,
           "::llvm::ArrayRef<bool>":$active, "::llvm::MutableArrayRef<::mlir::Value>":$operandGradients),
      /*methodBody=*/"", /*defaultImplementation=*/[{
        if (!active[0])
          return ::llvm::success();
        operandGradients[0] = $_op.buildGradient(builder, resultGradients[0]);
        return ::llmmem::detail::expectGradient($_op, operandGradients[0]);
      }]>,
    InterfaceMethod<[{
        Builds the gradient of the first operand from `dy`, that of the first result, for an op whose other operands
        have none. Null where the op has `buildVJP` instead.
      }],
      "::mlir::Value", "buildGradient", (ins "::mlir::OpBuilder &":$builder, "::mlir::Value":$dy),
      /*methodBody=*/"", /*defaultImplementation=*/"return {};">,
  ];
}

#endif // LLMMEM_INTERFACES_DIFFERENTIABLEOPINTERFACE
