//===- AttentionBlocks.cpp - Blocks of queries and of keys ----------------===//

#include "AttentionBlocks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace llmmem;

//===----------------------------------------------------------------------===//
// Loops over blocks
//===----------------------------------------------------------------------===//

HeadBlock AttentionBlocks::blockAt(Index b, Index head, Index number) {
  Index first = number * extent;
  return {b, head, first, minimum(e.index(extent), e.index(seq) - first)};
}

void AttentionBlocks::forBlocks(int64_t headCount, Body body) {
  int64_t blocks = llvm::divideCeil(seq, extent);
  forEachParallel(e, batch * headCount * blocks, [&](Index iteration) {
    Index head = iteration / blocks;
    body(blockAt(head / headCount, head % headCount, iteration % blocks));
  });
}

void AttentionBlocks::forUnmaskedKeys(HeadBlock queries, Body body) {
  foldUnmaskedKeys(queries, {}, [&](HeadBlock other, ArrayRef<Num>) {
    body(other);
    return Row();
  });
}

void AttentionBlocks::forUnmaskedQueries(HeadBlock keys, Body body) {
  foldUnmaskedQueries(keys, {}, [&](HeadBlock other, ArrayRef<Num>) {
    body(other);
    return Row();
  });
}

Index AttentionBlocks::firstKeyOf(HeadBlock queries) {
  // Positions grow by 1 or restart, so no query of a block reaches further back than its first.
  Index before = positions ? reachOf(queries.batch, queries.first) - 1 : e.index(window - 1);
  return maximum(queries.first - before, e.index(0));
}

Row AttentionBlocks::foldUnmaskedKeys(HeadBlock queries, ArrayRef<Num> initial, FoldBody body) {
  Index lowest = firstKeyOf(queries);
  Index highest = queries.first;
  if (ahead > 0)
    highest = minimum(queries.first + queries.count + (ahead - 1), e.index(seq - 1));
  return fold(e, lowest / extent, highest / extent + 1, initial,
              [&](Index number, ArrayRef<Num> carried) {
                return body(blockAt(queries.batch, queries.head / group(), number), carried);
              });
}

Row AttentionBlocks::foldUnmaskedQueries(HeadBlock keys, ArrayRef<Num> initial, FoldBody body) {
  Index highest = minimum(keys.first + keys.count + (window - 2), e.index(seq - 1));
  Index lowest = ahead > 0 ? maximum(keys.first - e.index(ahead), e.index(0)) : keys.first;
  Index firstHead = keys.head * group();
  return fold(e, firstHead, firstHead + group(), initial, [&](Index head, ArrayRef<Num> ofHead) {
    return fold(e, lowest / extent, highest / extent + 1, ofHead,
                [&](Index number, ArrayRef<Num> carried) {
                  return body(blockAt(keys.batch, head, number), carried);
                });
  });
}

//===----------------------------------------------------------------------===//
// The mask
//===----------------------------------------------------------------------===//

Terms AttentionBlocks::unmaskedKeys(HeadBlock queries, HeadBlock keys, Index first, Index last) {
  Index shift = queries.first - keys.first;
  return {maximum(shift + first - e.index(window - 1), e.index(0)),
          minimum(shift + last + (ahead + 1), keys.count)};
}

Terms AttentionBlocks::unmaskedQueries(HeadBlock queries, HeadBlock keys, Index first, Index last) {
  Index shift = keys.first - queries.first;
  return {maximum(shift + first - e.index(ahead), e.index(0)),
          minimum(shift + last + window, queries.count)};
}

Index AttentionBlocks::reachOf(Index batch, Index query) {
  Index position = e.loadIndex(positions, batch * seq + minimum(query, e.index(seq - 1)));
  return minimum(position + 1, e.index(std::min(window, seq)));
}

static Value toInteger(KernelEmitter &e, Index index) {
  return arith::IndexCastOp::create(e.builder(), e.location(), e.builder().getI32Type(),
                                    index.value);
}

Value AttentionBlocks::reachOfOne(Index batch, Index query) {
  if (!positions)
    return Value();
  auto type = VectorType::get({e.lanes()}, e.builder().getI32Type());
  return vector::BroadcastOp::create(e.builder(), e.location(), type,
                                     toInteger(e, reachOf(batch, query)));
}

Buffer AttentionBlocks::reachesOf(HeadBlock queries) {
  if (!positions)
    return Buffer();
  Buffer reaches = e.scratch(extent, e.builder().getI32Type());
  forEach(e, extent, [&](Index i) {
    e.storeRaw(reaches, i, toInteger(e, reachOf(queries.batch, queries.first + i)));
  });
  return reaches;
}

Value AttentionBlocks::reachAt(Buffer reaches, Index i) {
  return reaches ? e.loadRaw(reaches, i, e.lanes()) : Value();
}

/// Computes -ahead <= query - key < window in one comparison without signs; a reach is at most the
/// window.
Value AttentionBlocks::isUnmasked(Index query, Index key, Lanes lanes, Value reach) {
  OpBuilder &builder = e.builder();
  Value distance = (ahead > 0 ? query + ahead - key : query - key).value;
  Location loc = distance.getLoc();
  auto type = VectorType::get({e.lanes()}, builder.getI32Type());
  SmallVector<int32_t> steps;
  for (int32_t lane = 0; lane < static_cast<int32_t>(e.lanes()); ++lane)
    steps.push_back(lanes == Lanes::Queries ? lane : -lane);
  auto constant = [&](DenseElementsAttr attribute) -> Value {
    return arith::ConstantOp::create(builder, loc, attribute);
  };
  Value first = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), distance);
  Value distances =
      arith::AddIOp::create(builder, loc, vector::BroadcastOp::create(builder, loc, type, first),
                            constant(DenseElementsAttr::get(type, ArrayRef<int32_t>(steps))));
  if (!reach)
    reach =
        constant(DenseElementsAttr::get(type, static_cast<int32_t>(std::min(window, seq) + ahead)));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, distances, reach);
}

Value AttentionBlocks::isKept(HeadBlock queries, Index i, Index key, Lanes lanes) {
  return isKept(queries, i, key, lanes, e.lanes());
}

Value AttentionBlocks::isKept(HeadBlock queries, Index i, Index key, Lanes direction,
                              unsigned lanes) {
  if (!philox)
    return Value();
  return philox->keeps(statistic(queries, i) * seq + key, lanes, p,
                       direction == Lanes::Queries ? seq : 1);
}

Value AttentionBlocks::isPairKept(HeadBlock queries, Index i, Index key) {
  return philox ? philox->keeps(statistic(queries, i) * seq + key, 1, p) : Value();
}

Num AttentionBlocks::dropped(Value kept, Num x) {
  return kept ? select(kept, x * (1.0 / (1.0 - p)), x.like(0.0)) : x;
}
