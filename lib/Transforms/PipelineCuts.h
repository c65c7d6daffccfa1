//===- PipelineCuts.h - A forward function, cut into chunks ------------------===//

#ifndef LLMMEM_LIB_TRANSFORMS_PIPELINECUTS_H
#define LLMMEM_LIB_TRANSFORMS_PIPELINECUTS_H

#include "llmmem/Transforms/PipelineStages.h"

namespace llmmem {

/// One of the consecutive parts of a forward function.
struct PipelineChunk {
  llvm::SmallVector<mlir::Operation *> ops;
  /// Values of this chunk and those before it that later ones read.
  llvm::SmallVector<mlir::Value> outputs;
};

/// What depends on parameters and on inputs is activations, and belongs to one chunk. What depends
/// on one of them alone (gathered parameters, rows of a micro-batch, counts of targets) belongs to
/// none: each stage computes for itself what it reads of it.
struct PipelineCuts {
  std::vector<PipelineChunk> chunks;
  llvm::DenseSet<mlir::Operation *> activations;
  /// Of those that belong to no chunk, what depends on the micro-batch.
  llvm::DenseSet<mlir::Operation *> ofMicroBatch;
};

/// Fails after a located diagnostic.
llvm::FailureOr<PipelineCuts> cutPipeline(mlir::func::FuncOp loss,
                                          const planning::PipelineShape &shape,
                                          const DeviceModel &device);

} // namespace llmmem

#endif // LLMMEM_LIB_TRANSFORMS_PIPELINECUTS_H
