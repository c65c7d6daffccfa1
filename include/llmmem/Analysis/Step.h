//===- Step.h - Which function of a module is the step ---------------------===//
//
// The step is the function that `llm.entry` names; without it @step, else @forward, else @main;
// where there is none of them, the only function of the module. No tool or pass finds it by rules
// of its own.
//
// A step may be several functions, each with a plan of its own under one budget: @step, which runs
// for each micro-batch, and @update after it; or @stage0, @stage1, ... of a pipeline.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_ANALYSIS_STEP_H
#define LLMMEM_ANALYSIS_STEP_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem {

/// Returns the step of `module`, or null where it has none.
mlir::func::FuncOp findStep(mlir::ModuleOp module);

/// Returns all functions of the step of `module`, the step first; none where it has no step.
llvm::SmallVector<mlir::func::FuncOp> findStepFunctions(mlir::ModuleOp module);

/// Reports at `module` that it has no step, and what gives it one.
mlir::InFlightDiagnostic emitNoStep(mlir::ModuleOp module);

/// Returns whether `function` belongs to the step of its module. It reads only the names of the
/// other functions, so a pass on functions may call it while others change those. It fails, after a
/// diagnostic, on a step of more than one block. Where the module has no step, the first of its
/// functions fails for all.
llvm::FailureOr<bool> isStep(mlir::func::FuncOp function);

} // namespace llmmem

#endif // LLMMEM_ANALYSIS_STEP_H
