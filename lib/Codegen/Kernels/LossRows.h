//===- LossRows.h - What a row of logits says -----------------------------===//
//
// Shared by the kernels of the loss, of its gradient and of the loss head, so that they give equal
// bits.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_KERNELS_LOSSROWS_H
#define LLMMEM_LIB_CODEGEN_KERNELS_LOSSROWS_H

#include "Emitter/Matmuls.h"
#include "Emitter/VocabularyPart.h"

namespace llmmem {

/// The target of each row.
class LossTargets {
public:
  LossTargets(KernelEmitter &e, Buffer targets, int64_t vocabulary, int64_t ignored,
              Buffer given = {}, VocabularyPart *part = nullptr)
      : e(e), targets(targets), given(given), part(part), vocabulary(vocabulary), ignored(ignored) {
  }

  /// How many are not ignored; what is given, where another count takes its place.
  Num count();
  /// `x` where the target of `row` counts, else 0.
  Num ifCounted(Index row, Num x);
  /// Its column, clamped into the vocabulary as an embedding's id is; any column for an ignored
  /// target. Where the columns are a part of the vocabulary, its place in that.
  Index column(Index row);

private:
  KernelEmitter &e;
  Buffer targets, given;
  VocabularyPart *part;
  int64_t vocabulary, ignored;
};

/// What a loss is beside the likelihood of the target.
struct LossTerms {
  double smoothing = 0.0; ///< the share of the mean of all tokens' likelihoods
  double z = 0.0;         ///< of the square of lse
  int64_t tokens = 0;     ///< of the whole vocabulary

  /// Of an op of a loss whose logits have `width` columns.
  template <typename LossOp>
  static LossTerms of(LossOp op, int64_t width) {
    LossTerms terms{op.getLabelSmoothing().convertToDouble(), op.getZLoss().convertToDouble(),
                    width};
    if constexpr (requires { op.getVocabulary(); })
      if (op.getVocabulary())
        terms.tokens = op.getVocabulary()->getSize();
    return terms;
  }

  /// What every token takes of the smoothing.
  double share() const { return smoothing / static_cast<double>(tokens); }
  /// Of a row: `hit` is the logit of its target. Without what its other tokens take.
  Num ofTarget(Num logSum, Num hit) const;
  /// `loss` with what all of the row's tokens take; `sum` writes the sum of their logits.
  Num withShares(Num loss, llvm::function_ref<Num()> sum) const;
};

/// The sum of `width` logits from `begin` on, without those that are padding of `part`. On a GPU
/// the thread group of a row computes it.
Num sumOfLogits(KernelEmitter &e, Buffer logits, Index begin, int64_t width,
                VocabularyPart *part = nullptr);
/// The same in a thread that has the row to itself.
Num sumOfLogitsAlone(KernelEmitter &e, Buffer logits, Index begin, int64_t width,
                     VocabularyPart *part = nullptr);

/// log(sum exp) of the `width` logits from `begin` on; without those that are padding of `part`.
Num logSumExp(KernelEmitter &e, Buffer logits, Index begin, int64_t width,
              VocabularyPart *part = nullptr);

/// The same on a GPU, from the row's `TileSoftmax`, without reading the logits again.
Num logSumExpOfTiles(KernelEmitter &e, const TileSoftmax &softmax, Index row);

/// A row of logits and its gradient, `width` elements from `begin` on, which may be the same.
struct LossGradientRow {
  Buffer logits, dlogits;
  Index begin;
  int64_t width;
  Index column; // of the target
  Num logSum, factor;
};

/// dlogits = (exp(logits - logSum) - [j == column]) factor, as the terms of the loss change it.
void emitLossGradientRow(KernelEmitter &e, const LossGradientRow &row, const LossTerms &terms);

/// The same, where the columns are a part of the vocabulary, and `column` is a place in that: 0 in
/// its padding.
void emitLossGradientOfPart(KernelEmitter &e, VocabularyPart &part, const LossGradientRow &row,
                            const LossTerms &terms);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_KERNELS_LOSSROWS_H
