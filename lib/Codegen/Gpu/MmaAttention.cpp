//===- MmaAttention.cpp - Attention in bf16 on tensor cores ---------------===//

#include "MmaAttention.h"
#include "MmaBlocks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
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

/// A block takes 64 queries, 16 a warp, and iterates over 64 keys at a time; 32 with dropout, whose
/// samples need registers.
class Forward {
public:
  static constexpr int64_t kExtent = 64;

  Forward(KernelEmitter &e, MmaRows &rows, HeadBlock block, Buffer sinks)
      : e(e), rows(rows), blocks(rows.blocks), block(block), sinks(sinks),
        tileKeys(blocks.p > 0.0 ? 32 : 64),
        memory(deviceLoops(e).workgroup(e, elements(), halfTypeOf(e))),
        keys(memory, 0, tileKeys, blocks.size),
        transposedValues(memory, keys.end(), blocks.size, tileKeys) {}

  void emit() {
    MmaTile all(memory, 0, kExtent, blocks.size);
    rows.copyQueries(all, e.operand(0), block);
    rows.synchronize();
    queries = rows.rowsOf(all);
    Row initial = flatten(FragmentsC(blocks.size / kMmaColumns, zeroFragment(e)));
    // Not minus infinity: the first rescaling factor would be NaN.
    Num lowest = e.number(-std::numeric_limits<float>::max()), zero = e.number(0.0);
    if (sinks) { // a score that is there before all others, in the sum of one thread of the row
      lowest = e.load(sinks, block.head);
      zero = select(equal(rows.lane.pair, e.index(0)), e.number(1.0), zero);
    }
    initial.append({lowest, lowest, zero, zero});
    auto [begin, end] = unmaskedKeys(rows, block, tileKeys);
    Row last = e.fold(begin, end, initial, [&](Index number, ArrayRef<Num> carried) -> Row {
      return emitIteration(keyBlock(rows, block, number, tileKeys), carried);
    });
    emitEnd(last);
  }

private:
  /// The tile of queries, and later those of keys and of transposed values, in the same memory.
  int64_t elements() const {
    return std::max(MmaTile::sizeOf(kExtent, blocks.size),
                    MmaTile::sizeOf(tileKeys, blocks.size) +
                        MmaTile::sizeOf(blocks.size, tileKeys));
  }

  /// Carried: the accumulators of out, then for each of its two rows the largest score and this
  /// thread's sum of powers.
  Row emitIteration(HeadBlock others, ArrayRef<Num> carried) {
    rows.synchronize();
    rows.copyKeys(keys, e.operand(1), others);
    rows.copyKeys(transposedValues, e.operand(2), others, /*transposed=*/true);
    rows.synchronize();
    FragmentsC out = unflatten(carried.drop_back(4)), scores = rows.products(queries, keys);
    Num state[4];
    llvm::copy(carried.take_back(4), state);
    maskScores(scores, others);
    for (int64_t half : {0, 1})
      emitPowers(scores, out, half, state[half], state[2 + half]);
    dropPowers(scores, others);
    rows.addMatmul(out, scores, transposedValues);
    Row next = flatten(out);
    next.append(std::begin(state), std::end(state));
    return next;
  }

  void maskScores(FragmentsC &scores, HeadBlock others) {
    Num hidden = e.number(-std::numeric_limits<double>::infinity());
    for (auto [j, score] : llvm::enumerate(scores))
      for (int64_t i = 0; i < 4; ++i) {
        Value visible = rows.isUnmasked(block.batch, block.first + rows.rowOf(i / 2),
                                        others.first + rows.columnOf(j, i));
        score[i] = select(visible, blocks.capped(score[i] * blocks.scale), hidden);
      }
  }

  void emitPowers(FragmentsC &scores, FragmentsC &out, int64_t half, Num &largest, Num &total) {
    Num now = largest, sum = e.number(0.0);
    for (FragmentC &score : scores)
      now = maximum(now, maximum(score[2 * half], score[2 * half + 1]));
    now = rows.acrossRow(now, largestOf);
    for (FragmentC &score : scores)
      for (int64_t i : {2 * half, 2 * half + 1}) {
        score[i] = exp(score[i] - now);
        sum = sum + score[i];
      }
    Num factor = exp(largest - now);
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
                         last[last.size() - 4 + half] + log(totals[half]));
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
  MmaTile keys, transposedValues;
  FragmentsA queries;
};

} // namespace

void llmmem::emitMmaAttention(AttentionOp op, KernelEmitter &e) {
  forBlocks(op, e, op.getHeads(), Forward::kExtent, [&](MmaRows &rows, HeadBlock block) {
    Forward(e, rows, block, e.operand(op.getSinksMutable())).emit();
  });
}
