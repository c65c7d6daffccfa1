//===- PipelineCuts.h - A forward function, cut into chunks ------------------===//

#ifndef LLMMEM_LIB_TRANSFORMS_PIPELINECUTS_H
#define LLMMEM_LIB_TRANSFORMS_PIPELINECUTS_H

#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Transforms/PipelineStages.h"
#include "llvm/ADT/SetVector.h"

namespace llmmem {

/// Is one of the consecutive parts of a forward function.
struct PipelineChunk {
  llvm::SmallVector<mlir::Operation *> ops;
  /// Holds the values of this chunk and those before it that later ones read.
  llvm::SmallVector<mlir::Value> outputs;
};

/// A value that depends on parameters and on inputs is an activation, and belongs to one chunk. A
/// value that depends on one of them alone (gathered parameters, rows of a micro-batch, counts of
/// targets) belongs to none: each stage computes for itself what it reads.
struct PipelineCuts {
  std::vector<PipelineChunk> chunks;
  llvm::DenseSet<mlir::Operation *> activations;
  /// Counts what experts drop in all blocks; null where nothing is counted. It belongs to no chunk,
  /// as each stage counts the places of its own.
  llm::CountDroppedOp dropped;
  /// Holds those ops of no chunk that depend on the micro-batch.
  llvm::DenseSet<mlir::Operation *> ofMicroBatch;

  /// Returns the ops of a chunk, and before the first one that reads it what belongs to no chunk.
  llvm::SetVector<mlir::Operation *> opsOf(int64_t chunk) const;
};

/// Describes what the stages run on: one for all, or one for each. No budgets are no limit.
struct PipelineDevices {
  llvm::ArrayRef<DeviceModel> devices;
  llvm::ArrayRef<int64_t> budgets;
  /// Holds the blocks of each chunk where the user gives them.
  llvm::ArrayRef<int64_t> blocksOfChunks;

  const DeviceModel &device(int64_t stage) const {
    return devices[std::min<size_t>(stage, devices.size() - 1)];
  }
  int64_t budget(int64_t stage) const {
    return budgets.empty() ? INT64_MAX : budgets[std::min<size_t>(stage, budgets.size() - 1)];
  }
};

/// Cuts the forward into chunks. Fails after a located diagnostic.
llvm::FailureOr<PipelineCuts> cutPipeline(mlir::func::FuncOp loss, llm::TrainingAttr training,
                                          const planning::PipelineShape &shape,
                                          const PipelineDevices &devices);

} // namespace llmmem

#endif // LLMMEM_LIB_TRANSFORMS_PIPELINECUTS_H
