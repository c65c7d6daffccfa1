//===- LlmVerify.h - What the verifiers of the ops share -------------------===//
//
// Each check names both sides as the user wrote them, so that the message says what was expected.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_DIALECT_LLMVERIFY_H
#define LLMMEM_LIB_DIALECT_LLMVERIFY_H

#include "llmmem/Dialect/LlmOps.h"

namespace llmmem::llm {

inline mlir::RankedTensorType tensorType(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}

inline int64_t lastDim(mlir::Value value) { return tensorType(value).getShape().back(); }

inline llvm::ArrayRef<int64_t> leadingDims(mlir::Value value) {
  return tensorType(value).getShape().drop_back();
}

/// `value` must have exactly this shape. Example message: "'bias' has shape [3, 4], expected [4]".
llvm::LogicalResult expectShape(mlir::Operation *op, llvm::StringRef name, mlir::Value value,
                                llvm::ArrayRef<int64_t> shape);

/// `value` must have at least this rank.
llvm::LogicalResult expectRank(mlir::Operation *op, llvm::StringRef name, mlir::Value value,
                               int64_t least);

/// `table` must be [at least the positions of `x`, the last dimension of `x`], and `x` must have
/// rank 2 or more. With `axes`, the positions are those of all of their ranks.
llvm::LogicalResult expectPositions(mlir::Operation *op, llvm::StringRef name, mlir::Value table,
                                    mlir::Value x, std::optional<mlir::ArrayAttr> axes);

/// All tensors of floats, except statistics, must have the element type of the first.
llvm::LogicalResult expectSameElement(mlir::Operation *op, mlir::ValueRange values);

/// A statistic of `of` must have this shape in f32, or in f64 for f64 tensors.
llvm::LogicalResult expectStatistic(mlir::Operation *op, llvm::StringRef name, mlir::Value value,
                                    llvm::ArrayRef<int64_t> shape, mlir::Value of);

/// It must hold that 0 <= label_smoothing < 1 and z_loss >= 0.
llvm::LogicalResult expectLossTerms(mlir::Operation *op, const llvm::APFloat &labelSmoothing,
                                    const llvm::APFloat &zLoss);

/// It must hold that 0 <= p < 1; there must be a seed where p > 0, and axes of the mesh where the
/// op is on a rank's part.
llvm::LogicalResult expectDropout(mlir::Operation *op, double p, mlir::Value seed);

/// `number` must be finite and at least `least`; `name` is its attribute.
llvm::LogicalResult expectAtLeast(mlir::Operation *op, llvm::StringRef name,
                                  const llvm::APFloat &number, double least);

/// `number` must be finite and above 0.
llvm::LogicalResult expectPositive(mlir::Operation *op, llvm::StringRef name,
                                   const llvm::APFloat &number);

/// At least one of the two must exist, they must be finite, and `low` must be no larger than
/// `high`.
llvm::LogicalResult expectBounds(mlir::Operation *op, std::optional<llvm::APFloat> low,
                                 std::optional<llvm::APFloat> high);

/// `into`, if it exists, must have the type of the result.
llvm::LogicalResult expectInto(mlir::Operation *op, mlir::Value into, mlir::Value result);

/// `op` must be under a mesh that has these axes, at least one, each once and in the mesh's
/// order.
llvm::LogicalResult expectAxes(mlir::Operation *op, mlir::ArrayAttr axes);
/// `keys` and `values` must be caches for `k` and `v`, [batch, seq, width], with [batch, seq]
/// positions and optionally a table.
llvm::LogicalResult expectCaches(mlir::Operation *op, mlir::Value keys, mlir::Value values,
                                 mlir::Value k, mlir::Value v, mlir::Value positions,
                                 mlir::Value table);
/// `cache` must have rows like those of `row`, [batch, seq, width]: [batch, rows, width], or with a
/// table [pages, page, width] and [batch, pages of a sequence]. Both must have rank 3.
llvm::LogicalResult expectCache(mlir::Operation *op, llvm::StringRef name, mlir::Value cache,
                                mlir::Value row, mlir::Value table);
/// Succeeds without a vocabulary. A rank has `count` rows or columns, and all ranks together at
/// least as many as the vocabulary has tokens.
llvm::LogicalResult expectVocabulary(mlir::Operation *op, std::optional<VocabularyAttr> vocabulary,
                                     int64_t count);
/// The axes of a value of `rank` dimensions must occur once each. Null succeeds.
llvm::LogicalResult expectSharding(mlir::Operation *op, ShardingAttr sharding, int64_t rank);

} // namespace llmmem::llm

#endif // LLMMEM_LIB_DIALECT_LLMVERIFY_H
