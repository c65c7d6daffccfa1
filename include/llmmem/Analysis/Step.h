//===- Step.h - Which function of a module is the step ---------------------===//
//
// The step is @step; where there is no @step, @forward; where there is neither, the only function
// of the module. Tools and passes ask here, and nowhere else.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_ANALYSIS_STEP_H
#define LLMMEM_ANALYSIS_STEP_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem {

/// The step of `module`, or null where it has none.
mlir::func::FuncOp findStep(mlir::ModuleOp module);

/// Says at `module` that it has no step, and what gives it one.
mlir::InFlightDiagnostic emitNoStep(mlir::ModuleOp module);

/// Whether `function` is the step of its module. Looks at no more of the functions beside it than
/// their names, so a pass on functions may ask while others change those. Fails, after a
/// diagnostic, on a step of more than one block. Where the module has no step, the first of its
/// functions fails for all.
llvm::FailureOr<bool> isStep(mlir::func::FuncOp function);

} // namespace llmmem

#endif // LLMMEM_ANALYSIS_STEP_H
