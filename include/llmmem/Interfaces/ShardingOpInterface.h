//===- ShardingOpInterface.h - How split operands split results -------------===//
//
// A sharding says for each dimension of a value over which axes of the mesh it is split. An op says
// how shardings go through it by naming each dimension of its operands and results by a factor, as
// einsum does, and GSPMD and Shardy after it:
//
//   "... i, i o -> ... o"        y = x W: the leading dimensions of x are those of y; i is summed
//   "... H, H -> ... H, ..."     rms_norm: rows are independent, a row must be whole
//   "... a+b -> ... a, ... b"    columns a and b lie side by side; each may be split by itself
//   "..., v~ h -> ... h"         v may be padded
//
// A factor that results do not have is a reduction: on split operands each rank computes its part
// of the result (an addend, unless the op joins it otherwise). A factor with a capital letter must
// not be split. "..." stands for the leading dimensions, the same everywhere. A scalar has no
// factors. The factor that is called `experts` numbers groups with a weight each: the axis ep
// splits it, and tp does not.
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

/// Says how a dimension is split.
struct DimensionSharding {
  /// Lists the axes, outermost first; none where it is whole.
  llvm::SmallVector<mlir::StringAttr, 1> axes;
  /// Lists the sizes of what lies side by side in it, each of which is split by itself; none for
  /// one.
  llvm::SmallVector<int64_t, 0> pieces;
  /// Says whether the ranks do not divide it, and the last parts are padded.
  bool padded = false;

  bool isWhole() const { return axes.empty(); }
  bool operator==(const DimensionSharding &other) const {
    return axes == other.axes && pieces == other.pieces && padded == other.padded;
  }
};

struct Sharding {
  llvm::SmallVector<DimensionSharding> dimensions;
  /// Is the shape of the whole.
  llvm::SmallVector<int64_t> wholeSizes;
  /// Lists the axes over which each rank holds an addend of the value.
  llvm::SmallVector<mlir::StringAttr, 1> partial;

  static Sharding whole(mlir::Type type);
  bool isWhole() const;
  /// Returns all axes that dimensions are split over.
  llvm::SmallVector<mlir::StringAttr, 1> axes() const;
};

/// Is a dimension in a rule: a factor, or several side by side.
struct FactorDimension {
  llvm::SmallVector<std::string, 1> factors;
  bool mayBePadded = false;

  bool mustBeWhole() const;
};

/// Holds the dimensions of operands and results in the rule of an op.
struct ShardingRule {
  llvm::SmallVector<llvm::SmallVector<FactorDimension>> operands, results;

  /// Fails, after a diagnostic, where the text of the rule does not fit the op.
  static llvm::FailureOr<ShardingRule> of(mlir::Operation *op);
  bool isInResults(llvm::StringRef factor) const;
};

/// Returns the shardings of the results of `op`, whose types are still those of the whole, by its
/// rule. Fails, after a diagnostic that names the operand and its dimension, where a dimension is
/// split that must be whole, two operands split one factor differently, or two factors are split
/// over one axis.
llvm::FailureOr<llvm::SmallVector<Sharding>> propagate(mlir::Operation *op,
                                                       llvm::ArrayRef<Sharding> operands);

} // namespace llmmem

#include "llmmem/Interfaces/ShardingOpInterface.h.inc"

#endif // LLMMEM_INTERFACES_SHARDINGOPINTERFACE_H
