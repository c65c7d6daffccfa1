//===- AttentionKernels.cpp - Attention without scores, and rotary angles --===//
//
// A query is a row in registers. The forward takes two passes over the keys it sees: the largest
// score, then the sum of powers and the weighted values. The backward draws probabilities again
// from lse (Dao et al. 2022, algorithm 4), once by queries for dq, once by keys for dk and dv, so
// that each sum is made in one place and rounded once.
//
//===----------------------------------------------------------------------===//

#include "KernelModels.h"
#include "Philox.h"
#include "RopeFrequencies.h"
#include "llmmem/Dialect/LlmOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {

Num dot(ArrayRef<Num> a, ArrayRef<Num> b) {
  // Chunks may differ in width at the end of a row, so each is summed by itself.
  Num total;
  for (auto [left, right] : llvm::zip_equal(a, b)) {
    Num part = left * right;
    bool sameWidth = total.builder && total.type() == part.type();
    if (sameWidth)
      total = total + part;
    else
      total = total.builder ? sumOfLanes(total) + sumOfLanes(part) : part;
  }
  return sumOfLanes(total);
}

/// sum[i] + factor * row[i]
Row addScaled(ArrayRef<Num> sum, Num factor, ArrayRef<Num> row) {
  Row result;
  for (auto [a, b] : llvm::zip_equal(sum, row))
    result.push_back(a + b * factor);
  return result;
}

Row scaled(ArrayRef<Num> row, Num factor) {
  Row result;
  for (Num x : row)
    result.push_back(x * factor);
  return result;
}

/// What the forward and the backward have in common: shapes, places, visibility, dropout.
template <typename Op>
struct Heads {
  Heads(Op op, KernelEmitter &e)
      : e(e), batch(op.getQ().getType().getShape()[0]), seq(op.getQ().getType().getShape()[1]),
        heads(op.getHeads()), kvHeads(op.getKvHeads()),
        size(op.getQ().getType().getShape()[2] / heads), window(op.getWindow().value_or(seq)),
        scale(op.getScale().convertToDouble()), p(op.getP().convertToDouble()) {
    if (p > 0.0)
      philox.emplace(e, e.operand(op.getSeedMutable()[0]), op.getKey());
  }

  int64_t group() const { return heads / kvHeads; }
  Index wide(Index b, Index i, Index h) const { return ((b * seq + i) * heads + h) * size; }
  Index narrow(Index b, Index j, Index g) const { return ((b * seq + j) * kvHeads + g) * size; }
  Index statistic(Index b, Index h, Index i) const { return (b * heads + h) * seq + i; }
  /// The first key that query `i` sees; the last is i itself.
  Index firstKey(Index i) const { return maximum(i - e.index(window - 1), e.index(0)); }
  /// One past the last query that sees key `j`; the first is j itself.
  Index endOfQueries(Index j) const { return minimum(j + window, e.index(seq)); }

  /// x / (1 - p) where the probability of (i, j) stays, else 0.
  Num dropped(Index b, Index h, Index i, Index j, Num x) {
    if (!philox)
      return x;
    Value keep = philox->keeps(statistic(b, h, i) * seq + j, 1, p);
    return select(keep, x / (1.0 - p), x.like(0.0));
  }

  KernelEmitter &e;
  int64_t batch, seq, heads, kvHeads, size, window;
  double scale, p;
  std::optional<Philox> philox;
};

struct AttentionKernel : KernelModel<AttentionKernel, AttentionOp> {
  static void emit(AttentionOp op, KernelEmitter &e) {
    Heads<AttentionOp> heads(op, e);
    e.forEach(heads.batch, [&](Index b) {
      e.forEach(heads.kvHeads, [&](Index g) {
        e.forEach(heads.group(), [&](Index k) {
          e.forEach(heads.seq, [&](Index i) { emitQuery(heads, b, g, g * heads.group() + k, i); });
        });
      });
    });
  }

  static void emitQuery(Heads<AttentionOp> &heads, Index b, Index g, Index h, Index i) {
    KernelEmitter &e = heads.e;
    Buffer keys = e.operand(1), values = e.operand(2);
    Row query = e.loadRow(e.operand(0), heads.wide(b, i, h), heads.size);
    auto score = [&](Index j) {
      return dot(query, e.loadRow(keys, heads.narrow(b, j, g), heads.size)) * heads.scale;
    };
    Num lowest = e.number(-std::numeric_limits<double>::infinity());
    Num largest =
        e.fold(heads.firstKey(i), i + 1, lowest, [&](Index j, ArrayRef<Num> carried) -> Row {
          return {maximum(carried[0], score(j))};
        })[0];
    Row initial = e.zeroRow(heads.size);
    initial.push_back(e.number(0.0));
    Row sums = e.fold(heads.firstKey(i), i + 1, initial, [&](Index j, ArrayRef<Num> carried) {
      Num power = exp(score(j) - largest);
      Row value = e.loadRow(values, heads.narrow(b, j, g), heads.size);
      Row next = addScaled(carried.drop_back(), heads.dropped(b, h, i, j, power), value);
      next.push_back(carried.back() + power);
      return next;
    });
    Num total = sums.pop_back_val();
    e.storeRow(e.result(0), heads.wide(b, i, h), scaled(sums, 1.0 / total));
    e.store(e.result(1), heads.statistic(b, h, i), largest + log(total));
  }
};

