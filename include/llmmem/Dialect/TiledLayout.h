//===- TiledLayout.h - In which order llm.tiled runs, and what lies where --===//
//
// A chunk runs the units of the body one after another. A unit is a product, a sum over rows, or
// elementwise ops in one loop. Values that a product or a sum reads, and that stay in the body,
// have a slot in the workspace; other elementwise values are computed where they are read.
//
// Example: of gate, up, act = silu(gate), gated = act * up, down, the units are {gate}, {up},
// {act, gated} and {down}. The slots are those of gate and up; gated is written over gate.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_DIALECT_TILEDLAYOUT_H
#define LLMMEM_DIALECT_TILEDLAYOUT_H

#include "llmmem/Dialect/TiledOps.h"

namespace llmmem::llm {

/// Lists what one unit runs, and which part is in memory.
struct TiledUnit {
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::SmallVector<mlir::Value> stored; // Results that have bytes.
  llvm::SmallVector<mlir::Value> loaded; // Rows with bytes that the unit reads.

  bool isElementwise() const { return llm::isElementwise(ops.front()); }
};

/// Returns whether a value of the body has bytes: what is an operand, what a product or a sum
/// computes or reads, and what leaves.
bool isInMemory(mlir::Value value);

/// Returns the units of a chunk in their order.
llvm::SmallVector<TiledUnit> unitsOf(TiledOp op);

/// Gives byte positions in the workspace; each region starts on a multiple of 64. What does not
/// depend on the chunk comes first, since a library may choose its algorithm by alignment.
///
/// Example: the forward above on a chunk of 512 rows of Llama-3-8B in bf16 has two slots of 512 x
/// 14,336 elements: 29.4 MB.
struct TiledLayout {
  /// The part of each sum's accumulator that its result does not hold, in the order of the sums,
  /// where `splitsSums`: of a weight's gradient in bf16 the lower halves of f32 (without a
  /// library), else the whole value in f32.
  llvm::SmallVector<int64_t> accumulators;
  llvm::DenseMap<mlir::Value, int64_t> slots;
  /// What a CPU widens of a granule for a sum that is split.
  struct Contribution {
    int64_t inputs = 0, gradient = 0, product = 0;
    int64_t columns = 0; // Columns of the gradient at a time.
  };
  llvm::SmallVector<Contribution> contributions; // Of each sum; they share bytes.
  int64_t end = 0;
};

TiledLayout layoutOf(TiledOp op);

} // namespace llmmem::llm

#endif // LLMMEM_DIALECT_TILEDLAYOUT_H
