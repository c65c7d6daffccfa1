//===- Passes.td - The way of the data, one pass a stage -------*- tablegen -*-===//
//
// In the order in which they run. Options live here and nowhere else.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TRANSFORMS_PASSES
#define LLMMEM_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def Differentiate : Pass<"differentiate", "::mlir::ModuleOp"> {
  let summary = "Turns @loss into @step: forward, backward and optimizer update";
  let description = [{
    *Requires*: a function `@loss` of statically shaped tensors whose first result is a scalar, arguments with
    `llm.role`, ops that implement `DifferentiableOpInterface` between parameters and the loss, and
    `llm.training` on the module. *Ensures*: `@loss` is replaced by `@step`, straight-line, each op with `llm.phase`
    and the `llm.block` of the forward op it came from; every updated argument is donated.
  }];
  let dependentDialects = ["::llmmem::llm::LlmDialect"];
}

#endif // LLMMEM_TRANSFORMS_PASSES
