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
  mlir::Value gradient;
  mlir::Value newArgument, newFirstMoment, newSecondMoment, newMaster;
};

/// Arguments that all updates read.
struct UpdateInputs {
  mlir::BlockArgument learningRate, step;
};

/// Builds the update of each parameter in `block`, whose backward begins with `firstBackward`: at
/// its end, or, where gradients are transient and nothing waits for their norm, as early as each
/// can stand.
void buildUpdates(mlir::Block &block, mlir::Operation *firstBackward, llm::TrainingAttr training,
                  const UpdateInputs &inputs, llvm::MutableArrayRef<TrainedParameter> parameters);

} // namespace llmmem

#endif // LLMMEM_LIB_TRANSFORMS_DIFFERENTIATIONSTEP_H
