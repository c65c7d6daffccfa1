//===- FastestBatch.h - The batch of the most tokens a second ---*- C++ -*-===//
//
// A larger batch reads weights and updates them less often for each of its tokens, until its
// activations no longer fit and are recomputed. Somewhere between batch 1 and the largest one a
// step handles the most tokens per second.
//
// Example: under 24 MB the GPT-2 of examples/configs/tiny-gpt2.json has plans for 25 sequences of
// 256 tokens, and is the fastest with 20 of them (test/Fit/recommended.test).
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_FIT_FASTESTBATCH_H
#define LLMMEM_LIB_FIT_FASTESTBATCH_H

#include "llmmem/Fit/FitModel.h"

namespace llmmem {

/// Returns the tokens of all sequences that a step with this plan handles in a nanosecond; 0
/// without a plan.
double tokensPerNs(const FitPoint &point);

/// Returns the plan of the most modelled tokens per second, of those under the budget that are made
/// here: of batches that double, as long as one of them can be the fastest, then between the
/// neighbours of the best. `largest` is the plan of the largest batch, and is among them. Of
/// equally fast plans the smaller wins.
llvm::Expected<FitPoint> findFastest(FitModel &model, int64_t budget, const FitPoint &largest);

} // namespace llmmem

#endif // LLMMEM_LIB_FIT_FASTESTBATCH_H
