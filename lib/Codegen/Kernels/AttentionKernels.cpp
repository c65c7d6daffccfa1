//===- AttentionKernels.cpp - Attention without scores ---------------------===//
//
// A block of queries meets a block of keys at a time, in panels on the stack: memory beside the
// operands does not grow with the sequence (Dao et al. 2022). The forward keeps a running maximum
// and a running sum for each query, and rescales what it has so far. The backward draws
// probabilities again from lse, once by blocks of queries for dq, once by blocks of keys for dk and
// dv: each sum is made in one place, in one order, and rounded once (Dao 2023 adds dq up by
// atomics).
//
// The blocks of the outer loop lie in the lanes, be they queries or keys: so only panels that stay
// are ever turned, and no sum and no maximum goes across lanes.
//
//===----------------------------------------------------------------------===//

#include "Emitter/AttentionBlocks.h"
#include "Gpu/DeviceAttention.h"
#include "Gpu/MmaAttention.h"
#include "KernelModels.h"
#include "llmmem/Dialect/LlmOps.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {

void fill(KernelEmitter &e, Buffer buffer, double value) {
  e.forLanes(buffer.size,
             [&](Index i, unsigned lanes) { e.store(buffer, i, e.splat(value, lanes)); });
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

struct AttentionKernel : KernelModel<AttentionKernel, AttentionOp> {
  struct Emission : AttentionBlocks {
    using AttentionBlocks::AttentionBlocks;
    Panel turned, keys, values, scores, out;
    Buffer largest, total, rescale; // of each query

    void emitBlock(HeadBlock block) {
      Panel queries = rowPanel();
      keys = rowPanel(), values = rowPanel(), out = rowPanel();
      turned = turnedPanel(), scores = pairPanel();
      largest = e.scratch(extent), total = e.scratch(extent), rescale = e.scratch(extent);
      loadQueries(queries, e.operand(0), block);
      transposePanel(e, queries, turned, scale);
      clearPanel(e, out);
      // Not minus infinity, from which the first rescaling would be by NaN.
      fill(e, largest,
           APFloat::getLargest(e.wideType().getFloatSemantics(), /*Negative=*/true)
               .convertToDouble());
      fill(e, total, 0.0);
      forKeysSeen(block, [&](HeadBlock met) { emitMeeting(block, met); });
      emitEnd(block);
    }

    void emitMeeting(HeadBlock block, HeadBlock met) {
      loadKeys(keys, e.operand(1), met);
      loadKeys(values, e.operand(2), met);
      emitProduct(
          e, {.a = keys, .b = turned, .c = scores, .rows = met.count, .terms = [&](Index, Index) {
                return wholeRow();
              }});
      e.forLanes(extent, [&](Index i, unsigned) { emitPowers(block, met, i); });
      emitProduct(
          e, {.a = scores,
              .b = values,
              .c = out,
              .transposed = true,
              .rows = block.count,
              .terms = [&](Index first, Index last) { return keysSeen(block, met, first, last); },
              .factor = [&](Index i) { return e.load(rescale, i); }});
    }

    /// Scores become powers of e, for the queries in the lanes from `i` on.
    void emitPowers(HeadBlock block, HeadBlock met, Index i) {
      unsigned lanes = e.lanes();
      auto score = [&](Index j) {
        Value seen = isVisible(block.first + i, met.first + j, Lanes::Queries);
        return select(seen, e.load(scores.numbers, scores.at(j, i), lanes),
                      e.number(-std::numeric_limits<double>::infinity()));
      };
      Num before = e.load(largest, i, lanes);
      Num now = e.fold(e.index(0), met.count, before, [&](Index j, ArrayRef<Num> carried) -> Row {
        return {maximum(carried[0], score(j))};
      })[0];
      Num zero = e.splat(0.0, lanes);
      Num sum = e.fold(e.index(0), met.count, zero, [&](Index j, ArrayRef<Num> carried) -> Row {
        Num power = exp(score(j) - now);
        Value kept = isKept(block, i, met.first + j, Lanes::Queries);
        e.store(scores.numbers, scores.at(j, i), dropped(kept, power));
        return {carried[0] + power};
      })[0];
      Num factor = exp(before - now);
      e.store(largest, i, now);
      e.store(rescale, i, factor);
      e.store(total, i, e.load(total, i, lanes) * factor + sum);
    }

    void emitEnd(HeadBlock block) {
      storePanel(
          e, out, e.result(0), [&](Index i) { return wide(block, i); }, block.count,
          [&](Index i) { return 1.0 / e.load(total, i); });
      e.forEach(e.index(0), block.count, [&](Index i) {
        e.store(e.result(1), statistic(block, i), e.load(largest, i) + log(e.load(total, i)));
      });
    }
  };

  static void emitOnDevice(AttentionOp op, KernelEmitter &e) {
    isMmaAttention(op) ? emitMmaAttention(op, e) : emitDeviceAttention(op, e);
  }

  static void emit(AttentionOp op, KernelEmitter &e) {
    Emission emission(op, e);
    emission.forEachOfQueries([&](HeadBlock block) { emission.emitBlock(block); });
  }
};

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

struct AttentionGradKernel : KernelModel<AttentionGradKernel, AttentionGradOp> {
  struct Emission : AttentionBlocks {
    using AttentionBlocks::AttentionBlocks;
    Buffer q = e.operand(0), k = e.operand(1), v = e.operand(2), out = e.operand(3),
           lse = e.operand(4), dout = e.operand(5), delta = e.workspace();
    Panel queries, douts, keys, values;
    /// What lies in the lanes, turned: scaled queries and douts, or scaled keys and values.
    Panel turnedFirst, turnedSecond;
    /// Scores and dout . value of each pair, then probabilities and the gradients of scores.
    Panel first, second;

    void makePanels() {
      queries = rowPanel(), douts = rowPanel(), keys = rowPanel(), values = rowPanel();
      turnedFirst = turnedPanel(), turnedSecond = turnedPanel();
      first = pairPanel(), second = pairPanel();
    }

    /// The scores and dout . value of all pairs of `rows` rows with what lies in the lanes.
    void emitPairProducts(Panel a, Panel b, Index rows) {
      auto whole = [&](Index, Index) { return wholeRow(); };
      emitProduct(e, {.a = a, .b = turnedFirst, .c = first, .rows = rows, .terms = whole});
      emitProduct(e, {.a = b, .b = turnedSecond, .c = second, .rows = rows, .terms = whole});
    }

    /// p, and p (dp - delta), both from scores and dout . value at `place` of the panels.
    void emitPairs(Index place, Value seen, Value kept, Num lse, Num delta) {
      Num score = e.load(first.numbers, place, e.lanes());
      Num product = e.load(second.numbers, place, e.lanes());
      Num probability = select(seen, exp(score - lse), score.like(0.0));
      e.store(first.numbers, place, dropped(kept, probability));
      e.store(second.numbers, place, probability * (dropped(kept, product) - delta));
    }

    void emitSum(Panel sum, Panel a, Panel b, Index rows, function_ref<Terms(Index, Index)> terms) {
      emitProduct(e, {.a = a,
                      .b = b,
                      .c = sum,
                      .transposed = true,
                      .rows = rows,
                      .terms = terms,
                      .factor = [&](Index) { return e.number(1.0); }});
    }

    //===------------------------------------------------------------------===//
    // By queries
    //===------------------------------------------------------------------===//

    void emitQueries(HeadBlock block) {
      makePanels();
      Panel dq = rowPanel();
      Buffer lseHere = e.scratch(extent), deltaHere = e.scratch(extent);
      loadQueries(queries, q, block);
      transposePanel(e, queries, turnedFirst, scale);
      loadQueries(douts, dout, block);
      transposePanel(e, douts, turnedSecond, 1.0);
      emitStatistics(block, lseHere, deltaHere);
      clearPanel(e, dq);
      forKeysSeen(block, [&](HeadBlock met) {
        loadKeys(keys, k, met);
        loadKeys(values, v, met);
        emitPairProducts(keys, values, met.count);
        e.forEach(e.index(0), met.count, [&](Index j) {
          e.forLanes(extent, [&](Index i, unsigned lanes) {
            emitPairs(first.at(j, i), isVisible(block.first + i, met.first + j, Lanes::Queries),
                      isKept(block, i, met.first + j, Lanes::Queries), e.load(lseHere, i, lanes),
                      e.load(deltaHere, i, lanes));
          });
        });
        emitSum(dq, second, keys, block.count,
                [&](Index from, Index to) { return keysSeen(block, met, from, to); });
      });
      storePanel(
          e, dq, e.result(0), [&](Index i) { return wide(block, i); }, block.count,
          [&](Index) { return e.number(scale); });
    }

    /// delta = dout . out, in the lanes of this block and for the blocks of keys.
    void emitStatistics(HeadBlock block, Buffer lseHere, Buffer deltaHere) {
      fill(e, lseHere, 0.0);
      fill(e, deltaHere, 0.0);
      e.forEach(e.index(0), block.count, [&](Index i) {
        Num product = e.sum(size, [&](Index d, unsigned lanes) {
          return e.load(douts.numbers, douts.at(i, d), lanes) *
                 e.load(out, wide(block, i) + d, lanes);
        });
        e.store(deltaHere, i, product);
        e.store(delta, statistic(block, i), product);
        e.store(lseHere, i, e.load(lse, statistic(block, i)));
      });
    }

    //===------------------------------------------------------------------===//
    // By keys
    //===------------------------------------------------------------------===//

    void emitKeys(HeadBlock block) {
      makePanels();
      Panel dk = rowPanel(), dv = rowPanel();
      loadKeys(keys, k, block);
      transposePanel(e, keys, turnedFirst, scale);
      loadKeys(values, v, block);
      transposePanel(e, values, turnedSecond, 1.0);
      clearPanel(e, dk);
      clearPanel(e, dv);
      forQueriesSeeing(block, [&](HeadBlock met) {
        loadQueries(queries, q, met);
        loadQueries(douts, dout, met);
        emitPairProducts(queries, douts, met.count);
        e.forEach(e.index(0), met.count, [&](Index i) {
          Num lseHere = e.load(lse, statistic(met, i)),
              deltaHere = e.load(delta, statistic(met, i));
          e.forLanes(extent, [&](Index j, unsigned) {
            emitPairs(first.at(i, j), isVisible(met.first + i, block.first + j, Lanes::Keys),
                      isKept(met, i, block.first + j, Lanes::Keys), lseHere, deltaHere);
          });
        });
        auto seeing = [&](Index from, Index to) { return queriesSeeing(met, block, from, to); };
        emitSum(dv, first, douts, block.count, seeing);
        emitSum(dk, second, queries, block.count, seeing);
      });
      auto place = [&](Index j) { return narrow(block, j); };
      storePanel(e, dk, e.result(1), place, block.count, [&](Index) { return e.number(scale); });
      storePanel(e, dv, e.result(2), place, block.count, [&](Index) { return e.number(1.0); });
    }
  };

  static void emitOnDevice(AttentionGradOp op, KernelEmitter &e) {
    isMmaAttention(op) ? emitMmaAttention(op, e) : emitDeviceAttention(op, e);
  }

  static void emit(AttentionGradOp op, KernelEmitter &e) {
    Emission emission(op, e);
    emission.forEachOfQueries([&](HeadBlock block) { emission.emitQueries(block); });
    emission.forEachOfKeys([&](HeadBlock block) { emission.emitKeys(block); });
  }
};

} // namespace

void llmmem::attachAttentionKernels(MLIRContext *context) {
  attachKernels<AttentionKernel, AttentionGradKernel>(context);
}
