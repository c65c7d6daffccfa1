//===- ValueShardings.h - How the values of a forward are split ------------===//

#ifndef LLMMEM_LIB_TRANSFORMS_VALUESHARDINGS_H
#define LLMMEM_LIB_TRANSFORMS_VALUESHARDINGS_H

#include "llmmem/Dialect/LlmOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace llmmem {

using Axes = llvm::SmallVector<mlir::StringAttr, 1>;

/// Names the factor of rules that numbers the experts of a mixture. It is split over ep, and over
/// no other axis.
inline constexpr llvm::StringLiteral kExpertFactor = "experts";

/// Spells axes as `dp` or `dp x tp`.
std::string nameAxes(llvm::ArrayRef<mlir::StringAttr> axes);
/// Spells axes as `dp = 2` or `dp x tp = 8`.
std::string spellAxes(llvm::ArrayRef<mlir::StringAttr> axes, int64_t ranks);

/// Says what the ranks of an axis that does not split a value have, as its gradient goes
/// (docs/Design/Ranks.md): `shared` is one value for all ranks with one gradient, and `own` is each
/// rank's, which contributes to the gradient. A value that has no gradient is neither.
struct ValueSharding {
  Sharding sharding;
  Axes own, shared;

  bool isSplitOver(mlir::StringAttr axis) const {
    return llvm::is_contained(sharding.axes(), axis);
  }
};

/// Holds what is known about each value of a function, and the types that follow from it.
class ValueShardings {
public:
  explicit ValueShardings(mlir::func::FuncOp function);

  /// Returns the sharding of `value`. One of which nothing is known is whole, and neither shared
  /// nor own.
  ValueSharding of(mlir::Value value) const;
  llvm::SmallVector<ValueSharding> ofOperands(mlir::Operation *op) const;
  bool isKnown(mlir::Value value) const { return known.contains(value); }
  /// Sets the type of this rank's shard; what is split over an axis is neither shared nor own
  /// there. Fails, after a diagnostic, where ranks do not divide a dimension, unless that may be
  /// padded.
  llvm::LogicalResult set(mlir::Value value, ValueSharding sharding);

  llm::MeshAttr getMesh() const { return mesh; }
  int64_t ranksOf(llvm::ArrayRef<mlir::StringAttr> axes) const;
  /// Returns the axes in the mesh's order, as collectives name them.
  mlir::ArrayAttr arrayOf(llvm::ArrayRef<mlir::StringAttr> axes) const;
  /// Returns the sharding as annotations have it.
  llm::ShardingAttr attributeOf(const Sharding &sharding) const;
  /// Returns what an annotation says about a value. Fails, after a diagnostic, at a wrong rank or
  /// axis.
  llvm::FailureOr<Sharding> read(llm::ShardingAttr attribute, mlir::Value value) const;

private:
  llm::MeshAttr mesh;
  llvm::DenseMap<mlir::Value, ValueSharding> known;
};

/// Chooses the split dimensions of parameters and caches that were not given one, over one axis;
/// each is decided where it is first read.
///
/// A factor of a product is split where what the product multiplies has split it (a row product).
/// Else one that only parameters have is split, if everything that follows can run on parts of it,
/// up to an op that sums over it (a column product, heads, the vocabulary). Example: in y =
/// linear(x, w) with x whole, w is split along its outputs where y goes through gelu into another
/// linear, and stays whole where y is added to a residual whose norm needs all of it. A cache
/// follows the keys and values that are read together with it.
///
/// What would be summed over all ranks and then read together with parts stays whole, too: of an
/// adapter's b(a(x)), whose b is added to a product that is split along its outputs, b is split
/// like that product, and each rank has all of a.
class ParameterChoice {
public:
  /// `gathersResults` says that parts of what the function returns are gathered, so that they may
  /// follow from a split.
  ParameterChoice(ValueShardings &shardings, mlir::StringAttr axis, bool gathersResults)
      : shardings(shardings), axis(axis), gathersResults(gathersResults) {}

  /// Keeps what the user has decided already.
  void keep(mlir::Value parameter) { decided.insert(parameter); }
  /// Decides the parameters that `op` reads. Fails after a diagnostic.
  llvm::LogicalResult decide(mlir::Operation *op);
  /// Splits what `op` reads of all experts over `experts`, an axis, whatever `decide` splits of
  /// one. Fails, after a diagnostic, where the ranks do not divide the experts.
  llvm::LogicalResult splitExperts(mlir::Operation *op, mlir::StringAttr experts);

private:
  struct Reading;
  bool follow(const Reading &reading, DimensionSharding &split, std::string &factor) const;
  bool find(const Reading &reading, DimensionSharding &split, std::string &factor) const;
  bool canBeSplit(const Reading &reading, const FactorDimension &dimension, bool padded,
                  DimensionSharding &split) const;
  llvm::SmallVector<int64_t> sizesOfJoined(mlir::Operation *op, const ShardingRule &rule,
                                           const FactorDimension &written) const;
  bool canFollow(mlir::Value value, unsigned dimension, bool padded,
                 llvm::SmallVectorImpl<int64_t> &pieces) const;
  bool isReadNextToParts(mlir::Operation *sum) const;

  ValueShardings &shardings;
  mlir::StringAttr axis;
  bool gathersResults;
  llvm::DenseSet<mlir::Value> decided;
};

} // namespace llmmem

#endif // LLMMEM_LIB_TRANSFORMS_VALUESHARDINGS_H