struct AttentionGradKernel : KernelModel<AttentionGradKernel, AttentionGradOp> {
  struct Emission : Heads<AttentionGradOp> {
    using Heads::Heads;
    Buffer q = e.operand(0), k = e.operand(1), v = e.operand(2), out = e.operand(3),
           lse = e.operand(4), dout = e.operand(5), delta = e.workspace();

    Row wideRow(Buffer x, Index b, Index i, Index h) { return e.loadRow(x, wide(b, i, h), size); }
    Row narrowRow(Buffer x, Index b, Index j, Index g) {
      return e.loadRow(x, narrow(b, j, g), size);
    }

    /// p and dscore of one pair, given the rows of its query and its key.
    std::pair<Num, Num> pair(Index b, Index h, Index i, Index j, ArrayRef<Num> query,
                             ArrayRef<Num> key, ArrayRef<Num> dquery, ArrayRef<Num> value) {
      Num probability = exp(dot(query, key) * scale - e.load(lse, statistic(b, h, i)));
      Num kept = dropped(b, h, i, j, dot(dquery, value));
      Num dscore = probability * (kept - e.load(delta, statistic(b, h, i)));
      return {probability, dscore};
    }

    void emitDelta(Index b, Index h, Index i) {
      e.store(delta, statistic(b, h, i), dot(wideRow(dout, b, i, h), wideRow(out, b, i, h)));
    }

    void emitQuery(Index b, Index g, Index h, Index i) {
      Row query = wideRow(q, b, i, h), dquery = wideRow(dout, b, i, h);
      Row sum = e.fold(firstKey(i), i + 1, e.zeroRow(size), [&](Index j, ArrayRef<Num> carried) {
        Row key = narrowRow(k, b, j, g);
        auto [probability, dscore] = pair(b, h, i, j, query, key, dquery, narrowRow(v, b, j, g));
        return addScaled(carried, dscore, key);
      });
      e.storeRow(e.result(0), wide(b, i, h), scaled(sum, e.number(scale)));
    }

    void emitKey(Index b, Index g, Index j) {
      Row key = narrowRow(k, b, j, g), value = narrowRow(v, b, j, g);
      Row sums = e.zeroRow(size);
      size_t chunks = sums.size();
      sums.append(e.zeroRow(size));
      sums = e.fold(g * group(), g * group() + group(), sums, [&](Index h, ArrayRef<Num> outer) {
        return e.fold(j, endOfQueries(j), outer, [&](Index i, ArrayRef<Num> carried) {
          Row query = wideRow(q, b, i, h), dquery = wideRow(dout, b, i, h);
          auto [probability, dscore] = pair(b, h, i, j, query, key, dquery, value);
          Row next = addScaled(carried.take_front(chunks), dscore, query);
          next.append(
              addScaled(carried.drop_front(chunks), dropped(b, h, i, j, probability), dquery));
          return next;
        });
      });
      e.storeRow(e.result(1), narrow(b, j, g),
                 scaled(ArrayRef(sums).take_front(chunks), e.number(scale)));
      e.storeRow(e.result(2), narrow(b, j, g), ArrayRef(sums).drop_front(chunks));
    }
  };

  static void emit(AttentionGradOp op, KernelEmitter &e) {
    Emission emission(op, e);
    e.forEach(emission.batch, [&](Index b) {
      e.forEach(emission.heads, [&](Index h) {
        e.forEach(emission.seq, [&](Index i) { emission.emitDelta(b, h, i); });
      });
      e.forEach(emission.kvHeads, [&](Index g) {
        e.forEach(emission.group(), [&](Index k) {
          e.forEach(emission.seq,
                    [&](Index i) { emission.emitQuery(b, g, g * emission.group() + k, i); });
        });
        e.forEach(emission.seq, [&](Index j) { emission.emitKey(b, g, j); });
      });
    });
  }
};

//===----------------------------------------------------------------------===//
// Rotary angles
//===----------------------------------------------------------------------===//

struct RopeKernel : KernelModel<RopeKernel, RopeOp> {
  static void emit(RopeOp op, KernelEmitter &e) {
    ArrayRef<int64_t> shape = op.getX().getType().getShape();
    int64_t batch = shape[0], seq = shape[1], width = shape[2], heads = op.getHeads(),
            half = width / heads / 2;
    Buffer x = e.operand(0), y = e.result(0), frequencies = e.table(ropeFrequencies(op));
    e.forEach(seq, [&](Index s) {
      e.forEach(half, [&](Index i) {
        // Angles grow to thousands of turns: f64, whatever the kernel computes in.
        Num frequency{&e.builder(), e.loadRaw(frequencies, i)};
        Num angle = convert(e.toNumber(s), frequency.type()) * frequency;
        Num cosine = convert(cos(angle), e.wideType()), sine = convert(sin(angle), e.wideType());
        if (op.getInverse())
          sine = -sine;
        e.forEach(batch, [&](Index b) {
          e.forEach(heads, [&](Index h) {
            Index low = (b * seq + s) * width + h * (2 * half) + i, high = low + half;
            Num first = e.load(x, low), second = e.load(x, high);
            e.store(y, low, first * cosine - second * sine);
            e.store(y, high, second * cosine + first * sine);
          });
        });
      });
    });
  }
};

} // namespace

void llmmem::attachAttentionKernels(MLIRContext *context) {
  attachKernels<AttentionKernel, AttentionGradKernel, RopeKernel>(context);
}
