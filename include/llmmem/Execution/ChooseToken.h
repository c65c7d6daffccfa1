//===- ChooseToken.h - A token from its logits ------------------------------===//

#ifndef LLMMEM_EXECUTION_CHOOSETOKEN_H
#define LLMMEM_EXECUTION_CHOOSETOKEN_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>

namespace llmmem {

struct Sampling {
  double temperature = 1.0; ///< logits are divided by it; 0: always the most likely token
  int64_t topK = 0;         ///< only so many of the most likely; 0: all
  /// Only the most likely ones that have this probability together, the last of them whole
  /// (Holtzman et al. 2020).
  double topP = 1.0;
};

/// The token that `uniform`, of (0, 1), stands for; of equally likely ones the lowest comes first.
/// Example: logits {0, log 3} are probabilities {1/4, 3/4}; uniform 0.2 gives 0, 0.3 gives 1.
int32_t chooseToken(llvm::ArrayRef<double> logits, const Sampling &sampling, double uniform);

} // namespace llmmem

#endif // LLMMEM_EXECUTION_CHOOSETOKEN_H
