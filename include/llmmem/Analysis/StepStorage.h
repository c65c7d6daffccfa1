//===- StepStorage.h - Whose bytes each value of a step has ----------------===//
//
// A value lies in bytes of its own, in those of the value that it is a view of, or in an
// argument's: where the function donates an argument to a result, the result and every sum on the
// way to it take over the argument's bytes, and no plan decides otherwise.
//
// Example: %1 = sum_rows %dy into(%g); %2 = sum_rows %dz into(%1); return %2, with %g donated to
// it: %1 and %2 lie in %g.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_ANALYSIS_STEPSTORAGE_H
#define LLMMEM_ANALYSIS_STEPSTORAGE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace llmmem {

class StepStorage {
public:
  /// Fails, after a located diagnostic, where a donated argument's bytes cannot reach its result.
  static llvm::FailureOr<StepStorage> compute(mlir::func::FuncOp step);

  /// The value that `value` is a view of, through any number of views; itself where it is none.
  mlir::Value getRoot(mlir::Value value) const;

  /// The argument whose bytes `value` lies in, or null where it has bytes of its own in the arena.
  mlir::BlockArgument getArgument(mlir::Value value) const;

private:
  llvm::DenseMap<mlir::Value, mlir::Value> viewed;             // view -> root
  llvm::DenseMap<mlir::Value, mlir::BlockArgument> inArgument; // root -> donated argument
};

/// Whether `op` does nothing but look at an operand's bytes.
bool isViewOp(mlir::Operation *op);

/// The step of a module: @step, else @forward, else its only function. Null, after a diagnostic,
/// where there is none or more than one block in it.
mlir::func::FuncOp findStep(mlir::ModuleOp module);

} // namespace llmmem

#endif // LLMMEM_ANALYSIS_STEPSTORAGE_H
