//===- Step.cpp - Which function of a module is the step -------------------===//

#include "llmmem/Analysis/Step.h"

using namespace mlir;
using namespace llmmem;

func::FuncOp llmmem::findStep(ModuleOp module) {
  for (StringRef name : {"step", "forward"})
    if (auto function = module.lookupSymbol<func::FuncOp>(name))
      return function;
  auto functions = module.getOps<func::FuncOp>();
  return llvm::hasSingleElement(functions) ? *functions.begin() : func::FuncOp();
}

InFlightDiagnostic llmmem::emitNoStep(ModuleOp module) {
  return module.emitError(
      "has no @step and no @forward; import a model, or run --differentiate on one with @loss");
}

FailureOr<bool> llmmem::isStep(func::FuncOp function) {
  auto module = dyn_cast_or_null<ModuleOp>(function->getParentOp());
  func::FuncOp step = module ? findStep(module) : function;
  if (!step && function == *module.getOps<func::FuncOp>().begin())
    return emitNoStep(module);
  if (step != function)
    return false;
  if (!step.getBody().hasOneBlock())
    return step.emitError("must be one straight-line block: a plan orders the ops of one block");
  return true;
}
