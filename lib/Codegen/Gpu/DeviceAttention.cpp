//===- DeviceAttention.cpp - Attention by the threads of a GPU -------------===//
//
// The algorithm is that of AttentionKernels.cpp. A block of threads has a block of queries (keys),
// whose rows lie in its memory, and walks over the blocks of keys (queries) that meet them. Four
// neighbouring threads share a row: each makes every fourth score of it, and every fourth vector of
// its output in registers. Maxima and sums of a row go through two shuffles; probabilities go
// through the block's memory from those who make them to those who need them. No sum is made in two
// places, so there are no atomics and bits depend on no schedule.
//
//===----------------------------------------------------------------------===//

#include "DeviceAttention.h"
#include "Emitter/AttentionBlocks.h"
#include "llmmem/Codegen/Gpu/DeviceLoops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>
#include <numeric>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {

/// Threads of a row.
constexpr int64_t kShare = 4;

/// How much of a head a block of threads has.
struct BlockShape {
  /// Rows of a block, columns of a row in whole shares of vectors, and the distance of rows.
  int64_t extent, columns, pitch;
  /// Elements of 16 bytes.
  int64_t lanes;

  int64_t threads() const { return extent * kShare; }
  int64_t scoresPitch() const { return extent + kShare; }

  /// The most rows of which `panels` panels and `squares` squares of pairs fit the block's memory.
  static BlockShape of(KernelEmitter &e, int64_t size, int64_t seq, int64_t panels,
                       int64_t squares) {
    int64_t bytes = e.wideType().getWidth() / 8, lanes = 16 / bytes;
    int64_t columns = llvm::alignTo(size, kShare * lanes);
    BlockShape shape{32, columns, columns + 8, lanes};
    auto needed = [&] {
      return bytes * shape.extent * (panels * shape.pitch + squares * shape.scoresPitch());
    };
    while (shape.extent > 8 && (needed() > (46 << 10) || shape.extent / 2 >= seq))
      shape.extent /= 2;
    return shape;
  }
};

/// What the kernels have in common, written inside a launch.
class AttentionTeam : public AttentionBlocks {
public:
  template <typename Op>
  AttentionTeam(Op op, KernelEmitter &e, BlockShape shape, Index thread)
      : AttentionBlocks(op, e, shape.extent), device(deviceLoops(e)), shape(shape), thread(thread),
        row(thread / kShare), part(thread % kShare) {}

  Buffer panel() { return device.workgroup(e, shape.extent * shape.pitch, e.wideType()); }
  Buffer square() { return device.workgroup(e, shape.extent * shape.scoresPitch(), e.wideType()); }

  /// The block of turn `number` of `headCount` heads in each sequence.
  HeadBlock blockOf(Index number, int64_t headCount) {
    Index head = number / blocksOfHead();
    return blockAt(head / headCount, head % headCount, number % blocksOfHead());
  }
  int64_t blocksOfHead() const { return llvm::divideCeil(seq, extent); }

  //===--------------------------------------------------------------------===//
  // Panels
  //===--------------------------------------------------------------------===//

  /// Rows beyond the block's, and columns beyond the head's, are 0.
  void load(Buffer to, Buffer from, function_ref<Index(Index)> place, Index count,
            double factor = 1.0) {
    auto lanes = static_cast<int64_t>(std::gcd<int64_t>(e.lanes(), size));
    int64_t vectors = shape.columns / lanes;
    e.forSteps(thread, e.index(shape.extent * vectors), shape.threads(), [&](Index item) {
      Index r = item / vectors, column = item % vectors * lanes;
      Value inside = arith::AndIOp::create(e.builder(), e.location(), less(r, count),
                                           less(column, e.index(size)));
      Index readable = place(minimum(r, count - 1)) + minimum(column, e.index(size - lanes));
      Num x = e.load(from, readable, lanes);
      x = select(inside, factor == 1.0 ? x : x * factor, x.like(0.0));
      e.store(to, r * shape.pitch + column, x);
    });
  }

  void loadQueriesOf(Buffer to, Buffer from, HeadBlock block, double factor = 1.0) {
    load(to, from, [&](Index r) { return wide(block, r); }, block.count, factor);
  }
  void loadKeysOf(Buffer to, Buffer from, HeadBlock block, double factor = 1.0) {
    load(to, from, [&](Index r) { return narrow(block, r); }, block.count, factor);
  }

  /// The rows of the other block whose pairs with this thread's row are this thread's.
  int64_t pairs() const { return shape.extent / kShare; }
  Index pairRow(int64_t number) { return part + number * kShare; }

