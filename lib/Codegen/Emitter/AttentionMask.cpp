//===- AttentionMask.cpp - Which keys a query attends to, and where they lie -===//

#include "AttentionMask.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace llmmem;

Index AttentionMask::firstKeyOf(HeadBlock queries) {
  // Positions grow by 1 or restart, so no query of a block reaches further back than its first.
  Index before = positions ? reachOf(queries.batch, queries.first) - 1 : e.index(window - 1);
  return maximum(queries.first - before, e.index(0));
}

Terms AttentionMask::unmaskedKeys(HeadBlock queries, HeadBlock keys, Index first, Index last) {
  Index shift = queries.first - keys.first;
  return {maximum(shift + first - e.index(window - 1), e.index(0)),
          minimum(shift + last + (ahead + 1), keys.count)};
}

Terms AttentionMask::unmaskedQueries(HeadBlock queries, HeadBlock keys, Index first, Index last) {
  Index shift = keys.first - queries.first;
  return {maximum(shift + first - e.index(ahead), e.index(0)),
          minimum(shift + last + window, queries.count)};
}

Index AttentionMask::reachOf(Index batch, Index query) {
  Index position = e.loadIndex(positions, batch * seq + minimum(query, e.index(seq - 1)));
  return minimum(position + 1, e.index(std::min(window, seq)));
}

Value AttentionMask::reachAsI32(Index batch, Index query) {
  return arith::IndexCastOp::create(e.builder(), e.location(), e.builder().getI32Type(),
                                    reachOf(batch, query).value);
}

Value AttentionMask::reachOfOne(Index batch, Index query) {
  if (!positions)
    return Value();
  auto type = VectorType::get({e.lanes()}, e.builder().getI32Type());
  return vector::BroadcastOp::create(e.builder(), e.location(), type, reachAsI32(batch, query));
}

Value AttentionMask::reachAt(Buffer reaches, Index i) {
  return reaches ? e.loadRaw(reaches, i, e.lanes()) : Value();
}

/// Computes -ahead <= query - key < window in one comparison without signs; a reach is at most the
/// window.
Value AttentionMask::isUnmasked(Index query, Index key, Lanes lanes, Value reach) {
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

Value AttentionMask::isKept(HeadBlock queries, Index i, Index key, Lanes lanes) {
  return isKept(queries, i, key, lanes, e.lanes());
}

Value AttentionMask::isKept(HeadBlock queries, Index i, Index key, Lanes direction,
                            unsigned lanes) {
  if (!philox)
    return Value();
  return philox->keeps(statistic(queries, i) * seq + key, lanes, p,
                       direction == Lanes::Queries ? seq : 1);
}

Value AttentionMask::isPairKept(HeadBlock queries, Index i, Index key) {
  return philox ? philox->keeps(statistic(queries, i) * seq + key, 1, p) : Value();
}

Num AttentionMask::dropped(Value kept, Num x) {
  return kept ? select(kept, x * (1.0 / (1.0 - p)), x.like(0.0)) : x;
}
