//===- ChooseToken.h - A token from its logits ------------------------------===//

#ifndef LLMMEM_EXECUTION_CHOOSETOKEN_H
#define LLMMEM_EXECUTION_CHOOSETOKEN_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>

namespace llmmem {

struct Sampling {
  double temperature = 1.0; ///< Divides the logits; 0 always chooses the most likely token.
  int64_t topK = 0;         ///< Keeps only this number of the most likely tokens; 0 keeps all.
  /// Keeps the most likely tokens that together have this probability, the last of them included
  /// (Holtzman et al. 2020).
  double topP = 1.0;
};

/// Returns the token that `uniform`, in (0, 1), selects. Equally likely tokens are ordered by
/// number. Example: logits {0, log 3} are probabilities {1/4, 3/4}; uniform 0.2 gives 0, 0.3 gives
/// 1.
int32_t chooseToken(llvm::ArrayRef<double> logits, const Sampling &sampling, double uniform);

} // namespace llmmem

#endif // LLMMEM_EXECUTION_CHOOSETOKEN_H
