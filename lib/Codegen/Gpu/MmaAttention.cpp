//===- MmaAttention.cpp - Attention in 16 bits on tensor cores ------------===//

#include "MmaAttention.h"
#include "MmaBlocks.h"
#include "MmaSoftmax.h"

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

namespace {

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

/// A block takes 128 queries, 16 a warp, and iterates over 64 keys at a time; 32 with dropout,
/// whose samples need registers. While it computes scores their values are copied, and while it
/// multiplies values the next keys are copied (Dao, "FlashAttention-2", 2023, and its kernels for
/// sm_80).
class Forward {
public:
  /// Shorter sequences have less to share.
  static int64_t extentFor(int64_t seq) { return seq <= 64 ? 64 : 128; }

  Forward(KernelEmitter &e, MmaRows &rows, HeadBlock block, Buffer sinks)
      : e(e), rows(rows), blocks(rows.blocks), block(block), softmax(rows, block, sinks),
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
    auto [begin, end] = unmaskedKeys(rows, block, tileKeys);
    rows.copyKeys(keys, e.operand(1), keyBlock(rows, block, begin, tileKeys));
    softmax.foldTiles(begin, end,
                      [&, end = end](Index number, FragmentsC &out, MutableArrayRef<Num> state) {
                        emitIteration(number, end, out, state);
                      });
  }

private:
  /// Counts the tile of queries, and later those of keys and of values, in the same memory.
  int64_t elements() const {
    return MmaTile::sizeOf(std::max(rows.extent(), 2 * tileKeys), blocks.size);
  }

  void emitIteration(Index number, Index end, FragmentsC &out, MutableArrayRef<Num> state) {
    HeadBlock others = keyBlock(rows, block, number, tileKeys);
    rows.synchronizeCopies(); // The keys are complete, and the previous values have been read.
    rows.copyKeys(values, e.operand(2), others);
    FragmentsC scores = rows.products(queries, keys);
    rows.synchronizeCopies(); // The values are complete, and the keys have been read.
    ifThen(e, less(number + 1, end),
           [&] { rows.copyKeys(keys, e.operand(1), keyBlock(rows, block, number + 1, tileKeys)); });
    softmax.emit(scores, out, others, tileKeys, state);
    rows.addMatmul(out, scores, values);
  }

  KernelEmitter &e;
  MmaRows &rows;
  AttentionBlocks &blocks;
  HeadBlock block;
  MmaSoftmax softmax;
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
