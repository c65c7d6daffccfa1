//===- Step.cpp - Which function of a module is the step -------------------===//

#include "llmmem/Analysis/Step.h"
#include "llmmem/Dialect/LlmDialect.h"

using namespace mlir;
using namespace llmmem;

func::FuncOp llmmem::findStep(ModuleOp module) {
  if (auto entry = module->getAttrOfType<StringAttr>(llm::LlmDialect::kEntry))
    return module.lookupSymbol<func::FuncOp>(entry);
  for (StringRef name : {"step", "stage0", "forward", "main"})
    if (auto function = module.lookupSymbol<func::FuncOp>(name))
      return function;
  auto functions = module.getOps<func::FuncOp>();
  return llvm::hasSingleElement(functions) ? *functions.begin() : func::FuncOp();
}

SmallVector<func::FuncOp> llmmem::findStepFunctions(ModuleOp module) {
  SmallVector<func::FuncOp> functions;
  func::FuncOp step = findStep(module);
  if (!step)
    return functions;
  functions.push_back(step);
  auto addNamed = [&](const Twine &name) {
    auto function = module.lookupSymbol<func::FuncOp>(name.str());
    if (function)
      functions.push_back(function);
    return static_cast<bool>(function);
  };
  if (step.getName() == "step")
    addNamed("update");
  if (step.getName() == "stage0")
    for (int64_t stage = 1; addNamed("stage" + Twine(stage)); ++stage)
      ;
  return functions;
}

InFlightDiagnostic llmmem::emitNoStep(ModuleOp module) {
  return module.emitError(
      "has no @step, @forward or @main; import a model, run --differentiate on one with @loss, or "
      "name its function: --entry=NAME");
}

FailureOr<bool> llmmem::isStep(func::FuncOp function) {
  auto module = dyn_cast_or_null<ModuleOp>(function->getParentOp());
  SmallVector<func::FuncOp> functions;
  if (module)
    functions = findStepFunctions(module);
  else
    functions.push_back(function);
  if (functions.empty() && function == *module.getOps<func::FuncOp>().begin())
    return emitNoStep(module);
  if (!llvm::is_contained(functions, function))
    return false;
  if (!function.getBody().hasOneBlock())
    return function.emitError(
        "must be one straight-line block: a plan orders the ops of one block");
  return true;
}
