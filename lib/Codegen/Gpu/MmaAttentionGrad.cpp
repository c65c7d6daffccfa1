//===- MmaAttentionGrad.cpp - The backward of attention on tensor cores ----===//
//
// Probabilities are drawn again from lse, once by blocks of queries and once by blocks of keys.
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

/// What both launches make of scores and of dout . value.
class Pairs {
public:
  Pairs(MmaRows &rows) : rows(rows), e(rows.e), blocks(rows.blocks) {}

  /// scores become what is multiplied by dout for dv: the probabilities, as dropped; products
  /// become the gradients of the scores before their scale.
  void emit(Num &score, Num &product, HeadBlock queries, HeadBlock keys, Pair pair, Num lse,
            Num delta) {
    Value seen = rows.isVisible(queries.first + pair.query, keys.first + pair.key);
    Num probability = select(seen, exp(score * blocks.scale - lse), e.number(0.0));
    Value kept = blocks.isKept(queries, pair.query, keys.first + pair.key,
                               AttentionBlocks::Lanes::Keys, /*lanes=*/1);
    product = probability * (blocks.dropped(kept, product) - delta);
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

/// 64 queries, 16 a warp, meet 32 keys at a time.
class ByQueries {
public:
  static constexpr int64_t kExtent = 64, kMet = 32;

  ByQueries(KernelEmitter &e, MmaRows &rows, HeadBlock block)
      : e(e), rows(rows), blocks(rows.blocks), block(block),
        memory(deviceLoops(e).workgroup(e, elements(blocks.size), e.builder().getBF16Type())),
        keys(memory, 0, kMet, blocks.size), values(memory, keys.end(), kMet, blocks.size),
        turnedKeys(memory, values.end(), blocks.size, kMet) {}

  void emit() {
    queries = readRows(e.operand(0));
    douts = readRows(e.operand(5));
    emitStatistics(readRows(e.operand(3)));
    Row initial = flatten(FragmentsC(blocks.size / kMmaColumns, zeroFragment(e)));
    auto [begin, end] = keysSeen(rows, block, kMet);
    Row dq = e.fold(begin, end, initial, [&](Index number, ArrayRef<Num> carried) -> Row {
      return emitMeeting(keyBlock(rows, block, number, kMet), carried);
    });
    rows.store(
        unflatten(dq), e.result(0), [&](Index r) { return blocks.wide(block, r); }, block.count,
        [&](int64_t) { return e.number(blocks.scale); });
  }

private:
  /// One tile of queries, or two of keys and one of turned keys, at different times.
  static int64_t elements(int64_t size) {
    return std::max(MmaTile::sizeOf(kExtent, size),
                    2 * MmaTile::sizeOf(kMet, size) + MmaTile::sizeOf(size, kMet));
  }

  FragmentsA readRows(Buffer from) {
    MmaTile tile(memory, 0, kExtent, blocks.size);
    rows.meet();
    rows.copyQueries(tile, from, block);
    rows.meet();
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
      // Rows behind the last have no lse of their own, and meet no key.
      lse[half] = e.load(e.operand(4), blocks.statistic(block, minimum(row, block.count - 1)));
      Value isFirst = equal(rows.lane.pair, e.index(0));
      e.ifThen(arith::AndIOp::create(e.builder(), e.location(), isFirst, less(row, block.count)),
               [&] { e.store(e.workspace(), blocks.statistic(block, row), delta[half]); });
    }
  }

  Row emitMeeting(HeadBlock met, ArrayRef<Num> carried) {
    rows.meet();
    rows.copyKeys(keys, e.operand(1), met);
    rows.copyKeys(values, e.operand(2), met);
    rows.copyKeys(turnedKeys, e.operand(1), met, /*turned=*/true);
    rows.meet();
    FragmentsC scores = rows.products(queries, keys), products = rows.products(douts, values);
    Pairs pairs(rows);
    for (size_t j = 0; j < scores.size(); ++j)
      for (int64_t i = 0; i < 4; ++i)
        pairs.emit(scores[j][i], products[j][i], block, met,
                   {rows.rowOf(i / 2), rows.columnOf(j, i)}, lse[i / 2], delta[i / 2]);
    FragmentsC dq = unflatten(carried);
    rows.addProducts(dq, products, turnedKeys);
    return flatten(dq);
  }

  KernelEmitter &e;
  MmaRows &rows;
  AttentionBlocks &blocks;
  HeadBlock block;
  Buffer memory;
  MmaTile keys, values, turnedKeys;
  FragmentsA queries, douts;
  Num lse[2], delta[2];
};

//===----------------------------------------------------------------------===//
// By keys
//===----------------------------------------------------------------------===//

/// 64 keys (32 where heads are wide), 16 a warp, meet 16 queries at a time, head after head of
/// the group. Keys and values stay in workgroup memory: the sums fill the registers.
class ByKeys {
public:
  static constexpr int64_t kMet = 16;
  static int64_t extentFor(int64_t size) { return size <= 64 ? 64 : 32; }

