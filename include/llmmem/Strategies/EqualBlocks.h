//===- EqualBlocks.h - A model of a few of its equal blocks ----------------===//
//
// Equal blocks of a model have equal costs on a rank, so strategies are compared on a model with
// few blocks: embedding, k blocks, head. Where neighbours differ, what repeats is a group of
// blocks, and the blocks of no group belong to what precedes or follows them.
//
// Example, with windows (w) and without (f):
//
//   f f f f        4 groups of 1        Llama
//   w f w f w f    3 groups of 2        Gemma 2
//   d m m m m      d, 4 groups of 1     DeepSeek, whose first blocks have no experts
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_STRATEGIES_EQUALBLOCKS_H
#define LLMMEM_STRATEGIES_EQUALBLOCKS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem {

/// Says which blocks repeat: from `first` on `count` groups of `period` blocks each.
struct BlockPattern {
  int64_t first = 0, period = 1, count = 0;
};

/// Finds the groups that cover the most blocks of `loss` (`llm.block`), three groups or more; of
/// several such patterns the one with the smallest groups. Where there is none, each block is a
/// group.
BlockPattern findBlockPattern(mlir::func::FuncOp loss);

/// Labels the blocks of each group with the number of the group, and those of none with no number.
void labelGroups(mlir::func::FuncOp loss, const BlockPattern &pattern);

/// Returns the number of blocks of `loss` (`llm.block`) if they are equal: each has the same ops
/// with the same attributes, except names, on the same types, and reads the same values of the
/// previous block, of its own block, and of what precedes all blocks. Fails after a located
/// diagnostic at the first op that differs.
llvm::FailureOr<int64_t> countEqualBlocks(mlir::func::FuncOp loss);

/// Removes all blocks of `loss` except the first `count`, and the arguments that only they read.
/// Requires that `countEqualBlocks` succeeds. Fails after a diagnostic where there are fewer
/// blocks.
llvm::LogicalResult keepBlocks(mlir::func::FuncOp loss, int64_t count);

} // namespace llmmem

#endif // LLMMEM_STRATEGIES_EQUALBLOCKS_H
