//===- PipelineStages.h - The steps of the stages of a pipeline -------------===//
//
// The ranks along the axis `pp` of the mesh hold consecutive parts of the model, the stages, and
// run programs of their own: @stage0, @stage1, ... Each is straight-line code with the forward and
// the backward of all micro-batches in the order of a static schedule (Planning/Pipeline), and
// `llm.exchange`s between them. What a stage holds for the micro-batches in flight is then a matter
// of liveness alone (docs/Design/Pipeline.md).
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TRANSFORMS_PIPELINESTAGES_H
#define LLMMEM_TRANSFORMS_PIPELINESTAGES_H

#include "llmmem/Device/DeviceModel.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Planning/Pipeline/PipelineTime.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem {

/// Is the axis of the mesh whose ranks are stages.
inline constexpr llvm::StringLiteral kPipelineAxis = "pp";

/// Builds after `loss`, which is that of a micro-batch (`splitMicroBatches`) under a mesh with the
/// axis `pp`, the step of each stage; `loss` stays as it is. A stage has the inputs and the
/// parameters that its blocks read; a parameter that several stages read is on each of them, and
/// its gradients are summed. Gradients are resident whatever `training` says. Each step returns the
/// loss of the whole batch. The module gets `llm.pipeline`.
///
/// Stages are cut between blocks (`llm.block`), as planning::cutStages says: by what parameters,
/// gradients and states hold in `budgets`, by cost on `devices`, and by bytes. Both have one for
/// all stages or one for each; no budgets are no limit. Where `blocksOfChunks` is not empty, it
/// says how many blocks each chunk has. Fails, after a located diagnostic that names the fix, at
/// fewer blocks than chunks.
llvm::LogicalResult buildPipelineStages(mlir::func::FuncOp loss, llm::TrainingAttr training,
                                        const planning::PipelineShape &shape,
                                        llvm::ArrayRef<DeviceModel> devices,
                                        llvm::ArrayRef<int64_t> budgets = {},
                                        llvm::ArrayRef<int64_t> blocksOfChunks = {});

/// Reads "1,2,2,3", the blocks of each chunk; nothing of an empty text. The error says what each
/// number must be.
llvm::Expected<llvm::SmallVector<int64_t>> parseStages(llvm::StringRef text);

/// Checks the exchanges of all stages of `module` against each other, and what all stages do
/// together: messages match in type, and no stage waits for ever. Fails after a diagnostic at one
/// of two ops that do not fit, with a note at the other.
llvm::LogicalResult checkExchanges(mlir::ModuleOp module);

/// Returns the modelled time of the stages of `module` on `devices`, one for all or one for each,
/// with their ops in order, repetitions included, and the time that they wait for each other. Fails
/// after a diagnostic at an op without a cost.
llvm::FailureOr<planning::PipelineTime> modelPipeline(mlir::ModuleOp module,
                                                      llvm::ArrayRef<const DeviceModel *> devices);

} // namespace llmmem

#endif // LLMMEM_TRANSFORMS_PIPELINESTAGES_H
