//===- MmaSoftmax.cpp - The softmax of attention in fragments -------------===//

#include "MmaSoftmax.h"
#include "llmmem/Codegen/Gpu/PowersOfTwo.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <limits>

using namespace mlir;
using namespace llmmem;

static Num largestOf(Num a, Num b) { return maximum(a, b); }
static Num sumOf(Num a, Num b) { return a + b; }

Row MmaSoftmax::begin() {
  Num lowest = e.number(lowestScore(e)), zero = e.number(0.0);
  if (sinks) { // In the sum of one thread of the row.
    lowest = e.load(sinks, queries.head) * llvm::numbers::log2e;
    zero = select(equal(rows.lane.pair, e.index(0)), e.number(1.0), zero);
  }
  return {lowest, lowest, zero, zero};
}

void MmaSoftmax::foldTiles(Index first, Index end, Body body) {
  Row initial = flatten(FragmentsC(blocks.size / kMmaColumns, zeroFragment(e)));
  initial.append(begin());
  Row last = fold(e, first, end, initial, [&](Index number, ArrayRef<Num> carried) {
    FragmentsC out = unflatten(carried.drop_back(kCarried));
    Row state(carried.take_back(kCarried));
    body(number, out, state);
    Row next = flatten(out);
    next.append(state);
    return next;
  });
  emitEnd(unflatten(ArrayRef(last).drop_back(kCarried)), ArrayRef(last).take_back(kCarried));
}

void MmaSoftmax::emit(FragmentsC &scores, FragmentsC &out, HeadBlock keys, int64_t count,
                      MutableArrayRef<Num> state) {
  scores = visibleLogits(scores, keys, count);
  for (int64_t half : {0, 1})
    emitPowers(scores, out, half, state[half], state[2 + half]);
  dropPowers(scores, keys);
}

FragmentsC MmaSoftmax::visibleLogits(FragmentsC scores, HeadBlock keys, int64_t count) {
  for (FragmentC &score : scores)
    for (Num &x : score)
      x = rows.logit(x);
  Num hidden = e.number(-std::numeric_limits<double>::infinity());
  return rows.masked(rows.mayBeMasked(queries, rows.extent(), keys, count), scores, hidden,
                     [&](int64_t j, int64_t i) {
                       return rows.isUnmasked(queries.batch, queries.first + rows.rowOf(i / 2),
                                              keys.first + rows.columnOf(j, i));
                     });
}

/// Turns logits into powers. `largest` is that of all logits so far, times their factor.
void MmaSoftmax::emitPowers(FragmentsC &logits, FragmentsC &out, int64_t half, Num &largest,
                            Num &total) {
  Num ofTile = logits[0][2 * half], sum = e.number(0.0);
  for (FragmentC &logit : logits)
    ofTile = maximum(ofTile, maximum(logit[2 * half], logit[2 * half + 1]));
  Num now = maximum(largest, rows.acrossRow(ofTile, largestOf) * rows.logitFactor());
  for (FragmentC &logit : logits)
    for (int64_t i : {2 * half, 2 * half + 1}) {
      logit[i] = powerOfTwo(fma(logit[i], e.number(rows.logitFactor()), -now));
      sum = sum + logit[i];
    }
  Num factor = powerOfTwo(largest - now);
  for (FragmentC &part : out)
    for (int64_t i : {2 * half, 2 * half + 1})
      part[i] = part[i] * factor;
  largest = now;
  total = total * factor + sum;
}

void MmaSoftmax::dropPowers(FragmentsC &powers, HeadBlock keys) {
  if (blocks.p == 0.0)
    return;
  for (auto [j, power] : llvm::enumerate(powers))
    for (int64_t i = 0; i < 4; ++i)
      power[i] =
          blocks.dropped(blocks.isKept(queries, rows.rowOf(i / 2), keys.first + rows.columnOf(j, i),
                                       AttentionBlocks::Lanes::Keys, /*lanes=*/1),
                         power[i]);
}

void MmaSoftmax::emitEnd(ArrayRef<FragmentC> out, ArrayRef<Num> state) {
  Num totals[2];
  for (int64_t half : {0, 1})
    totals[half] = rows.acrossRow(state[2 + half], sumOf);
  rows.store(
      out, e.result(0), [&](Index r) { return blocks.queryOffset(e.result(0), queries, r); },
      queries.count, [&](int64_t half) { return 1.0 / totals[half]; });
  for (int64_t half : {0, 1}) {
    Index row = rows.rowOf(half);
    Value isFirst = equal(rows.lane.pair, e.index(0));
    ifThen(e, arith::AndIOp::create(e.builder(), e.location(), isFirst, less(row, queries.count)),
           [&] {
             e.store(e.result(1), blocks.statistic(queries, row),
                     state[half] * llvm::numbers::ln2 + log(totals[half]));
           });
  }
}
