//===- AttentionKernels.cpp - Attention without scores --------------------===//
//
// A block of queries attends to one block of keys at a time, in panels on the stack, so memory
// other than the operands does not grow with the sequence (Dao et al. 2022). The forward keeps a
// running maximum and a running sum for each query, and rescales its accumulators. The backward
// recomputes probabilities from lse, once in blocks of queries for dq, once in blocks of keys for
// dk and dv: one iteration computes the whole of each sum, in a fixed order, and rounds it once
// (Dao 2023 adds dq by atomics).
//
// The block of the outer loop, of queries or keys, lies along the lanes. So panels are transposed
// once an outer iteration, and no sum or maximum is reduced across lanes.
//
//===----------------------------------------------------------------------===//

#include "Emitter/AttentionBlocks.h"
#include "Gpu/DeviceAttention.h"
#include "Gpu/MmaAttention.h"
#include "Gpu/WarpgroupAttention.h"
#include "KernelModels.h"
#include "llmmem/Codegen/Gpu/DeviceLoops.h"
#include "llmmem/Dialect/LlmOps.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

/// Uses the widest tensor cores that support the shape, else ordinary arithmetic.
template <typename Op>
static void emitOnUnits(Op op, KernelEmitter &e) {
  if (isWarpgroupAttention(e.options(), op))
    emitWarpgroupAttention(op, e);
  else if (isMmaAttention(op))
    emitMmaAttention(op, e);
  else
    emitDeviceAttention(op, e);
}

