//===- MmaAttentionGrad.cpp - The backward of attention on tensor cores ---===//
//
// Probabilities are recomputed from lse, once in blocks of queries and once in blocks of keys.
//
//===----------------------------------------------------------------------===//

#include "MmaAttention.h"
#include "MmaBlocks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {

/// A query and a key by their numbers in their blocks.
struct Pair {
  Index query, key;
};

/// What both launches compute from scores and dout . value.
class Pairs {
public:
  Pairs(MmaRows &rows) : rows(rows), e(rows.e), blocks(rows.blocks) {}

  /// `score` becomes the factor of dout in dv, the probability after dropout; `product` becomes the
  /// gradient of the score before its scale.
  void emit(Num &score, Num &product, HeadBlock queries, HeadBlock keys, Pair pair, Num lse,
            Num delta) {
    Value unmasked =
        rows.isUnmasked(queries.batch, queries.first + pair.query, keys.first + pair.key);
    Num capped = blocks.capped(score * blocks.scale);
    Num probability = select(unmasked, exp(capped - lse), e.number(0.0));
    Value kept = blocks.isKept(queries, pair.query, keys.first + pair.key,
                               AttentionBlocks::Lanes::Keys, /*lanes=*/1);
    product = blocks.uncapped(probability * (blocks.dropped(kept, product) - delta), capped);
    score = blocks.dropped(kept, probability);
  }

private:
  MmaRows &rows;
  KernelEmitter &e;
  AttentionBlocks &blocks;
};

//===----------------------------------------------------------------------===//
// By queries
//===----------------------------------------------------------------------===//

/// A block takes 64 queries, 16 a warp, and iterates over 32 keys at a time.
class ByQueries {
public:
  static constexpr int64_t kExtent = 64, kOtherRows = 32;

  ByQueries(KernelEmitter &e, MmaRows &rows, HeadBlock block)
      : e(e), rows(rows), blocks(rows.blocks), block(block),
        memory(deviceLoops(e).workgroup(e, elements(blocks.size), halfTypeOf(e))),
        keys(memory, 0, kOtherRows, blocks.size),
        values(memory, keys.end(), kOtherRows, blocks.size),
        transposedKeys(memory, values.end(), blocks.size, kOtherRows) {}

  void emit() {
    queries = readRows(e.operand(0));
    douts = readRows(e.operand(5));
    emitStatistics(readRows(e.operand(3)));
    Row initial = flatten(FragmentsC(blocks.size / kMmaColumns, zeroFragment(e)));
    auto [begin, end] = unmaskedKeys(rows, block, kOtherRows);
    Row dq = e.fold(begin, end, initial, [&](Index number, ArrayRef<Num> carried) -> Row {
      return emitIteration(keyBlock(rows, block, number, kOtherRows), carried);
    });
    rows.store(
        unflatten(dq), e.result(0), [&](Index r) { return blocks.queryOffset(block, r); },
        block.count, [&](int64_t) { return e.number(blocks.scale); });
  }

private:
  /// One tile of queries, and later tiles of keys, values and transposed keys, in the same memory.
  static int64_t elements(int64_t size) {
    return std::max(MmaTile::sizeOf(kExtent, size),
                    2 * MmaTile::sizeOf(kOtherRows, size) + MmaTile::sizeOf(size, kOtherRows));
  }

  FragmentsA readRows(Buffer from) {
    MmaTile tile(memory, 0, kExtent, blocks.size);
    rows.synchronize();
    rows.copyQueries(tile, from, block);
    rows.synchronize();
    return rows.rowsOf(tile);
  }

  /// delta = dout . out, and lse, of this thread's two rows.
  void emitStatistics(ArrayRef<FragmentA> outs) {
    for (int64_t half : {0, 1}) {
      Num sum = e.number(0.0);
      for (auto [dout, out] : llvm::zip_equal(douts, outs))
        for (int64_t part : {half, half + 2}) {
          std::array<Num, 2> a = unpackPart(e, dout.parts[part]),
                             b = unpackPart(e, out.parts[part]);
          sum = sum + a[0] * b[0] + a[1] * b[1];
        }
      delta[half] = rows.acrossRow(sum, [](Num a, Num b) { return a + b; });
      Index row = rows.rowOf(half);
      // Rows beyond the last have no lse of their own and attend to no key.
      lse[half] = e.load(e.operand(4), blocks.statistic(block, minimum(row, block.count - 1)));
      Value isFirst = equal(rows.lane.pair, e.index(0));
      e.ifThen(arith::AndIOp::create(e.builder(), e.location(), isFirst, less(row, block.count)),
               [&] { e.store(e.workspace(), blocks.statistic(block, row), delta[half]); });
    }
  }

