//===- DeviceAttention.cpp - Attention by the threads of a GPU ------------===//
//
// The algorithm is that of AttentionKernels.cpp. A block of threads takes a block of queries
// (keys), keeps its rows in workgroup memory, and iterates over the blocks of keys (queries) that
// the mask leaves. Four neighbouring threads work on a row: each computes every fourth score, and
// every fourth vector of the output in registers. Two shuffles reduce maxima and sums of a row, and
// threads exchange probabilities through workgroup memory. One block computes the whole of each
// sum, so there are no atomics and bits do not depend on the schedule.
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

/// This number of threads works on a row.
constexpr int64_t kThreadsPerRow = 4;

/// Says how much of a head a block of threads takes.
struct BlockShape {
  /// Count the rows of a block, the columns of a row padded to whole vectors of all its threads,
  /// and the distance of rows.
  int64_t extent, columns, pitch;
  /// Counts the elements of 16 bytes.
  int64_t lanes;

  int64_t threads() const { return extent * kThreadsPerRow; }
  int64_t scoresPitch() const { return extent + kThreadsPerRow; }

  /// Returns the most rows of which `panels` panels and `squares` squares of pairs fit the block's
  /// memory.
  static BlockShape of(KernelEmitter &e, int64_t size, int64_t seq, int64_t panels,
                       int64_t squares) {
    int64_t bytes = e.computeType().getWidth() / 8, lanes = 16 / bytes;
    int64_t columns = llvm::alignTo(size, kThreadsPerRow * lanes);
    BlockShape shape{32, columns, columns + 8, lanes};
    auto needed = [&] {
      return bytes * shape.extent * (panels * shape.pitch + squares * shape.scoresPitch());
    };
    while (shape.extent > 8 && (needed() > (46 << 10) || shape.extent / 2 >= seq))
      shape.extent /= 2;
    return shape;
  }
};

/// Holds what the kernels have in common, emitted inside a launch.
class AttentionLaunch : public AttentionBlocks {
public:
  template <typename Op>
  AttentionLaunch(Op op, KernelEmitter &e, BlockShape shape, Index thread)
      : AttentionBlocks(op, e, shape.extent), device(deviceLoops(e)), shape(shape), thread(thread),
        row(thread / kThreadsPerRow), part(thread % kThreadsPerRow) {}

  Buffer panel() { return device.workgroup(e, shape.extent * shape.pitch, e.computeType()); }
  Buffer square() {
    return device.workgroup(e, shape.extent * shape.scoresPitch(), e.computeType());
  }