namespace {

void fill(KernelEmitter &e, Buffer buffer, double value) {
  forLanes(e, buffer.size,
           [&](Index i, unsigned lanes) { e.store(buffer, i, e.splat(value, lanes)); });
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

struct AttentionKernel : KernelModel<AttentionKernel, AttentionOp> {
  struct Emission : AttentionBlocks {
    using AttentionBlocks::AttentionBlocks;
    Panel transposed, keys, values, scores, out;
    Buffer largest, total, rescale; // One for each query.
    Buffer sinks;
    Buffer reaches; // For packed rows.

    void emitBlock(HeadBlock block) {
      Panel queries = rowPanel();
      keys = rowPanel(), values = rowPanel(), out = rowPanel();
      transposed = transposedPanel(), scores = pairPanel();
      largest = e.scratch(extent), total = e.scratch(extent), rescale = e.scratch(extent);
      loadQueries(queries, e.operand(0), block);
      transposePanel(e, queries, transposed, scale);
      clearPanel(e, out);
      reaches = reachesOf(block);
      begin(block);
      forUnmaskedKeys(block, [&](HeadBlock other) { emitIteration(block, other); });
      emitEnd(block);
    }

    /// A sink is a score that precedes all others.
    void begin(HeadBlock block) {
      fill(e, total, sinks ? 1.0 : 0.0);
      fill(e, largest, sinks ? 0.0 : lowestScore(e));
      if (!sinks)
        return;
      Num sink = e.load(sinks, block.head);
      forLanes(e, extent,
               [&](Index i, unsigned lanes) { e.store(largest, i, e.splat(0.0, lanes) + sink); });
    }

    void emitIteration(HeadBlock block, HeadBlock other) {
      loadKeys(keys, e.operand(1), other);
      loadKeys(values, e.operand(2), other);
      emitMatmul(e, {.a = keys,
                     .b = transposed,
                     .c = scores,
                     .rows = other.count,
                     .terms = [&](Index, Index) { return wholeRow(); }});
      forLanes(e, extent, [&](Index i, unsigned) { emitPowers(block, other, i); });
      emitMatmul(e, {.a = scores,
                     .b = values,
                     .c = out,
                     .transposed = true,
                     .rows = block.count,
                     .terms = [&](Index first,
                                  Index last) { return unmaskedKeys(block, other, first, last); },
                     .factor = [&](Index i) { return e.load(rescale, i); }});
    }

    /// Replaces scores by their powers of e, for the queries in the lanes from `i` on.
    void emitPowers(HeadBlock block, HeadBlock other, Index i) {
      unsigned lanes = e.lanes();
      if (cap > 0.0) // It is stored once, because scores are read twice.
        forEach(e, e.index(0), other.count, [&](Index j) {
          Num bent = capped(e.load(scores.numbers, scores.at(j, i), lanes));
          e.store(scores.numbers, scores.at(j, i), bent);
        });
      auto score = [&](Index j) {
        Value unmasked =
            isUnmasked(block.first + i, other.first + j, Lanes::Queries, reachAt(reaches, i));
        return select(unmasked, e.load(scores.numbers, scores.at(j, i), lanes),
                      e.number(-std::numeric_limits<double>::infinity()));
      };
      Num before = e.load(largest, i, lanes);
      Num now =
          fold(e, e.index(0), other.count, before, [&](Index j, ArrayRef<Num> carried) -> Row {
            return {maximum(carried[0], score(j))};
          })[0];
      Num zero = e.splat(0.0, lanes);
      Num sum = fold(e, e.index(0), other.count, zero, [&](Index j, ArrayRef<Num> carried) -> Row {
        Num power = exp(score(j) - now);
        Value kept = isKept(block, i, other.first + j, Lanes::Queries);
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
          e, out, e.result(0), [&](Index i) { return queryOffset(e.result(0), block, i); },
          block.count, [&](Index i) { return 1.0 / e.load(total, i); });
      forEach(e, e.index(0), block.count, [&](Index i) {
        e.store(e.result(1), statistic(block, i), e.load(largest, i) + log(e.load(total, i)));
      });
    }
  };

  static void emitOnDevice(AttentionOp op, KernelEmitter &e) { emitOnUnits(op, e); }

  static void emit(AttentionOp op, KernelEmitter &e) {
    Emission emission(op, e);
    emission.sinks = e.operand(op.getSinksMutable());
    emission.forEachOfQueries([&](HeadBlock block) { emission.emitBlock(block); });
  }
};

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

struct AttentionGradKernel : KernelModel<AttentionGradKernel, AttentionGradOp> {
  struct Emission : AttentionBlocks {
    using AttentionBlocks::AttentionBlocks;
    Buffer k = e.operand(1), v = e.operand(2), lse = e.operand(4), dout = e.operand(5),
           delta = e.workspace();
    Panel queries, douts, keys, values;
    /// Holds the block along the lanes, transposed: scaled queries and douts, or scaled keys and
    /// values.
    struct {
      Panel first, second;
    } transposed;
    /// Hold scores and dout . value of each pair, then probabilities and the gradients of scores.
    Panel first, second;

    void makePanels() {
      queries = rowPanel(), douts = rowPanel(), keys = rowPanel(), values = rowPanel();
      transposed.first = transposedPanel(), transposed.second = transposedPanel();
      first = pairPanel(), second = pairPanel();
    }

    /// Computes the scores and dout . value of all pairs of `rows` rows with the block along the
    /// lanes.
    void emitPairMatmuls(Panel a, Panel b, Index rows) {
      auto whole = [&](Index, Index) { return wholeRow(); };
      emitMatmul(e, {.a = a, .b = transposed.first, .c = first, .rows = rows, .terms = whole});
      emitMatmul(e, {.a = b, .b = transposed.second, .c = second, .rows = rows, .terms = whole});
    }

    /// Computes p, and p (dp - delta), from the score and dout . value at `place` of the panels.
    void emitPairs(Index place, Value unmasked, Value kept, Num lse, Num delta) {
      Num score = capped(e.load(first.numbers, place, e.lanes()));
      Num product = e.load(second.numbers, place, e.lanes());
      Num probability = select(unmasked, exp(score - lse), score.like(0.0));
      e.store(first.numbers, place, dropped(kept, probability));
      e.store(second.numbers, place,
              uncapped(probability * (dropped(kept, product) - delta), score));
    }

    void emitSum(Panel sum, Panel a, Panel b, Index rows, function_ref<Terms(Index, Index)> terms) {
      emitMatmul(e, {.a = a,
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
      loadQueries(queries, e.operand(0), block);
      transposePanel(e, queries, transposed.first, scale);
      loadQueries(douts, dout, block);
      transposePanel(e, douts, transposed.second, 1.0);
      emitStatistics(block, lseHere, deltaHere);
      Buffer reaches = reachesOf(block);
      clearPanel(e, dq);
      forUnmaskedKeys(block, [&](HeadBlock other) {
        loadKeys(keys, k, other);
        loadKeys(values, v, other);
        emitPairMatmuls(keys, values, other.count);
        forEach(e, e.index(0), other.count, [&](Index j) {
          forLanes(e, extent, [&](Index i, unsigned lanes) {
            emitPairs(
                first.at(j, i),
                isUnmasked(block.first + i, other.first + j, Lanes::Queries, reachAt(reaches, i)),
                isKept(block, i, other.first + j, Lanes::Queries), e.load(lseHere, i, lanes),
                e.load(deltaHere, i, lanes));
          });
        });
        emitSum(dq, second, keys, block.count,
                [&](Index from, Index to) { return unmaskedKeys(block, other, from, to); });
      });
      storePanel(
          e, dq, e.result(0), [&](Index i) { return queryOffset(e.result(0), block, i); },
          block.count, [&](Index) { return e.number(scale); });
    }

    /// Computes delta = dout . out for the lanes of this block, and stores it for the pass over
    /// blocks of keys.
    void emitStatistics(HeadBlock block, Buffer lseHere, Buffer deltaHere) {
      Buffer out = e.operand(3);
      fill(e, lseHere, 0.0);
      fill(e, deltaHere, 0.0);
      forEach(e, e.index(0), block.count, [&](Index i) {
        Num product = sumOver(e, size, [&](Index d, unsigned lanes) {
          return e.load(douts.numbers, douts.at(i, d), lanes) *
                 e.load(out, queryOffset(out, block, i) + d, lanes);
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
      transposePanel(e, keys, transposed.first, scale);
      loadKeys(values, v, block);
      transposePanel(e, values, transposed.second, 1.0);
      clearPanel(e, dk);
      clearPanel(e, dv);
      forUnmaskedQueries(block, [&](HeadBlock other) {
        loadQueries(queries, e.operand(0), other);
        loadQueries(douts, dout, other);
        emitPairMatmuls(queries, douts, other.count);
        forEach(e, e.index(0), other.count, [&](Index i) {
          Num lseHere = e.load(lse, statistic(other, i)),
              deltaHere = e.load(delta, statistic(other, i));
          Value reach = reachOfOne(other.batch, other.first + i);
          forLanes(e, extent, [&](Index j, unsigned) {
            emitPairs(first.at(i, j),
                      isUnmasked(other.first + i, block.first + j, Lanes::Keys, reach),
                      isKept(other, i, block.first + j, Lanes::Keys), lseHere, deltaHere);
          });
        });
        auto seeing = [&](Index from, Index to) { return unmaskedQueries(other, block, from, to); };
        emitSum(dv, first, douts, block.count, seeing);
        emitSum(dk, second, queries, block.count, seeing);
      });
      auto store = [&](Panel sums, Buffer to, double factor) {
        storePanel(
            e, sums, to, [&](Index j) { return keyOffset(to, block, j); }, block.count,
            [&](Index) { return e.number(factor); });
      };
      store(dk, e.result(1), scale);
      store(dv, e.result(2), 1.0);
    }
  };

  static void emitOnDevice(AttentionGradOp op, KernelEmitter &e) { emitOnUnits(op, e); }

  static void emit(AttentionGradOp op, KernelEmitter &e) {
    Emission emission(op, e);
    emission.forEachOfQueries([&](HeadBlock block) { emission.emitQueries(block); });
    emission.forEachOfKeys([&](HeadBlock block) { emission.emitKeys(block); });
  }
};

//===----------------------------------------------------------------------===//
// Sinks
//===----------------------------------------------------------------------===//

struct AttentionSinkGradKernel : KernelModel<AttentionSinkGradKernel, AttentionSinkGradOp> {
  struct Shape {
    int64_t heads, seq, size, tokens;

    explicit Shape(AttentionSinkGradOp op)
        : heads(op.getSinks().getType().getNumElements()), seq(op.getLse().getType().getShape()[2]),
          size(op.getOut().getType().getShape()[2] / heads),
          tokens(op.getLse().getType().getShape()[0] * seq) {}
  };

  /// Returns the sink's probability in the row of `head` at `token`, of the whole batch, times
  /// delta = dout . out.
  static Num share(KernelEmitter &e, const Shape &shape, Num sink, Index head, Index token,
                   Num delta) {
    Index statistic = (token / shape.seq * shape.heads + head) * shape.seq + token % shape.seq;
    return exp(sink - e.load(e.operand(2), statistic)) * delta;
  }

  /// Returns what the sum continues from. It is read before the sum, because its bytes may be the
  /// result's.
  static Num begin(AttentionSinkGradOp op, KernelEmitter &e, Index head) {
    Buffer into = e.operand(op.getIntoMutable());
    return into ? e.load(into, head) : e.number(0.0);
  }

  static void emit(AttentionSinkGradOp op, KernelEmitter &e) {
    Shape shape(op);
    forEachParallel(e, shape.heads, [&](Index head) {
      Num sink = e.load(e.operand(0), head), before = begin(op, e, head);
      Num sum = fold(e, e.index(0), e.index(shape.tokens), e.number(0.0),
                     [&](Index token, ArrayRef<Num> carried) -> Row {
                       Index row = (token * shape.heads + head) * shape.size;
                       Num delta = sumOver(e, shape.size, [&](Index d, unsigned lanes) {
                         return e.load(e.operand(1), row + d, lanes) *
                                e.load(e.operand(3), row + d, lanes);
                       });
                       return {carried[0] + share(e, shape, sink, head, token, delta)};
                     })[0];
      e.store(e.result(0), head, before - sum);
    });
  }

  static void emitOnDevice(AttentionSinkGradOp op, KernelEmitter &e) {
    Shape shape(op);
    DeviceLoops &device = deviceLoops(e);
    forEachParallel(e, shape.heads, [&](Index head) {
      Num sink = e.load(e.operand(0), head), before = begin(op, e, head);
      Num sum = device.sumOfElements(e, shape.tokens, [&](Index token) {
        Index row = (token * shape.heads + head) * shape.size;
        Num delta = fold(e, e.index(0), e.index(shape.size), e.number(0.0),
                         [&](Index d, ArrayRef<Num> carried) -> Row {
                           return {fma(e.load(e.operand(1), row + d), e.load(e.operand(3), row + d),
                                       carried[0])};
                         })[0];
        return share(e, shape, sink, head, token, delta);
      });
      e.store(e.result(0), head, before - sum);
    });
  }
};

} // namespace

void llmmem::attachAttentionKernels(MLIRContext *context) {
  attachKernels<AttentionKernel, AttentionGradKernel, AttentionSinkGradKernel>(context);
}
