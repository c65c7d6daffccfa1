//===- StepVariants.h - The step with each choice of other ops -----------------===//

#ifndef LLMMEM_TRANSFORMS_STEPVARIANTS_H
#define LLMMEM_TRANSFORMS_STEPVARIANTS_H

#include "llmmem/Planning/Variants/ProblemVariants.h"
#include "llmmem/Transforms/Checkpoints.h"
#include "mlir/IR/OwningOpRef.h"

namespace llmmem {

/// Is the step with one choice of epilogues and of packed values, and what the planner is asked
/// about it.
struct StepVariant {
  Epilogues epilogues;
  int64_t packedQuarters = 0;
  bool fillsConstants = false;
  mlir::OwningOpRef<mlir::func::FuncOp> copy; // null where it is the step itself
  mlir::func::FuncOp step;
  StepStorage storage;
  ExtractedProblem extracted;
  ChunkTilings tilings;
};

/// Returns the alternatives that `request` and the device's table leave open, each different from
/// those before it: separate first. Where saved values may be packed (PackSaved.h), steps with some
/// of them packed come after those without. Fails, after a located diagnostic, where the step
/// cannot be planned.
llvm::FailureOr<std::vector<StepVariant>> makeStepVariants(mlir::func::FuncOp step,
                                                           const StepStorage &storage,
                                                           const CheckpointRequest &request,
                                                           const DeviceModel &device);

/// Returns what the planner is asked about all of them. Epilogues of a library round in other
/// places than the ops apart: where one multiplies, the choice must not depend on the budget.
/// Elsewhere all alternatives have the same bits, except for those of packed values.
planning::VariantSet variantSetOf(mlir::func::FuncOp step, llvm::ArrayRef<StepVariant> alternatives,
                                  std::optional<int64_t> budget);

/// Records on `chosen` what the planner found of each, where there were several: `llm.epilogues`.
void recordOutcomes(llvm::ArrayRef<StepVariant> alternatives, StepVariant &chosen,
                    llvm::ArrayRef<planning::ProblemVariantOutcome> outcomes);

/// Makes `step` what `chosen` is: its ops and its attributes.
void applyVariant(mlir::func::FuncOp step, StepVariant &chosen);

} // namespace llmmem

#endif // LLMMEM_TRANSFORMS_STEPVARIANTS_H
