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

/// log(sum exp) of the `width` logits from `begin` on; without those that are padding of `part`.
Num logSumExp(KernelEmitter &e, Buffer logits, Index begin, int64_t width,
              VocabularyPart *part = nullptr);

/// The same on a GPU, from the row's `TileSoftmax`, without reading the logits again.
Num logSumExpOfTiles(KernelEmitter &e, const TileSoftmax &softmax, Index row);

/// dlogits = (exp(logits - logSum) - [j == column]) factor, for the row from `begin` on, which may
/// be overwritten.
void emitLossGradientRow(KernelEmitter &e, Buffer logits, Buffer dlogits, Index begin,
                         int64_t width, Index column, Num logSum, Num factor);

/// The same, where the columns are a part of the vocabulary, and `column` is a place in that: 0 in
/// its padding.
void emitLossGradientOfPart(KernelEmitter &e, VocabularyPart &part, Buffer logits, Buffer dlogits,
                            Index begin, int64_t width, Index column, Num logSum, Num factor);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_KERNELS_LOSSROWS_H
