//===- MmaPairs.cpp - Gradients of scores in fragments --------------------===//

#include "MmaPairs.h"
#include "llmmem/Codegen/Gpu/PowersOfTwo.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace llmmem;

RowStatistics llmmem::emitStatistics(MmaRows &rows, HeadBlock queries, ArrayRef<FragmentA> douts,
                                     ArrayRef<FragmentA> outs) {
  KernelEmitter &e = rows.e;
  RowStatistics statistics;
  for (int64_t half : {0, 1}) {
    Num sum = e.number(0.0);
    for (auto [dout, out] : llvm::zip_equal(douts, outs))
      for (int64_t part : {half, half + 2}) {
        std::array<Num, 2> a = unpackPart(e, dout.parts[part]), b = unpackPart(e, out.parts[part]);
        sum = sum + a[0] * b[0] + a[1] * b[1];
      }
    Num delta = rows.acrossRow(sum, [](Num a, Num b) { return a + b; });
    Index row = rows.rowOf(half);
    // Rows beyond the last have no lse of their own and attend to no key.
    Index place = rows.blocks.statistic(queries, minimum(row, queries.count - 1));
    statistics.minusLse[half] = minusLog2(e.load(e.operand(4), place));
    statistics.delta[half] = delta;
    Value isFirst = equal(rows.lane.pair, e.index(0));
    ifThen(e, arith::AndIOp::create(e.builder(), e.location(), isFirst, less(row, queries.count)),
           [&] { e.store(e.workspace(), place, delta); });
  }
  return statistics;
}

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
