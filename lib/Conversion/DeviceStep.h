//===- DeviceStep.h - What a step for a GPU says in addition to its calls --===//

#ifndef LLMMEM_LIB_CONVERSION_DEVICESTEP_H
#define LLMMEM_LIB_CONVERSION_DEVICESTEP_H

#include "llmmem/Layout/StepPlaces.h"

namespace llmmem {

/// Numbers the values whose bytes calls of a step access, so that a read of bytes that another
/// value has overwritten is found whatever the plan says. The arguments of the step are 0, 1, ....
/// A view has the number of its source, a value in an argument has the argument's, and an
/// accumulator that is updated in place keeps its number: rows of a table that no token looks up
/// are not written.
class ValueNumbers {
public:
  ValueNumbers(mlir::func::FuncOp step, const StepPlaces &places)
      : places(places), next(step.getNumArguments()) {}

  int64_t of(mlir::Value value);
  /// Returns a number for bytes that are no value of the step: a workspace, a copy of a result.
  int64_t fresh() { return next++; }

private:
  mlir::Value continued(mlir::Value value) const;

  const StepPlaces &places;
  llvm::DenseMap<mlir::Value, int64_t> numbers;
  int64_t next;
};

/// Writes `llm.values` and `llm.writes` (docs/Design/Gpu.md) on a call.
void describeBuffers(mlir::Operation *call, llvm::ArrayRef<int64_t> values,
                     llvm::ArrayRef<int64_t> writes);

/// Does the same for the call of the kernel of `op`, whose operands are the op's operands and
/// results, the workspace if there is one, and numbers.
void describeBuffers(mlir::Operation &op, mlir::func::CallOp call, ValueNumbers &numbers);

/// Fails with a diagnostic at `op` if its kernel does more on the host than launch, or uses stack
/// memory.
llvm::LogicalResult checkDeviceKernel(mlir::Operation *op, mlir::func::FuncOp kernel);

} // namespace llmmem

#endif // LLMMEM_LIB_CONVERSION_DEVICESTEP_H
