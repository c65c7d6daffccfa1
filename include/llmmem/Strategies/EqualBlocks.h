//===- EqualBlocks.h - A model of a few of its equal blocks ----------------===//
//
// What a rank needs for a block is the same for each of equal blocks, so strategies are compared on
// a model that has few of them: embedding, k blocks, head.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_STRATEGIES_EQUALBLOCKS_H
#define LLMMEM_STRATEGIES_EQUALBLOCKS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem {

/// The blocks of `loss` (`llm.block`), if they are equal: block by block the same ops with the same
/// attributes, but for names, on the same types, reading values of the same places of the block
/// before, of their own block, and of what stands before all blocks. Fails, after a located
/// diagnostic at the first op that differs.
llvm::FailureOr<int64_t> countEqualBlocks(mlir::func::FuncOp loss);

/// Removes all blocks of `loss` but the first `count`, and the arguments that only they read.
/// `countEqualBlocks` must hold. Fails, after a diagnostic, where there are fewer.
llvm::LogicalResult keepBlocks(mlir::func::FuncOp loss, int64_t count);

} // namespace llmmem

#endif // LLMMEM_STRATEGIES_EQUALBLOCKS_H
