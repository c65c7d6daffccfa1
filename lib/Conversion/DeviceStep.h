//===- DeviceStep.h - What a step for a GPU says beside its calls ----------===//

#ifndef LLMMEM_LIB_CONVERSION_DEVICESTEP_H
#define LLMMEM_LIB_CONVERSION_DEVICESTEP_H

#include "StepPlaces.h"

namespace llmmem {

/// Numbers the values of a step whose bytes calls touch, so that a read of bytes that another value
/// has taken can be found whatever the plan says. The arguments of the step are 0, 1, ...; a view
/// has the number of what it looks at, what lies in an argument has the argument's, and a sum that
/// goes on where it lies keeps its number: rows of a table that no token touches are not written.
class ValueNumbers {
public:
  ValueNumbers(mlir::func::FuncOp step, const StepPlaces &places)
      : places(places), next(step.getNumArguments()) {}

  int64_t of(mlir::Value value);
  /// For bytes that are no value of the step: a workspace, a result that is handed out.
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

/// Fails with a diagnostic at `op` where its kernel does more on the host than launch, or has
/// memory on a thread's stack.
llvm::LogicalResult checkDeviceKernel(mlir::Operation *op, mlir::func::FuncOp kernel);

} // namespace llmmem

#endif // LLMMEM_LIB_CONVERSION_DEVICESTEP_H
