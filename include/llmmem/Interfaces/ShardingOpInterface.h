//===- ShardingOpInterface.h - How split operands split results -------------===//
//
// A sharding says for each dimension of a value over which axes of the mesh it is split. An op says
// how shardings go through it by naming each dimension of its operands and results by a factor, as
// einsum does, and GSPMD and Shardy after it:
//
//   "... i, i o -> ... o"      y = x W: the leading dimensions of x are those of y; i is summed
//   "... H, H -> ... H, ..."   rms_norm: rows are independent, a row must be whole
//
// A factor that results do not have is a reduction: on split operands each rank computes addends of
// the result. A factor with a capital letter must not be split. "..." stands for the leading
// dimensions, the same everywhere. A scalar has no factors.
//
// Example: x of "... i" split as [{dp}, {}, {}] gives y of "... o" the sharding [{dp}, {}, {}].
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_INTERFACES_SHARDINGOPINTERFACE_H
#define LLMMEM_INTERFACES_SHARDINGOPINTERFACE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpDefinition.h"

namespace llmmem {

/// For each dimension the axes that it is split over, outermost first.
struct Sharding {
  llvm::SmallVector<llvm::SmallVector<mlir::StringAttr, 1>> dimensions;
  /// Axes over which each rank holds an addend of the value.
  llvm::SmallVector<mlir::StringAttr, 1> partial;

  static Sharding whole(int64_t rank);
  bool isWhole() const;
  /// All axes that dimensions are split over.
  llvm::SmallVector<mlir::StringAttr, 1> axes() const;
};

/// The shardings of the results of `op` by its rule. Fails, after a diagnostic that names the
/// operand and its dimension, where a dimension is split that must be whole, or two operands split
/// one factor differently.
llvm::FailureOr<llvm::SmallVector<Sharding>> propagate(mlir::Operation *op,
                                                       llvm::ArrayRef<Sharding> operands);

} // namespace llmmem

#include "llmmem/Interfaces/ShardingOpInterface.h.inc"

#endif // LLMMEM_INTERFACES_SHARDINGOPINTERFACE_H