  Row emitIteration(HeadBlock other, ArrayRef<Num> carried) {
    rows.synchronize();
    rows.copyKeys(keys, e.operand(1), other);
    rows.copyKeys(values, e.operand(2), other);
    rows.copyKeys(transposedKeys, e.operand(1), other, /*transposed=*/true);
    rows.synchronize();
    FragmentsC scores = rows.products(queries, keys), products = rows.products(douts, values);
    Pairs pairs(rows);
    for (size_t j = 0; j < scores.size(); ++j)
      for (int64_t i = 0; i < 4; ++i)
        pairs.emit(scores[j][i], products[j][i], block, other,
                   {rows.rowOf(i / 2), rows.columnOf(j, i)}, lse[i / 2], delta[i / 2]);
    FragmentsC dq = unflatten(carried);
    rows.addMatmul(dq, products, transposedKeys);
    return flatten(dq);
  }

  KernelEmitter &e;
  MmaRows &rows;
  AttentionBlocks &blocks;
  HeadBlock block;
  Buffer memory;
  MmaTile keys, values, transposedKeys;
  FragmentsA queries, douts;
  Num lse[2], delta[2];
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
        douts(e, kOtherRows, blocks.size), transposedQueries(e, blocks.size, kOtherRows),
        transposedDouts(e, blocks.size, kOtherRows) {}

  void emit() {
    rows.copyKeys(keys, e.operand(1), block);
    rows.copyKeys(values, e.operand(2), block);
    int64_t group = blocks.heads / blocks.kvHeads, parts = blocks.size / kMmaColumns;
    Row initial = flatten(FragmentsC(2 * parts, zeroFragment(e)));
    // The last query that attends to the last key is `window` - 1 positions after it.
    Index last = minimum(block.first + block.count + (blocks.window - 2), e.index(blocks.seq - 1));
    // The first that attends to the first key is `ahead` positions before it.
    Index first = block.first;
    if (blocks.ahead > 0)
      first = maximum(first - e.index(blocks.ahead), e.index(0));
    Row sums = e.fold(e.index(0), e.index(group), initial, [&](Index head, ArrayRef<Num> ofGroup) {
      return e.fold(first / kOtherRows, last / kOtherRows + 1, ofGroup,
                    [&](Index number, ArrayRef<Num> carried) {
                      return emitIteration(
                          blockAt(rows, block.batch, block.head * group + head, number, kOtherRows),
                          carried);
                    });
    });
    FragmentsC all = unflatten(sums);
    auto place = [&](Index row) { return blocks.keyOffset(block, row); };
    rows.store(ArrayRef(all).take_front(parts), e.result(1), place, block.count,
               [&](int64_t) { return e.number(blocks.scale); });
    rows.store(ArrayRef(all).drop_front(parts), e.result(2), place, block.count,
               [&](int64_t) { return e.number(1.0); });
  }

private:
  /// Carried: the accumulators of dk, then those of dv.
  Row emitIteration(HeadBlock other, ArrayRef<Num> carried) {
    rows.synchronize();
    rows.copyQueries(queries, e.operand(0), other);
    rows.copyQueries(douts, e.operand(5), other);
    rows.copyQueries(transposedQueries, e.operand(0), other, /*transposed=*/true);
    rows.copyQueries(transposedDouts, e.operand(5), other, /*transposed=*/true);
    rows.synchronize();
    FragmentsC scores = rows.products(keys, queries), products = rows.products(values, douts);
    Pairs pairs(rows);
    for (size_t j = 0; j < scores.size(); ++j)
      for (int64_t column : {0, 1}) {
        Index query = rows.columnOf(j, column);
        Index place = blocks.statistic(other, minimum(query, other.count - 1));
        Num lse = e.load(e.operand(4), place), delta = e.load(e.workspace(), place);
        for (int64_t i : {column, column + 2})
          pairs.emit(scores[j][i], products[j][i], other, block, {query, rows.rowOf(i / 2)}, lse,
                     delta);
      }
    FragmentsC sums = unflatten(carried);
    FragmentsC dk(ArrayRef(sums).take_front(sums.size() / 2)),
        dv(ArrayRef(sums).drop_front(sums.size() / 2));
    rows.addMatmul(dk, products, transposedQueries);
    rows.addMatmul(dv, scores, transposedDouts);
    dk.append(dv);
    return flatten(dk);
  }

  KernelEmitter &e;
  MmaRows &rows;
  AttentionBlocks &blocks;
  HeadBlock block;
  MmaTile keys, values, queries, douts, transposedQueries, transposedDouts;
};

} // namespace

void llmmem::emitMmaAttention(AttentionGradOp op, KernelEmitter &e) {
  forBlocks(op, e, op.getHeads(), ByQueries::kExtent,
            [&](MmaRows &rows, HeadBlock block) { ByQueries(e, rows, block).emit(); });
  int64_t size = op.getQ().getType().getShape()[2] / static_cast<int64_t>(op.getHeads()),
          extent = ByKeys::extentFor(size);
  forBlocks(op, e, op.getKvHeads(), extent,
            [&](MmaRows &rows, HeadBlock block) { ByKeys(e, rows, block, extent).emit(); });
}
