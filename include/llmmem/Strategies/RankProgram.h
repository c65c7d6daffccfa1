//===- RankProgram.h - The functions that one rank runs --------------------===//

#ifndef LLMMEM_STRATEGIES_RANKPROGRAM_H
#define LLMMEM_STRATEGIES_RANKPROGRAM_H

#include "llmmem/Strategies/RankModel.h"

namespace llmmem {

/// Holds @step and, for several micro-batches, @update, grouped and ready to be planned. A model
/// without @loss has one function, such as @decode.
struct RankProgram {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp step, update; // The second may be null.
};

/// Records the first diagnostic of any failure during its lifetime, and prints none.
class DiagnosticText {
public:
  explicit DiagnosticText(mlir::MLIRContext *context);
  llvm::Error toError() const { return llvm::createStringError(text); }

private:
  std::string text;
  mlir::ScopedDiagnosticHandler handler;
};

/// Runs the passes of a rank's program on a copy of `model`. Fails after a diagnostic.
llvm::FailureOr<RankProgram> buildRankProgram(mlir::ModuleOp model, const RankShape &shape,
                                              const StepSettings &settings,
                                              const DeviceModel &device);

} // namespace llmmem

#endif // LLMMEM_STRATEGIES_RANKPROGRAM_H
