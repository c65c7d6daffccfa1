//===- LossRows.h - What a row of logits says -----------------------------===//
//
// The kernels of the loss, of its gradient and of the loss head share this code, so that they give
// equal bits.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_KERNELS_LOSSROWS_H
#define LLMMEM_LIB_CODEGEN_KERNELS_LOSSROWS_H

#include "Emitter/Matmuls.h"
#include "Emitter/VocabularyPart.h"

namespace llmmem {

/// Gives the target of each row.
class LossTargets {
public:
  LossTargets(KernelEmitter &e, Buffer targets, int64_t vocabulary, int64_t ignored,
              Buffer given = {}, VocabularyPart *part = nullptr)
      : e(e), targets(targets), given(given), part(part), vocabulary(vocabulary), ignored(ignored) {
  }

  /// Returns how many are not ignored, or the given count where another one replaces it.
  Num count();
  /// Returns `x` where the target of `row` counts, else 0.
  Num ifCounted(Index row, Num x);
  /// Returns its column, clamped into the vocabulary as an embedding's id is; any column for an
  /// ignored target. Where the columns are a part of the vocabulary, it is the place in that.
  Index column(Index row);

private:
  KernelEmitter &e;
  Buffer targets, given;
  VocabularyPart *part;
  int64_t vocabulary, ignored;
};

/// Holds the terms of a loss other than the likelihood of the target.
struct LossTerms {
  double smoothing = 0.0; ///< The share of the mean of all tokens' likelihoods.
  double z = 0.0;         ///< The coefficient of the square of lse.
  int64_t tokens = 0;     ///< Those of the whole vocabulary.

  /// Reads the terms of a loss op whose logits have `width` columns.
  template <typename LossOp>
  static LossTerms of(LossOp op, int64_t width) {
    LossTerms terms{op.getLabelSmoothing().convertToDouble(), op.getZLoss().convertToDouble(),
                    width};
    if constexpr (requires { op.getVocabulary(); })
      if (op.getVocabulary())
        terms.tokens = op.getVocabulary()->getSize();
    return terms;
  }

  double share() const { return smoothing / static_cast<double>(tokens); }
  /// Returns the loss of a row, where `hit` is the logit of its target, without the terms of its
  /// other tokens.
  Num ofTarget(Num logSum, Num hit) const;
  /// Adds to `loss` the terms of all of the row's tokens; `sum` emits the sum of their logits.
  Num withShares(Num loss, llvm::function_ref<Num()> sum) const;
};

/// Sums `width` logits from `begin` on, without those that are padding of `part`. On a GPU the
/// thread group of a row computes it.
Num sumOfLogits(KernelEmitter &e, Buffer logits, Index begin, int64_t width,
                VocabularyPart *part = nullptr);
/// Does the same in a thread that has the row to itself.
Num sumOfLogitsAlone(KernelEmitter &e, Buffer logits, Index begin, int64_t width,
                     VocabularyPart *part = nullptr);

/// Computes log(sum exp) of the `width` logits from `begin` on, without those that are padding of
/// `part`.
Num logSumExp(KernelEmitter &e, Buffer logits, Index begin, int64_t width,
              VocabularyPart *part = nullptr);

/// Does the same on a GPU, from the row's `TileSoftmax`, without reading the logits again.
Num logSumExpOfTiles(KernelEmitter &e, const TileSoftmax &softmax, Index row);

/// Describes a row of logits and its gradient, `width` elements from `begin` on, which may be the
/// same.
struct LossGradientRow {
  Buffer logits, dlogits;
  Index begin;
  int64_t width;
  Index column; // That of the target.
  Num logSum, factor;
};

/// Computes dlogits = (exp(logits - logSum) - [j == column]) factor, modified by the terms of the
/// loss.
void emitLossGradientRow(KernelEmitter &e, const LossGradientRow &row, const LossTerms &terms);

/// Does the same where the columns are a part of the vocabulary, and `column` is a place in that: 0
/// in its padding.
void emitLossGradientOfPart(KernelEmitter &e, VocabularyPart &part, const LossGradientRow &row,
                            const LossTerms &terms);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_KERNELS_LOSSROWS_H