  ByKeys(KernelEmitter &e, MmaRows &rows, HeadBlock block, int64_t extent)
      : e(e), rows(rows), blocks(rows.blocks), block(block), keys(e, extent, blocks.size),
        values(e, extent, blocks.size), queries(e, kMet, blocks.size), douts(e, kMet, blocks.size),
        turnedQueries(e, blocks.size, kMet), turnedDouts(e, blocks.size, kMet) {}

  void emit() {
    rows.copyKeys(keys, e.operand(1), block);
    rows.copyKeys(values, e.operand(2), block);
    int64_t group = blocks.heads / blocks.kvHeads, parts = blocks.size / kMmaColumns;
    Row initial = flatten(FragmentsC(2 * parts, zeroFragment(e)));
    // Whoever sees the last key sees at most the `window` next ones.
    Index last = minimum(block.first + block.count + (blocks.window - 2), e.index(blocks.seq - 1));
    Row sums = e.fold(e.index(0), e.index(group), initial, [&](Index head, ArrayRef<Num> ofGroup) {
      return e.fold(
          block.first / kMet, last / kMet + 1, ofGroup, [&](Index number, ArrayRef<Num> carried) {
            return emitMeeting(blockAt(rows, block.batch, block.head * group + head, number, kMet),
                               carried);
          });
    });
    FragmentsC all = unflatten(sums);
    auto place = [&](Index row) { return blocks.narrow(block, row); };
    rows.store(ArrayRef(all).take_front(parts), e.result(1), place, block.count,
               [&](int64_t) { return e.number(blocks.scale); });
    rows.store(ArrayRef(all).drop_front(parts), e.result(2), place, block.count,
               [&](int64_t) { return e.number(1.0); });
  }

private:
  /// Carried: the sums of dk, then those of dv.
  Row emitMeeting(HeadBlock met, ArrayRef<Num> carried) {
    rows.meet();
    rows.copyQueries(queries, e.operand(0), met);
    rows.copyQueries(douts, e.operand(5), met);
    rows.copyQueries(turnedQueries, e.operand(0), met, /*turned=*/true);
    rows.copyQueries(turnedDouts, e.operand(5), met, /*turned=*/true);
    rows.meet();
    FragmentsC scores = rows.products(keys, queries), products = rows.products(values, douts);
    Pairs pairs(rows);
    for (size_t j = 0; j < scores.size(); ++j)
      for (int64_t column : {0, 1}) {
        Index query = rows.columnOf(j, column);
        Index place = blocks.statistic(met, minimum(query, met.count - 1));
        Num lse = e.load(e.operand(4), place), delta = e.load(e.workspace(), place);
        for (int64_t i : {column, column + 2})
          pairs.emit(scores[j][i], products[j][i], met, block, {query, rows.rowOf(i / 2)}, lse,
                     delta);
      }
    FragmentsC sums = unflatten(carried);
    FragmentsC dk(ArrayRef(sums).take_front(sums.size() / 2)),
        dv(ArrayRef(sums).drop_front(sums.size() / 2));
    rows.addProducts(dk, products, turnedQueries);
    rows.addProducts(dv, scores, turnedDouts);
    dk.append(dv);
    return flatten(dk);
  }

  KernelEmitter &e;
  MmaRows &rows;
  AttentionBlocks &blocks;
  HeadBlock block;
  MmaTile keys, values, queries, douts, turnedQueries, turnedDouts;
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
