//===- DifferentiationStep.h - What the parts of the step builder share ----===//

#ifndef LLMMEM_LIB_TRANSFORMS_DIFFERENTIATIONSTEP_H
#define LLMMEM_LIB_TRANSFORMS_DIFFERENTIATIONSTEP_H

#include "llmmem/Transforms/Differentiation.h"

namespace llmmem {

/// A parameter of the step, with what its update reads and gives.
struct TrainedParameter {
  mlir::BlockArgument argument;
  mlir::BlockArgument firstMoment, secondMoment,
      master;                           // null where the optimizer or the type has none
  mlir::BlockArgument gradientArgument; // null where gradients are transient
  /// What its update reads and gives where ranks share it; null where there is one rank.
  llm::DataParallelAttr sharing;
  mlir::Value gradient;
  /// The gradient that its update reads: of this rank's part, where its state is split.
  mlir::Value updatingGradient;
  mlir::Value newArgument, newFirstMoment, newSecondMoment, newMaster;
};

/// Arguments that all updates read.
struct UpdateInputs {
  mlir::BlockArgument learningRate, step;
};

/// Sums the gradients of parameters that ranks share, each right behind the op that ends it, and
/// sets what their updates read (docs/Design/Ranks.md). A gradient that is resident and split by
/// ZeRO-2 is added to its argument there.
void shareGradients(llvm::MutableArrayRef<TrainedParameter> parameters);

/// The ranks' norm of what each has of the gradients, from the norm of this rank's.
mlir::Value combineNorms(mlir::OpBuilder &builder, mlir::Value norm, mlir::ArrayAttr axes);

/// What the update of `parameter` reads as its parameter: this rank's part, where its state is
/// split and it is not.
mlir::Value takePart(mlir::OpBuilder &builder, const TrainedParameter &parameter);

/// The whole of an updated part, in the bytes of the parameter.
mlir::Value gatherUpdated(mlir::OpBuilder &builder, const TrainedParameter &parameter,
                          mlir::Value part);

/// Builds the update of each parameter in `block`, whose backward begins with `firstBackward`: at
/// its end, or, where gradients are transient and nothing waits for their norm, as early as each
/// can stand.
void buildUpdates(mlir::Block &block, mlir::Operation *firstBackward, llm::TrainingAttr training,
                  const UpdateInputs &inputs, llvm::MutableArrayRef<TrainedParameter> parameters);

} // namespace llmmem

#endif // LLMMEM_LIB_TRANSFORMS_DIFFERENTIATIONSTEP_H
