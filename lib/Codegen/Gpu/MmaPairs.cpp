//===- MmaPairs.cpp - Gradients of scores in fragments --------------------===//

#include "MmaPairs.h"
#include "llmmem/Codegen/Gpu/PowersOfTwo.h"

using namespace mlir;
using namespace llmmem;

FragmentsC MmaPairs::emitProbabilities(FragmentsC &scores, PairOf pairOf) {
  FragmentsC logits = scores;
  for (size_t j = 0; j < scores.size(); ++j)
    for (int64_t i = 0; i < 4; ++i) {
      logits[j][i] = rows.logit(scores[j][i]);
      scores[j][i] =
          powerOfTwo(fma(logits[j][i], e.number(rows.logitFactor()), pairOf(j, i).minusLse));
    }
  scores = rows.masked(mayBeMasked, scores, e.number(0.0), [&](int64_t j, int64_t i) {
    MmaPair pair = pairOf(j, i);
    return rows.isUnmasked(queries.batch, queries.first + pair.query, keys.first + pair.key);
  });
  return logits;
}

void MmaPairs::emitGradients(ArrayRef<FragmentC> logits, FragmentsC &probabilities,
                             FragmentsC &products, PairOf pairOf) {
  for (size_t j = 0; j < probabilities.size(); ++j)
    for (int64_t i = 0; i < 4; ++i) {
      MmaPair pair = pairOf(j, i);
      Num &probability = probabilities[j][i], &product = products[j][i];
      Value kept = blocks.isKept(queries, pair.query, keys.first + pair.key,
                                 AttentionBlocks::Lanes::Keys, /*lanes=*/1);
      // With a cap the logit is the capped score.
      product =
          blocks.uncapped(probability * (blocks.dropped(kept, product) - pair.delta), logits[j][i]);
      probability = blocks.dropped(kept, probability);
    }
}

void MmaPairs::emit(FragmentsC &scores, FragmentsC &products, PairOf pairOf) {
  FragmentsC logits = emitProbabilities(scores, pairOf);
  emitGradients(logits, scores, products, pairOf);
}
