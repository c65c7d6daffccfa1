//===- ParameterShards.h - The part of a parameter that a rank owns --------===//

#ifndef LLMMEM_LIB_TRANSFORMS_PARAMETERSHARDS_H
#define LLMMEM_LIB_TRANSFORMS_PARAMETERSHARDS_H

#include "mlir/IR/BuiltinTypes.h"

namespace llmmem {

/// Bounds the values of a bucket: a started collective hands over three addresses of each
/// (LLMMEM_MOST_CONTEXT in Runtime/Started.h).
inline constexpr size_t kMostInBucket = 128;

/// Describes an equal share of a value's elements in row-major order, of the value's rank: rows
/// where the ranks divide the first dimension, else all in the last dimension.
struct ParameterShard {
  mlir::RankedTensorType part;
  /// Is the type of all parts along dimension 0. Where it is not the type of the whole, it has the
  /// same elements in the same order.
  mlir::RankedTensorType gathered;

  /// Returns nothing where the ranks do not divide the elements.
  static std::optional<ParameterShard> of(mlir::RankedTensorType whole, int64_t ranks) {
    int64_t elements = whole.getNumElements();
    if (whole.getRank() == 0 || elements % ranks != 0)
      return std::nullopt;
    llvm::SmallVector<int64_t> shape(whole.getShape());
    if (shape[0] % ranks == 0) {
      shape[0] /= ranks;
    } else if (shape.size() > 1) {
      std::fill(shape.begin(), shape.end(), 1);
      shape.back() = elements / ranks;
    } else {
      return std::nullopt;
    }
    llvm::SmallVector<int64_t> all(shape);
    all[0] *= ranks;
    return ParameterShard{whole.clone(shape), whole.clone(all)};
  }
};

} // namespace llmmem

#endif // LLMMEM_LIB_TRANSFORMS_PARAMETERSHARDS_H