  /// mine[row] . others[pairRow(n)] for each pair.
  Row products(Buffer mine, Buffer others) {
    Row sums(pairs(), e.splat(0.0, shape.lanes));
    sums = e.foldSteps(
        e.index(0), e.index(shape.columns), shape.lanes, sums,
        [&](Index column, ArrayRef<Num> carried) {
          Num a = e.load(mine, row * shape.pitch + column, shape.lanes);
          Row next;
          for (int64_t pair = 0; pair < pairs(); ++pair)
            next.push_back(fma(a, e.load(others, pairRow(pair) * shape.pitch + column, shape.lanes),
                               carried[pair]));
          return next;
        });
    for (Num &sum : sums)
      sum = sumOfLanes(sum);
    return sums;
  }

  //===--------------------------------------------------------------------===//
  // Sums of rows
  //===--------------------------------------------------------------------===//

  int64_t vectors() const { return shape.columns / (kShare * shape.lanes); }
  Index columnOf(int64_t vector) { return (part + vector * kShare) * shape.lanes; }
  Row zeros() { return Row(vectors(), e.splat(0.0, shape.lanes)); }

  /// sums + the sum over r of weights[row][r] others[r], for this thread's columns.
  Row addWeighted(ArrayRef<Num> sums, Buffer weights, Buffer others) {
    return e.fold(e.index(0), e.index(shape.extent), sums, [&](Index r, ArrayRef<Num> carried) {
      Num weight = e.load(weights, row * shape.scoresPitch() + r);
      Row next;
      for (int64_t vector = 0; vector < vectors(); ++vector)
        next.push_back(fma(weight, e.load(others, r * shape.pitch + columnOf(vector), shape.lanes),
                           carried[vector]));
      return next;
    });
  }

  void storeScore(Buffer square, int64_t pair, Num x) {
    e.store(square, row * shape.scoresPitch() + pairRow(pair), x);
  }

  /// This thread's columns of its row, which begins at `place` of `to`.
  void storeRow(Buffer to, Index place, Index count, ArrayRef<Num> sums, Num factor) {
    e.ifThen(less(row, count), [&] {
      for (int64_t vector = 0; vector < vectors(); ++vector)
        storeColumns(to, place, columnOf(vector), sums[vector] * factor);
    });
  }

  Num acrossRow(Num x, function_ref<Num(Num, Num)> combine) {
    return device.acrossLanes(e, x, kShare, combine);
  }

  //===--------------------------------------------------------------------===//
  // Pairs
  //===--------------------------------------------------------------------===//

  /// Whether query `i` of its block exists and sees key `j` of its.
  Value sees(HeadBlock queries, Index i, HeadBlock keys, Index j) {
    Index distance = (queries.first + i) - (keys.first + j);
    Value causal = less(e.index(-1), distance);
    Value near = less(distance, e.index(window));
    Value both = arith::AndIOp::create(e.builder(), e.location(), causal, near);
    return arith::AndIOp::create(e.builder(), e.location(), both, less(i, queries.count));
  }

  Num droppedPair(HeadBlock queries, Index i, HeadBlock keys, Index j, Num x) {
    return dropped(isPairKept(queries, i, keys.first + j), x);
  }

  DeviceLoops &device;
  BlockShape shape;
  Index thread, row, part;

private:
  void storeColumns(Buffer to, Index place, Index column, Num x) {
    if (size % shape.lanes == 0)
      return e.ifThen(less(column, e.index(size)), [&] { e.store(to, place + column, x); });
    for (int64_t lane = 0; lane < shape.lanes; ++lane)
      e.ifThen(less(column + lane, e.index(size)), [&] {
        Num one{x.builder, vector::ExtractOp::create(*x.builder, e.location(), x.value, lane)};
        e.store(to, place + column + lane, one);
      });
  }
};

