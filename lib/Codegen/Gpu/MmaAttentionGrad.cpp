//===- MmaAttentionGrad.cpp - The backward of attention on tensor cores ---===//
//
// Probabilities are recomputed from lse, once in blocks of queries and once in blocks of keys.
//
//===----------------------------------------------------------------------===//

#include "MmaAttention.h"
#include "MmaBlocks.h"
#include "MmaPairs.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {

//===----------------------------------------------------------------------===//
// By queries
//===----------------------------------------------------------------------===//

/// A block takes 64 queries, 16 a warp, and iterates over 32 keys at a time.
class ByQueries {
public:
  static constexpr int64_t kExtent = 64, kOtherRows = 32;

  ByQueries(KernelEmitter &e, MmaRows &rows, HeadBlock block)
      : e(e), rows(rows), blocks(rows.blocks), block(block),
        memory(deviceLoops(e).workgroup(e, MmaTile::sizeOf(kExtent, blocks.size), halfTypeOf(e))),
        keys(memory, e.index(0), kOtherRows, blocks.size),
        values(memory, e.index(keys.size()), kOtherRows, blocks.size) {}

  void emit() {
    queries = readRows(e.operand(0));
    douts = readRows(e.operand(5));
    statistics = emitStatistics(rows, block, douts, readRows(e.operand(3)));
    Row initial = flatten(FragmentsC(blocks.size / kMmaColumns, zeroFragment(e)));
    auto [begin, end] = unmaskedKeys(rows, block, kOtherRows);
    Row dq = fold(e, begin, end, initial, [&](Index number, ArrayRef<Num> carried) -> Row {
      return emitIteration(keyBlock(rows, block, number, kOtherRows), carried);
    });
    storeQueryGradients(rows, block, unflatten(dq));
  }

private:
  FragmentsA readRows(Buffer from) {
    MmaTile tile(memory, e.index(0), kExtent, blocks.size);
    rows.synchronize();
    rows.copyQueries(tile, from, block);
    rows.synchronizeCopies();
    return rows.rowsOf(tile);
  }

  Row emitIteration(HeadBlock other, ArrayRef<Num> carried) {
    rows.synchronize();
    rows.copyKeys(keys, e.operand(1), other);
    rows.copyKeys(values, e.operand(2), other);
    rows.synchronizeCopies();
    FragmentsC scores = rows.products(queries, keys), products = rows.products(douts, values);
    MmaPairs(rows, block, kExtent, other, kOtherRows)
        .emit(scores, products, [&](int64_t j, int64_t i) -> MmaPair {
          return {rows.rowOf(i / 2), rows.columnOf(j, i), statistics.minusLse[i / 2],
                  statistics.delta[i / 2]};
        });
    FragmentsC dq = unflatten(carried);
    rows.addMatmul(dq, products, keys);
    return flatten(dq);
  }

  KernelEmitter &e;
  MmaRows &rows;
  AttentionBlocks &blocks;
  HeadBlock block;
  Buffer memory; // Holds one tile of queries, and later tiles of keys and values.
  MmaTile keys, values;
  FragmentsA queries, douts;
  RowStatistics statistics;
};

//===----------------------------------------------------------------------===//
// By keys
//===----------------------------------------------------------------------===//

/// A block takes 64 keys (32 if heads are wide), 16 a warp, and iterates over 16 queries at a time,
/// head after head of the group. Keys and values stay in workgroup memory: the accumulators fill
/// the registers.
class ByKeys {
public:
  static constexpr int64_t kOtherRows = 16;
  static int64_t extentFor(int64_t size) { return size <= 64 ? 64 : 32; }

  ByKeys(KernelEmitter &e, MmaRows &rows, HeadBlock block, int64_t extent)
      : e(e), rows(rows), blocks(rows.blocks), block(block), keys(e, extent, blocks.size),
        values(e, extent, blocks.size), queries(e, kOtherRows, blocks.size),
        douts(e, kOtherRows, blocks.size) {}

  void emit() {
    rows.copyKeys(keys, e.operand(1), block);
    rows.copyKeys(values, e.operand(2), block);
    int64_t group = blocks.heads / blocks.kvHeads, parts = blocks.size / kMmaColumns;
    Row initial = flatten(FragmentsC(2 * parts, zeroFragment(e)));
    Row sums = fold(e, e.index(0), e.index(group), initial, [&](Index head, ArrayRef<Num> ofGroup) {
      auto [begin, end] = unmaskedQueries(rows, block, kOtherRows);
      return fold(e, begin, end, ofGroup, [&](Index number, ArrayRef<Num> carried) {
        return emitIteration(
            blockAt(rows, block.batch, block.head * group + head, number, kOtherRows), carried);
      });
    });
    storeKeyGradients(rows, block, unflatten(sums));
  }

private:
  /// Carries the accumulators of dk, then those of dv.
  Row emitIteration(HeadBlock other, ArrayRef<Num> carried) {
    rows.synchronize();
    rows.copyQueries(queries, e.operand(0), other);
    rows.copyQueries(douts, e.operand(5), other);
    rows.synchronizeCopies();
    FragmentsC scores = rows.products(keys, queries), products = rows.products(values, douts);
    // These belong to the queries that are this thread's columns, two in each fragment.
    SmallVector<Num> minusLse, delta;
    for (size_t j = 0; j < scores.size(); ++j)
      for (int64_t column : {0, 1}) {
        Index place = blocks.statistic(other, minimum(rows.columnOf(j, column), other.count - 1));
        minusLse.push_back(minusLog2(e.load(e.operand(4), place)));
        delta.push_back(e.load(e.workspace(), place));
      }
    MmaPairs(rows, other, kOtherRows, block, rows.extent())
        .emit(scores, products, [&](int64_t j, int64_t i) -> MmaPair {
          int64_t query = 2 * j + i % 2;
          return {rows.columnOf(j, i), rows.rowOf(i / 2), minusLse[query], delta[query]};
        });
    FragmentsC sums = unflatten(carried);
    FragmentsC dk(ArrayRef(sums).take_front(sums.size() / 2)),
        dv(ArrayRef(sums).drop_front(sums.size() / 2));
    rows.addMatmul(dk, products, queries);
    rows.addMatmul(dv, scores, douts);
    dk.append(dv);
    return flatten(dk);
  }

  KernelEmitter &e;
  MmaRows &rows;
  AttentionBlocks &blocks;
  HeadBlock block;
  MmaTile keys, values, queries, douts;
};

} // namespace

void llmmem::emitMmaAttention(AttentionGradOp op, KernelEmitter &e) {
  forBlocks(op, e, op.getHeads(), ByQueries::kExtent, Longest::Last,
            [&](MmaRows &rows, HeadBlock block) { ByQueries(e, rows, block).emit(); });
  int64_t size = op.getQ().getType().getShape()[2] / static_cast<int64_t>(op.getHeads()),
          extent = ByKeys::extentFor(size);
  forBlocks(op, e, op.getKvHeads(), extent, Longest::First,
            [&](MmaRows &rows, HeadBlock block) { ByKeys(e, rows, block, extent).emit(); });
}