  /// Returns the block that iteration `number` takes, of `headCount` heads in each sequence.
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
    forSteps(e, thread, e.index(shape.extent * vectors), shape.threads(), [&](Index item) {
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
    load(to, from, [&](Index r) { return queryOffset(from, block, r); }, block.count, factor);
  }
  void loadKeysOf(Buffer to, Buffer from, HeadBlock block, double factor = 1.0) {
    load(to, from, [&](Index r) { return keyOffset(from, block, r); }, block.count, factor);
  }

  /// Returns the number of rows of the other block whose scores with its row this thread computes.
  int64_t pairs() const { return shape.extent / kThreadsPerRow; }
  Index pairRow(int64_t number) { return part + number * kThreadsPerRow; }

  /// Computes mine[row] . others[pairRow(n)] for each pair.
  Row products(Buffer mine, Buffer others) {
    Row sums(pairs(), e.splat(0.0, shape.lanes));
    sums = foldSteps(
        e, e.index(0), e.index(shape.columns), shape.lanes, sums,
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

  int64_t vectors() const { return shape.columns / (kThreadsPerRow * shape.lanes); }
  Index columnOf(int64_t vector) { return (part + vector * kThreadsPerRow) * shape.lanes; }
  Row zeros() { return Row(vectors(), e.splat(0.0, shape.lanes)); }

  /// Computes sums + the sum over r of weights[row][r] others[r], for this thread's columns.
  Row addWeighted(ArrayRef<Num> sums, Buffer weights, Buffer others) {
    return fold(e, e.index(0), e.index(shape.extent), sums, [&](Index r, ArrayRef<Num> carried) {
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

  /// Stores this thread's columns of its row, which begins at `place` of `to`.
  void storeRow(Buffer to, Index place, Index count, ArrayRef<Num> sums, Num factor) {
    ifThen(e, less(row, count), [&] {
      for (int64_t vector = 0; vector < vectors(); ++vector)
        storeColumns(to, place, columnOf(vector), sums[vector] * factor);
    });
  }

  Num acrossRow(Num x, function_ref<Num(Num, Num)> combine) {
    return acrossLanes(e, x, kThreadsPerRow, combine);
  }

  //===--------------------------------------------------------------------===//
  // Pairs
  //===--------------------------------------------------------------------===//

  /// Returns whether query `i` and key `j` of their blocks exist and the mask leaves the pair.
  Value isPairUnmasked(HeadBlock queries, Index i, HeadBlock keys, Index j) {
    Index distance = (queries.first + i) - (keys.first + j);
    Value causal = ahead > 0 ? less(j, keys.count) : less(e.index(-1), distance);
    Index reach = positions ? reachOf(queries.batch, queries.first + i) : e.index(window);
    Value near = less(distance, reach);
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
      return ifThen(e, less(column, e.index(size)), [&] { e.store(to, place + column, x); });
    for (int64_t lane = 0; lane < shape.lanes; ++lane)
      ifThen(e, less(column + lane, e.index(size)), [&] {
        Num one{x.builder, vector::ExtractOp::create(*x.builder, e.location(), x.value, lane)};
        e.store(to, place + column + lane, one);
      });
  }
};

template <typename Op>
void launchAttention(Op op, KernelEmitter &e, BlockShape shape, int64_t heads,
                     function_ref<void(AttentionLaunch &, HeadBlock)> body) {
  ArrayRef<int64_t> sizes = op.getQ().getType().getShape();
  int64_t blocks = sizes[0] * heads * llvm::divideCeil(sizes[1], shape.extent);
  deviceLoops(e).launch(e, blocks, shape.threads(), [&](Index block, Index thread) {
    AttentionLaunch launch(op, e, shape, thread);
    body(launch, launch.blockOf(block, heads));
  });
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

class DeviceForward {
public:
  DeviceForward(AttentionLaunch &launch, HeadBlock block, Buffer sinks)
      : t(launch), e(launch.e), block(block), sinks(sinks), queries(t.panel()), others(t.panel()),
        weights(t.square()) {}

  void emit() {
    t.loadQueriesOf(queries, e.operand(0), block, t.scale);
    Row state = {e.number(lowestScore(e)), e.number(0.0)};
    if (sinks) // It is a score that precedes all others.
      state = {e.load(sinks, block.head), e.number(1.0)};
    state.append(t.zeros());
    state = t.foldUnmaskedKeys(block, state, [&](HeadBlock other, ArrayRef<Num> carried) {
      return emitIteration(other, carried);
    });
    Num largest = state[0], total = state[1];
    t.storeRow(e.result(0), t.queryOffset(e.result(0), block, t.row), block.count,
               ArrayRef(state).drop_front(2), 1.0 / total);
    Value isOwner = arith::AndIOp::create(e.builder(), e.location(), less(t.row, block.count),
                                          equal(t.part, e.index(0)));
    ifThen(e, isOwner,
           [&] { e.store(e.result(1), t.statistic(block, t.row), largest + log(total)); });
  }

private:
  /// Returns the running maximum, the running sum and the output accumulators after one more block
  /// of keys.
  Row emitIteration(HeadBlock other, ArrayRef<Num> carried) {
    barrier(e);
    t.loadKeysOf(others, e.operand(1), other);
    barrier(e);
    Row scores = t.products(queries, others);
    Num now = carried[0];
    for (int64_t pair = 0; pair < t.pairs(); ++pair) {
      Value unmasked = t.isPairUnmasked(block, t.row, other, t.pairRow(pair));
      scores[pair] = select(unmasked, t.capped(scores[pair]),
                            e.number(-std::numeric_limits<double>::infinity()));
      now = maximum(now, scores[pair]);
    }
    now = t.acrossRow(now, [](Num a, Num b) { return maximum(a, b); });
    Num sum = e.number(0.0);
    for (int64_t pair = 0; pair < t.pairs(); ++pair) {
      Num power = exp(scores[pair] - now);
      sum = sum + power;
      t.storeScore(weights, pair, t.droppedPair(block, t.row, other, t.pairRow(pair), power));
    }
    sum = t.acrossRow(sum, [](Num a, Num b) { return a + b; });
    Num factor = exp(carried[0] - now);
    Row next = {now, carried[1] * factor + sum};
    barrier(e);
    t.loadKeysOf(others, e.operand(2), other);
    barrier(e);
    Row rescaled;
    for (Num x : carried.drop_front(2))
      rescaled.push_back(x * factor);
    next.append(t.addWeighted(rescaled, weights, others));
    return next;
  }

  AttentionLaunch &t;
  KernelEmitter &e;
  HeadBlock block;
  Buffer sinks, queries, others, weights;
};

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

/// Holds operands and results of the gradient.
struct GradBuffers {
  Buffer q, k, v, out, lse, dout, delta, dq, dk, dv;

  explicit GradBuffers(KernelEmitter &e)
      : q(e.operand(0)), k(e.operand(1)), v(e.operand(2)), out(e.operand(3)), lse(e.operand(4)),
        dout(e.operand(5)), delta(e.workspace()), dq(e.result(0)), dk(e.result(1)),
        dv(e.result(2)) {}
};

/// Names query `i` and key `j` of two blocks.
struct Pair {
  HeadBlock queries;
  Index i;
  HeadBlock keys;
  Index j;
};

/// Holds p, and p (dp - delta), of a pair.
struct PairGrad {
  Num probability, score;

  PairGrad(AttentionLaunch &t, const Pair &of, Num score, Num product, Num lse, Num delta)
      : probability(score), score(score) {
    const auto &[queries, i, keys, j] = of;
    Num capped = t.capped(score);
    Num p = select(t.isPairUnmasked(queries, i, keys, j), exp(capped - lse), score.like(0.0));
    probability = t.droppedPair(queries, i, keys, j, p);
    this->score = t.uncapped(p * (t.droppedPair(queries, i, keys, j, product) - delta), capped);
  }
};

void emitQueriesGrad(AttentionLaunch &t, HeadBlock block, const GradBuffers &b) {
  KernelEmitter &e = t.e;
  Buffer queries = t.panel(), douts = t.panel(), keys = t.panel(), values = t.panel(),
         weights = t.square();
  t.loadQueriesOf(queries, b.q, block, t.scale);
  t.loadQueriesOf(douts, b.dout, block);
  // delta = dout . out is computed from rows of out in the buffer that later holds keys.
  t.loadQueriesOf(keys, b.out, block);
  barrier(e);
  Num delta = e.number(0.0);
  for (int64_t vector = 0; vector < t.vectors(); ++vector) {
    Index place = t.row * t.shape.pitch + t.columnOf(vector);
    delta = delta +
            sumOfLanes(e.load(douts, place, t.shape.lanes) * e.load(keys, place, t.shape.lanes));
  }
  delta = t.acrossRow(delta, [](Num a, Num b) { return a + b; });
  Value isOwner = arith::AndIOp::create(e.builder(), e.location(), less(t.row, block.count),
                                        equal(t.part, e.index(0)));
  ifThen(e, isOwner, [&] { e.store(b.delta, t.statistic(block, t.row), delta); });
  Num lse = e.load(b.lse, t.statistic(block, minimum(t.row, block.count - 1)));
  Row dq = t.foldUnmaskedKeys(block, t.zeros(), [&](HeadBlock other, ArrayRef<Num> carried) {
    barrier(e);
    t.loadKeysOf(keys, b.k, other);
    t.loadKeysOf(values, b.v, other);
    barrier(e);
    Row scores = t.products(queries, keys), products = t.products(douts, values);
    for (int64_t pair = 0; pair < t.pairs(); ++pair) {
      PairGrad grad(t, {block, t.row, other, t.pairRow(pair)}, scores[pair], products[pair], lse,
                    delta);
      t.storeScore(weights, pair, grad.score);
    }
    barrier(e);
    return t.addWeighted(carried, weights, keys);
  });
  t.storeRow(b.dq, t.queryOffset(b.dq, block, t.row), block.count, dq, e.number(t.scale));
}

void emitKeysGrad(AttentionLaunch &t, HeadBlock block, const GradBuffers &b) {
  KernelEmitter &e = t.e;
  Buffer keys = t.panel(), values = t.panel(), queries = t.panel(), douts = t.panel(),
         weights = t.square(), scoreGrads = t.square();
  t.loadKeysOf(keys, b.k, block, t.scale);
  t.loadKeysOf(values, b.v, block);
  Row sums = t.zeros();
  sums.append(t.zeros());
  sums = t.foldUnmaskedQueries(block, sums, [&](HeadBlock other, ArrayRef<Num> carried) {
    barrier(e);
    t.loadQueriesOf(queries, b.q, other);
    t.loadQueriesOf(douts, b.dout, other);
    barrier(e);
    Row scores = t.products(keys, queries), products = t.products(values, douts);
    for (int64_t pair = 0; pair < t.pairs(); ++pair) {
      Index i = t.pairRow(pair), statistic = t.statistic(other, minimum(i, other.count - 1));
      PairGrad grad(t, {other, i, block, t.row}, scores[pair], products[pair],
                    e.load(b.lse, statistic), e.load(b.delta, statistic));
      t.storeScore(weights, pair, grad.probability);
      t.storeScore(scoreGrads, pair, grad.score);
    }
    barrier(e);
    Row next = t.addWeighted(carried.take_front(t.vectors()), scoreGrads, queries);
    next.append(t.addWeighted(carried.drop_front(t.vectors()), weights, douts));
    return next;
  });
  ArrayRef<Num> both = sums;
  t.storeRow(b.dk, t.keyOffset(b.dk, block, t.row), block.count, both.take_front(t.vectors()),
             e.number(t.scale));
  t.storeRow(b.dv, t.keyOffset(b.dv, block, t.row), block.count, both.drop_front(t.vectors()),
             e.number(1.0));
}

} // namespace

void llmmem::emitDeviceAttention(AttentionOp op, KernelEmitter &e) {
  ArrayRef<int64_t> sizes = op.getQ().getType().getShape();
  int64_t heads = op.getHeads();
  BlockShape shape = BlockShape::of(e, sizes[2] / heads, sizes[1], /*panels=*/2, /*squares=*/1);
  launchAttention(op, e, shape, heads, [&](AttentionLaunch &launch, HeadBlock block) {
    DeviceForward(launch, block, e.operand(op.getSinksMutable())).emit();
  });
}

void llmmem::emitDeviceAttention(AttentionGradOp op, KernelEmitter &e) {
  ArrayRef<int64_t> sizes = op.getQ().getType().getShape();
  int64_t heads = op.getHeads();
  BlockShape shape = BlockShape::of(e, sizes[2] / heads, sizes[1], /*panels=*/4, /*squares=*/2);
  GradBuffers buffers(e);
  launchAttention(op, e, shape, heads, [&](AttentionLaunch &launch, HeadBlock block) {
    emitQueriesGrad(launch, block, buffers);
  });
  launchAttention(op, e, shape, op.getKvHeads(), [&](AttentionLaunch &launch, HeadBlock block) {
    emitKeysGrad(launch, block, buffers);
  });
}
