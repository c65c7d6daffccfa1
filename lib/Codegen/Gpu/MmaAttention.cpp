//===- MmaAttention.cpp - Attention in bf16 on tensor cores ---------------===//

#include "MmaAttention.h"
#include "MmaBlocks.h"
#include "PowersOfTwo.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

template <typename Op>
static bool isWholeFragments(Op op) {
  ArrayRef<int64_t> shape = op.getQ().getType().getShape();
  int64_t size = shape[2] / static_cast<int64_t>(op.getHeads());
  return op.getQ().getType().getElementTypeBitWidth() == 16 && size % kMmaInner == 0 && size <= 128;
}

bool llmmem::isMmaAttention(AttentionOp op) { return isWholeFragments(op); }
bool llmmem::isMmaAttention(AttentionGradOp op) { return isWholeFragments(op); }

static Num largestOf(Num a, Num b) { return maximum(a, b); }
static Num sumOf(Num a, Num b) { return a + b; }

namespace {

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

/// A block takes 128 queries, 16 a warp, and iterates over 64 keys at a time; 32 with dropout,
/// whose samples need registers. While scores are computed their values are copied, and while
/// values are multiplied the next keys (Dao, "FlashAttention-2", 2023, and its kernels for sm_80).
class Forward {
public:
  /// Shorter sequences have less to share.
  static int64_t extentFor(int64_t seq) { return seq <= 64 ? 64 : 128; }

  Forward(KernelEmitter &e, MmaRows &rows, HeadBlock block, Buffer sinks)
      : e(e), rows(rows), blocks(rows.blocks), block(block), sinks(sinks),
        tileKeys(blocks.p > 0.0 ? 32 : 64),
        memory(deviceLoops(e).workgroup(e, elements(), halfTypeOf(e))),
        keys(memory, e.index(0), tileKeys, blocks.size),
        values(memory, e.index(keys.size()), tileKeys, blocks.size) {}

  void emit() {
    MmaTile all(memory, e.index(0), rows.extent(), blocks.size);
    rows.copyQueries(all, e.operand(0), block);
    rows.synchronizeCopies();
    queries = rows.rowsOf(all);
    rows.synchronize();
    Row initial = flatten(FragmentsC(blocks.size / kMmaColumns, zeroFragment(e)));
    // Not minus infinity: the first rescaling factor would be NaN.
    Num lowest = e.number(-std::numeric_limits<float>::max()), zero = e.number(0.0);
    if (sinks) { // a score that is there before all others, in the sum of one thread of the row
      lowest = e.load(sinks, block.head) * llvm::numbers::log2e;
      zero = select(equal(rows.lane.pair, e.index(0)), e.number(1.0), zero);
    }
    initial.append({lowest, lowest, zero, zero});
    auto [begin, end] = unmaskedKeys(rows, block, tileKeys);
    rows.copyKeys(keys, e.operand(1), keyBlock(rows, block, begin, tileKeys));
    Row last = e.fold(begin, end, initial, [&, end = end](Index number, ArrayRef<Num> carried) {
      return emitIteration(number, end, carried);
    });
    emitEnd(last);
  }

private:
  /// The tile of queries, and later those of keys and of values, in the same memory.
  int64_t elements() const {
    return MmaTile::sizeOf(std::max(rows.extent(), 2 * tileKeys), blocks.size);
  }

  /// Carried: the accumulators of out, then for each of its two rows the largest score times
  /// log2(e) and this thread's sum of powers.
  Row emitIteration(Index number, Index end, ArrayRef<Num> carried) {
    HeadBlock others = keyBlock(rows, block, number, tileKeys);
    rows.synchronizeCopies(); // the keys are there, and the values before have been read
    rows.copyKeys(values, e.operand(2), others);
    FragmentsC out = unflatten(carried.drop_back(4)), scores = rows.products(queries, keys);
    rows.synchronizeCopies(); // the values are there, and the keys have been read
    e.ifThen(less(number + 1, end), [&] {
      rows.copyKeys(keys, e.operand(1), keyBlock(rows, block, number + 1, tileKeys));
    });
    Num state[4];
    llvm::copy(carried.take_back(4), state);
    scores = visibleLogits(scores, others);
    for (int64_t half : {0, 1})
      emitPowers(scores, out, half, state[half], state[2 + half]);
    dropPowers(scores, others);
    rows.addMatmul(out, scores, values);
    Row next = flatten(out);
    next.append(std::begin(state), std::end(state));
    return next;
  }

  FragmentsC visibleLogits(FragmentsC scores, HeadBlock others) {
    for (FragmentC &score : scores)
      for (Num &x : score)
        x = rows.logit(x);
    Num hidden = e.number(-std::numeric_limits<double>::infinity());
    return rows.masked(rows.mayBeMasked(block, rows.extent(), others, tileKeys), scores, hidden,
                       [&](int64_t j, int64_t i) {
                         return rows.isUnmasked(block.batch, block.first + rows.rowOf(i / 2),
                                                others.first + rows.columnOf(j, i));
                       });
  }

  /// Logits become powers. `largest` is that of all logits so far, times their factor.
  void emitPowers(FragmentsC &logits, FragmentsC &out, int64_t half, Num &largest, Num &total) {
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

  void dropPowers(FragmentsC &scores, HeadBlock others) {
    if (blocks.p == 0.0)
      return;
    for (auto [j, score] : llvm::enumerate(scores))
      for (int64_t i = 0; i < 4; ++i)
        score[i] = blocks.dropped(blocks.isKept(block, rows.rowOf(i / 2),
                                                others.first + rows.columnOf(j, i),
                                                AttentionBlocks::Lanes::Keys, /*lanes=*/1),
                                  score[i]);
  }

  void emitEnd(ArrayRef<Num> last) {
    Num totals[2];
    for (int64_t half : {0, 1})
      totals[half] = rows.acrossRow(last[last.size() - 2 + half], sumOf);
    rows.store(
        unflatten(last.drop_back(4)), e.result(0),
        [&](Index r) { return blocks.queryOffset(block, r); }, block.count,
        [&](int64_t half) { return 1.0 / totals[half]; });
    for (int64_t half : {0, 1}) {
      Index row = rows.rowOf(half);
      Value isFirst = equal(rows.lane.pair, e.index(0));
      e.ifThen(arith::AndIOp::create(e.builder(), e.location(), isFirst, less(row, block.count)),
               [&] {
                 e.store(e.result(1), blocks.statistic(block, row),
                         last[last.size() - 4 + half] * llvm::numbers::ln2 + log(totals[half]));
               });
    }
  }

  KernelEmitter &e;
  MmaRows &rows;
  AttentionBlocks &blocks;
  HeadBlock block;
  Buffer sinks;
  int64_t tileKeys;
  Buffer memory;
  MmaTile keys, values;
  FragmentsA queries;
};

} // namespace

void llmmem::emitMmaAttention(AttentionOp op, KernelEmitter &e) {
  int64_t extent = Forward::extentFor(op.getQ().getType().getShape()[1]);
  forBlocks(op, e, op.getHeads(), extent, Longest::Last, [&](MmaRows &rows, HeadBlock block) {
    Forward(e, rows, block, e.operand(op.getSinksMutable())).emit();
  });
}
