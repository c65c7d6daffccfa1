//===- StepStorage.h - Whose bytes each value of a step has ----------------===//
//
// A value lies in bytes of its own, in those of the value that it is a view of, or in an
// argument's: where the function donates an argument to a result, the result and every sum on the
// way to it take over the argument's bytes, and no plan decides otherwise. An op of another
// compiler says itself which argument it overwrites (`llm.in_argument`).
//
// Example: %1 = sum_rows %dy into(%g); %2 = sum_rows %dz into(%1); return %2, with %g donated to
// it: %1 and %2 lie in %g.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LAYOUT_STEPSTORAGE_H
#define LLMMEM_LAYOUT_STEPSTORAGE_H

#include "llmmem/Interfaces/BufferOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace llmmem {

/// Is an MLIR analysis of a step: it depends on the ops, on what they are views of, and on
/// donations; no other attribute makes it invalid.
class StepStorage {
public:
  StepStorage() = default;
  /// Emits a located diagnostic where a donated argument's bytes cannot reach its result. The
  /// storage is then not valid, and no other function may be called.
  explicit StepStorage(mlir::func::FuncOp step);

  bool isValid() const { return valid; }

  /// Returns the value that `value` is a view of, through any number of views; itself where it is
  /// none.
  mlir::Value getRoot(mlir::Value value) const;

  /// Returns whether `value` is a constant or a view of one: it is held throughout and never
  /// written.
  bool isConstant(mlir::Value value) const;

  /// Returns the argument whose bytes `value` lies in, or null where it has bytes of its own in the
  /// arena.
  mlir::BlockArgument getArgument(mlir::Value value) const;

  /// Returns whether `result` has bytes of its own in the arena: it is no view and lies in no
  /// argument.
  bool hasOwnBytes(mlir::OpResult result) const {
    return getRoot(result) == result && !getArgument(result);
  }

private:
  void findViews(mlir::func::FuncOp step);
  llvm::LogicalResult findStated(mlir::func::FuncOp step);
  llvm::LogicalResult findDonated(mlir::func::FuncOp step);

  bool valid = false;
  llvm::DenseMap<mlir::Value, mlir::Value> viewed;             // view -> root
  llvm::DenseMap<mlir::Value, mlir::BlockArgument> inArgument; // root -> donated argument
};

} // namespace llmmem

#endif // LLMMEM_LAYOUT_STEPSTORAGE_H
