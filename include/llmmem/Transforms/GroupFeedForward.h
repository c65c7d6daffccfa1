//===- GroupFeedForward.h - Feed-forwards that run in chunks of tokens -----===//
//
// What widens each token of a block, and its gradients, become one `llm.tiled` each, which holds
// the wide values of a chunk of tokens instead of all.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TRANSFORMS_GROUPFEEDFORWARD_H
#define LLMMEM_TRANSFORMS_GROUPFEEDFORWARD_H

#include "llmmem/Analysis/ChunkTilings.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem {

/// Groups in `step` every
///
///   %g = llm.linear %x, ...            one or several products of rows, as a gate and its values
///   %h = llm.mul (llm.silu %g), ...    elementwise ops without random numbers
///   %y = llm.linear %h, ...            and the product that reads the widest of these values
///
/// whose values are wider than %y, and which nothing reads but the group and its gradients:
///
///   %dh = llm.linear %dy, ...          gradients of the wide values, and elementwise ops of them
///   %dw = llm.linear_weight_grad ...   gradients of weights and of biases
///   %dx = llm.linear %dg, ...          and that of %x, with the sum over its readers
///
/// The gradients are a group of their own, which computes the wide values again from %x. So nothing
/// wide is saved; the products before the last one run twice. A mixture of experts has no such
/// products of rows, and stays as it is.
///
/// Sums are made in accumulation tiles of `granule` tokens. The new ops work on as many tokens at a
/// time as `chunk` says, rounded up to accumulation tiles; with Auto on all, until a plan says
/// else. Returns the number of feed-forwards that were grouped.
int64_t groupFeedForwards(mlir::func::FuncOp step, const ChunkRequest &chunk, int64_t granule);

} // namespace llmmem

#endif // LLMMEM_TRANSFORMS_GROUPFEEDFORWARD_H
