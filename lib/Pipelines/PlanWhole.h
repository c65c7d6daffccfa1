//===- PlanWhole.h - Plans a module as the pipeline does, and measures the plan -===//

#ifndef LLMMEM_LIB_PIPELINES_PLANWHOLE_H
#define LLMMEM_LIB_PIPELINES_PLANWHOLE_H

#include "llmmem/Pipelines/CheckpointPipeline.h"
#include "llmmem/Strategies/StrategySearch.h"

namespace llmmem {

std::unique_ptr<CheckpointPipelineOptions> copyOf(const CheckpointPipelineOptions &options);

/// Measures the time and bytes of a planned step, as the memory report has them; `tables` has that
/// of each stage.
llvm::FailureOr<WholePlan> measurePlan(mlir::ModuleOp module,
                                       llvm::ArrayRef<const DeviceModel *> tables);

/// Plans `module` with `options` and measures it. It prints nothing and writes no file. Where no
/// plan is found, or it cannot be measured, that is the error; where a pass refuses the module,
/// that is the result's refusal.
llvm::Expected<WholePlan> planWhole(mlir::OwningOpRef<mlir::ModuleOp> module,
                                    const CheckpointPipelineOptions &options,
                                    llvm::ArrayRef<const DeviceModel *> tables);

} // namespace llmmem

#endif // LLMMEM_LIB_PIPELINES_PLANWHOLE_H