template <typename Op>
void launchAttention(Op op, KernelEmitter &e, BlockShape shape, int64_t heads,
                     function_ref<void(AttentionTeam &, HeadBlock)> body) {
  ArrayRef<int64_t> sizes = op.getQ().getType().getShape();
  int64_t blocks = sizes[0] * heads * llvm::divideCeil(sizes[1], shape.extent);
  deviceLoops(e).launch(e, blocks, shape.threads(), [&](Index block, Index thread) {
    AttentionTeam team(op, e, shape, thread);
    body(team, team.blockOf(block, heads));
  });
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

class DeviceForward {
public:
  DeviceForward(AttentionTeam &team, HeadBlock block)
      : t(team), e(team.e), block(block), queries(t.panel()), others(t.panel()),
        weights(t.square()) {}

  void emit() {
    t.loadQueriesOf(queries, e.operand(0), block, t.scale);
    // Not minus infinity, from which the first rescaling would be by NaN.
    double lowest =
        APFloat::getLargest(e.wideType().getFloatSemantics(), /*Negative=*/true).convertToDouble();
    Row state = {e.number(lowest), e.number(0.0)};
    state.append(t.zeros());
    state = t.foldKeysSeen(block, state, [&](HeadBlock met, ArrayRef<Num> carried) {
      return emitMeeting(met, carried);
    });
    Num largest = state[0], total = state[1];
    t.storeRow(e.result(0), t.wide(block, t.row), block.count, ArrayRef(state).drop_front(2),
               1.0 / total);
    Value isOwner = arith::AndIOp::create(e.builder(), e.location(), less(t.row, block.count),
                                          equal(t.part, e.index(0)));
    e.ifThen(isOwner,
             [&] { e.store(e.result(1), t.statistic(block, t.row), largest + log(total)); });
  }

private:
  /// The largest score, the sum and the rows' output so far, after one more block of keys.
  Row emitMeeting(HeadBlock met, ArrayRef<Num> carried) {
    t.device.barrier(e);
    t.loadKeysOf(others, e.operand(1), met);
    t.device.barrier(e);
    Row scores = t.products(queries, others);
    Num now = carried[0];
    for (int64_t pair = 0; pair < t.pairs(); ++pair) {
      Value seen = t.sees(block, t.row, met, t.pairRow(pair));
      scores[pair] = select(seen, scores[pair], e.number(-std::numeric_limits<double>::infinity()));
      now = maximum(now, scores[pair]);
    }
    now = t.acrossRow(now, [](Num a, Num b) { return maximum(a, b); });
    Num sum = e.number(0.0);
    for (int64_t pair = 0; pair < t.pairs(); ++pair) {
      Num power = exp(scores[pair] - now);
      sum = sum + power;
      t.storeScore(weights, pair, t.droppedPair(block, t.row, met, t.pairRow(pair), power));
    }
    sum = t.acrossRow(sum, [](Num a, Num b) { return a + b; });
    Num factor = exp(carried[0] - now);
    Row next = {now, carried[1] * factor + sum};
    t.device.barrier(e);
    t.loadKeysOf(others, e.operand(2), met);
    t.device.barrier(e);
    Row rescaled;
    for (Num x : carried.drop_front(2))
      rescaled.push_back(x * factor);
    next.append(t.addWeighted(rescaled, weights, others));
    return next;
  }

  AttentionTeam &t;
  KernelEmitter &e;
  HeadBlock block;
  Buffer queries, others, weights;
};

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

/// Operands and results of the gradient.
struct GradBuffers {
  Buffer q, k, v, out, lse, dout, delta, dq, dk, dv;

  explicit GradBuffers(KernelEmitter &e)
      : q(e.operand(0)), k(e.operand(1)), v(e.operand(2)), out(e.operand(3)), lse(e.operand(4)),
        dout(e.operand(5)), delta(e.workspace()), dq(e.result(0)), dk(e.result(1)),
        dv(e.result(2)) {}
};

/// p, and p (dp - delta), of a pair.
struct PairGrad {
  Num probability, score;

  PairGrad(AttentionTeam &t, HeadBlock queries, Index i, HeadBlock keys, Index j, Num score,
           Num product, Num lse, Num delta)
      : probability(score), score(score) {
    Num p = select(t.sees(queries, i, keys, j), exp(score - lse), score.like(0.0));
    probability = t.droppedPair(queries, i, keys, j, p);
    this->score = p * (t.droppedPair(queries, i, keys, j, product) - delta);
  }
};

void emitQueriesGrad(AttentionTeam &t, HeadBlock block, const GradBuffers &b) {
  KernelEmitter &e = t.e;
  Buffer queries = t.panel(), douts = t.panel(), keys = t.panel(), values = t.panel(),
         weights = t.square();
  t.loadQueriesOf(queries, b.q, block, t.scale);
  t.loadQueriesOf(douts, b.dout, block);
  // delta = dout . out, from rows that lie where those of the keys will.
  t.loadQueriesOf(keys, b.out, block);
  t.device.barrier(e);
  Num delta = e.number(0.0);
  for (int64_t vector = 0; vector < t.vectors(); ++vector) {
    Index place = t.row * t.shape.pitch + t.columnOf(vector);
    delta = delta +
            sumOfLanes(e.load(douts, place, t.shape.lanes) * e.load(keys, place, t.shape.lanes));
  }
  delta = t.acrossRow(delta, [](Num a, Num b) { return a + b; });
  Value isOwner = arith::AndIOp::create(e.builder(), e.location(), less(t.row, block.count),
                                        equal(t.part, e.index(0)));
  e.ifThen(isOwner, [&] { e.store(b.delta, t.statistic(block, t.row), delta); });
  Num lse = e.load(b.lse, t.statistic(block, minimum(t.row, block.count - 1)));
  Row dq = t.foldKeysSeen(block, t.zeros(), [&](HeadBlock met, ArrayRef<Num> carried) {
    t.device.barrier(e);
    t.loadKeysOf(keys, b.k, met);
    t.loadKeysOf(values, b.v, met);
    t.device.barrier(e);
    Row scores = t.products(queries, keys), products = t.products(douts, values);
    for (int64_t pair = 0; pair < t.pairs(); ++pair) {
      PairGrad grad(t, block, t.row, met, t.pairRow(pair), scores[pair], products[pair], lse,
                    delta);
      t.storeScore(weights, pair, grad.score);
    }
    t.device.barrier(e);
    return t.addWeighted(carried, weights, keys);
  });
  t.storeRow(b.dq, t.wide(block, t.row), block.count, dq, e.number(t.scale));
}

void emitKeysGrad(AttentionTeam &t, HeadBlock block, const GradBuffers &b) {
  KernelEmitter &e = t.e;
  Buffer keys = t.panel(), values = t.panel(), queries = t.panel(), douts = t.panel(),
         weights = t.square(), scoreGrads = t.square();
  t.loadKeysOf(keys, b.k, block, t.scale);
  t.loadKeysOf(values, b.v, block);
  Row sums = t.zeros();
  sums.append(t.zeros());
  sums = t.foldQueriesSeeing(block, sums, [&](HeadBlock met, ArrayRef<Num> carried) {
    t.device.barrier(e);
    t.loadQueriesOf(queries, b.q, met);
    t.loadQueriesOf(douts, b.dout, met);
    t.device.barrier(e);
    Row scores = t.products(keys, queries), products = t.products(values, douts);
    for (int64_t pair = 0; pair < t.pairs(); ++pair) {
      Index i = t.pairRow(pair), statistic = t.statistic(met, minimum(i, met.count - 1));
      PairGrad grad(t, met, i, block, t.row, scores[pair], products[pair], e.load(b.lse, statistic),
                    e.load(b.delta, statistic));
      t.storeScore(weights, pair, grad.probability);
      t.storeScore(scoreGrads, pair, grad.score);
    }
    t.device.barrier(e);
    Row next = t.addWeighted(carried.take_front(t.vectors()), scoreGrads, queries);
    next.append(t.addWeighted(carried.drop_front(t.vectors()), weights, douts));
    return next;
  });
  Index place = t.narrow(block, t.row);
  ArrayRef<Num> both = sums;
  t.storeRow(b.dk, place, block.count, both.take_front(t.vectors()), e.number(t.scale));
  t.storeRow(b.dv, place, block.count, both.drop_front(t.vectors()), e.number(1.0));
}

} // namespace

void llmmem::emitDeviceAttention(AttentionOp op, KernelEmitter &e) {
  ArrayRef<int64_t> sizes = op.getQ().getType().getShape();
  int64_t heads = op.getHeads();
  BlockShape shape = BlockShape::of(e, sizes[2] / heads, sizes[1], /*panels=*/2, /*squares=*/1);
  launchAttention(op, e, shape, heads,
                  [&](AttentionTeam &team, HeadBlock block) { DeviceForward(team, block).emit(); });
}

void llmmem::emitDeviceAttention(AttentionGradOp op, KernelEmitter &e) {
  ArrayRef<int64_t> sizes = op.getQ().getType().getShape();
  int64_t heads = op.getHeads();
  BlockShape shape = BlockShape::of(e, sizes[2] / heads, sizes[1], /*panels=*/4, /*squares=*/2);
  GradBuffers buffers(e);
  launchAttention(op, e, shape, heads, [&](AttentionTeam &team, HeadBlock block) {
    emitQueriesGrad(team, block, buffers);
  });
  launchAttention(op, e, shape, op.getKvHeads(), [&](AttentionTeam &team, HeadBlock block) {
    emitKeysGrad(team, block, buffers);
  });
}
