//===- GroupLossHead.h - The loss and its gradients as one op --------------===//
//
// What differentiation makes of a last projection and its loss becomes one `llm.loss_head`, whose
// logits are a workspace of as many tokens as the plan chooses.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TRANSFORMS_GROUPLOSSHEAD_H
#define LLMMEM_TRANSFORMS_GROUPLOSSHEAD_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem {

struct LossHeads {
  unsigned grouped = 0;
  unsigned left = 0; // losses that stay several ops, for want of the pattern
};

/// Groups in `step` every
///
///   %logits = llm.linear %x, %w                      without a bias
///   %loss, %lse = llm.cross_entropy %logits, %targets
///   %dlogits = llm.cross_entropy_grad %logits, %lse, %targets, %one
///   %dw = llm.linear_weight_grad %x, %dlogits [into(%acc)]
///   %dx = llm.linear %dlogits, %w                    the other layout
///
/// of which a frozen weight has no %dw and a body that is frozen as a whole no %dx, and where %one
/// is an llm.fill of 1 and no other op reads %logits, %lse or %dlogits. Over a split vocabulary the
/// second line is, as `parallelize` writes it,
///
///   %own = llm.log_sum_exp %logits {vocabulary}, reshaped to have a last dimension of 1
///   %all = llm.all_gather %own over the vocabulary's axes
///   %lse = llm.log_sum_exp %all
///   %loss = llm.target_loss %logits, %lse, %targets {vocabulary}
///
/// Sums are made in reduction tiles of `granule` tokens. The new op works on all tokens at once
/// until a plan says else.
LossHeads groupLossHeads(mlir::func::FuncOp step, int64_t granule);

} // namespace llmmem

#endif // LLMMEM_TRANSFORMS_GROUPLOSSHEAD_H
