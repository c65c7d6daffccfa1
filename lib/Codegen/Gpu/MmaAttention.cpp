//===- MmaAttention.cpp - Attention in bf16 on tensor cores ----------------===//

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
  return op.getQ().getType().getElementType().isBF16() && size % kMmaInner == 0 && size <= 128;
}

bool llmmem::isMmaAttention(AttentionOp op) { return isWholeFragments(op); }
bool llmmem::isMmaAttention(AttentionGradOp op) { return isWholeFragments(op); }

static Num largestOf(Num a, Num b) { return maximum(a, b); }
static Num sumOf(Num a, Num b) { return a + b; }

namespace {

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

/// 64 queries, 16 a warp, meet 64 keys at a time; 32 with dropout, whose draws need registers.
class Forward {
public:
  static constexpr int64_t kExtent = 64;

  Forward(KernelEmitter &e, MmaRows &rows, HeadBlock block)
      : e(e), rows(rows), blocks(rows.blocks), block(block), met(blocks.p > 0.0 ? 32 : 64),
        memory(deviceLoops(e).workgroup(e, elements(), e.builder().getBF16Type())),
        keys(memory, 0, met, blocks.size), turnedValues(memory, keys.end(), blocks.size, met) {}

  void emit() {
    MmaTile all(memory, 0, kExtent, blocks.size);
    rows.copyQueries(all, e.operand(0), block);
    rows.meet();
    queries = rows.rowsOf(all);
    Row initial = flatten(FragmentsC(blocks.size / kMmaColumns, zeroFragment(e)));
    // Not minus infinity, from which the first rescaling would be by NaN.
    Num lowest = e.number(-std::numeric_limits<float>::max()), zero = e.number(0.0);
    initial.append({lowest, lowest, zero, zero});
    auto [begin, end] = keysSeen(rows, block, met);
    Row last = e.fold(begin, end, initial, [&](Index number, ArrayRef<Num> carried) -> Row {
      return emitMeeting(keyBlock(rows, block, number, met), carried);
    });
    emitEnd(last);
  }

private:
  /// The tile of queries, or those of keys and of turned values, at different times.
  int64_t elements() const {
    return std::max(MmaTile::sizeOf(kExtent, blocks.size),
                    MmaTile::sizeOf(met, blocks.size) + MmaTile::sizeOf(blocks.size, met));
  }

  /// Carried: the sums of out, then the largest score and this thread's sum of powers of its two
  /// rows.
  Row emitMeeting(HeadBlock seen, ArrayRef<Num> carried) {
    rows.meet();
    rows.copyKeys(keys, e.operand(1), seen);
    rows.copyKeys(turnedValues, e.operand(2), seen, /*turned=*/true);
    rows.meet();
    FragmentsC out = unflatten(carried.drop_back(4)), scores = rows.products(queries, keys);
    Num state[4];
    llvm::copy(carried.take_back(4), state);
    maskScores(scores, seen);
    for (int64_t half : {0, 1})
      emitPowers(scores, out, half, state[half], state[2 + half]);
    dropPowers(scores, seen);
    rows.addProducts(out, scores, turnedValues);
    Row next = flatten(out);
    next.append(std::begin(state), std::end(state));
    return next;
  }

  void maskScores(FragmentsC &scores, HeadBlock seen) {
    Num hidden = e.number(-std::numeric_limits<double>::infinity());
    for (auto [j, score] : llvm::enumerate(scores))
      for (int64_t i = 0; i < 4; ++i) {
        Value visible =
            rows.isVisible(block.first + rows.rowOf(i / 2), seen.first + rows.columnOf(j, i));
        score[i] = select(visible, score[i] * blocks.scale, hidden);
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

  void dropPowers(FragmentsC &scores, HeadBlock seen) {
    if (blocks.p == 0.0)
      return;
    for (auto [j, score] : llvm::enumerate(scores))
      for (int64_t i = 0; i < 4; ++i)
        score[i] =
            blocks.dropped(blocks.isKept(block, rows.rowOf(i / 2), seen.first + rows.columnOf(j, i),
                                         AttentionBlocks::Lanes::Keys, /*lanes=*/1),
                           score[i]);
  }

  void emitEnd(ArrayRef<Num> last) {
    Num totals[2];
    for (int64_t half : {0, 1})
      totals[half] = rows.acrossRow(last[last.size() - 2 + half], sumOf);
    rows.store(
        unflatten(last.drop_back(4)), e.result(0), [&](Index r) { return blocks.wide(block, r); },
        block.count, [&](int64_t half) { return 1.0 / totals[half]; });
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
  int64_t met;
  Buffer memory;
  MmaTile keys, turnedValues;
  FragmentsA queries;
};

} // namespace

void llmmem::emitMmaAttention(AttentionOp op, KernelEmitter &e) {
  forBlocks(op, e, op.getHeads(), Forward::kExtent,
            [&](MmaRows &rows, HeadBlock block) { Forward(e, rows, block).emit(); });
}
