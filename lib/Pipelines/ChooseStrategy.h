//===- ChooseStrategy.h - From --mesh=auto to a mesh -----------------------===//

#ifndef LLMMEM_LIB_PIPELINES_CHOOSESTRATEGY_H
#define LLMMEM_LIB_PIPELINES_CHOOSESTRATEGY_H

#include "llmmem/Pipelines/CheckpointPipeline.h"

namespace llmmem {

/// Is what `--mesh` says where the strategy is to be chosen.
inline constexpr llvm::StringLiteral kAutoMesh = "auto";

/// Returns the options of `plan-checkpoints`.
PlanCheckpointsOptions planOptions(const CheckpointPipelineOptions &options);

/// Checks that the flags of mesh, data parallel ranks and stages go together; reads no file.
llvm::Error checkStrategy(const CheckpointPipelineOptions &options,
                          llvm::function_ref<std::string(llvm::StringRef)> spell);

/// Says what is wrong with the options together with `mesh=auto`, and what would be right.
llvm::Error checkAutoMesh(const CheckpointPipelineOptions &options,
                          llvm::function_ref<std::string(llvm::StringRef)> spell);

/// Chooses a strategy for the module, reports on it and runs the rest of the pipeline with it.
std::unique_ptr<mlir::Pass> createChooseStrategy(const CheckpointPipelineOptions &options,
                                                 std::shared_ptr<CheckpointOutcome> outcome);

} // namespace llmmem

#endif // LLMMEM_LIB_PIPELINES_CHOOSESTRATEGY_H
