//===- EqualBlocks.h - A model of a few of its equal blocks ----------------===//
//
// Equal blocks of a model have equal costs on a rank, so strategies are compared on a model with
// few blocks: embedding, k blocks, head.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_STRATEGIES_EQUALBLOCKS_H
#define LLMMEM_STRATEGIES_EQUALBLOCKS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem {

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
