//===- Scores.h - The lowest score, and scores below a cap -----------------===//

#ifndef LLMMEM_LIB_CODEGEN_EMITTER_SCORES_H
#define LLMMEM_LIB_CODEGEN_EMITTER_SCORES_H

#include "llmmem/Codegen/Emitter/KernelEmitter.h"

namespace llmmem {

/// Returns the largest score of a row before any is known: the lowest number of the type. It is not
/// minus infinity, because the first rescaling factor, 2^(largest - new largest), would be NaN.
inline double lowestScore(KernelEmitter &e) {
  return llvm::APFloat::getLargest(e.computeType().getFloatSemantics(), /*Negative=*/true)
      .convertToDouble();
}

inline Num softcap(Num x, double cap) { return tanh(x / cap) * cap; }

/// Returns the derivative where the result is `y`: 1 - tanh^2.
inline Num softcapSlope(Num y, double cap) {
  Num t = y / cap;
  return 1.0 - t * t;
}

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_EMITTER_SCORES_H
