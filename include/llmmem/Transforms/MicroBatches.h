//===- MicroBatches.h - The loss of a part of a rank's batch ---------------===//
//
// `splitMicroBatches` turns the forward function of a rank's batch into that of one of m equal
// parts of its rows, the micro-batches, which `differentiate` makes a step of that runs m times:
//
//   inputs       stay whole; a new argument `micro_batch` says which rows are read
//   loss         an addend: the m losses add up to the mean over the whole batch's valid targets
//   dropout      keyed by the element of the whole batch, so m does not change which are dropped
//
// Example, m = 4, a batch of 8 sequences:
//
// clang-format off
//   %x = llm.embedding %ids, %w                     tensor<8x16xi32> -> tensor<8x16x64xf32>
// becomes
//   %own = llm.micro_batch %ids at(%number) {of = 4}                 -> tensor<2x16xi32>
//   %x = llm.embedding %own, %w                     tensor<2x16xi32> -> tensor<2x16x64xf32>
// clang-format on
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TRANSFORMS_MICROBATCHES_H
#define LLMMEM_TRANSFORMS_MICROBATCHES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem {

/// Is the name of the argument that says which micro-batch a function is run for, a tensor<i32>.
inline constexpr llvm::StringLiteral kMicroBatchArgument = "micro_batch";

/// Makes `loss` the function of one of `count` micro-batches, with `llm.micro_batches`. Its
/// inputs' first dimension is the batch; where ranks share the batch, `parallelize` comes before.
/// Fails, after a located diagnostic that names the fix, at a batch that `count` does not divide,
/// at an op that no rule covers, and where the loss is no sum over the batch.
llvm::LogicalResult splitMicroBatches(mlir::func::FuncOp loss, int64_t count);

} // namespace llmmem

#endif // LLMMEM_TRANSFORMS_MICROBATCHES_H
