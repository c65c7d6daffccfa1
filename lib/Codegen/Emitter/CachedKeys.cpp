//===- CachedKeys.cpp - The keys that a new token attends to --------------===//

#include "CachedKeys.h"
#include "llmmem/Dialect/FewerBits.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

/// Returns an operand, with number `ofScales` of the op's scales where it has any.
static HeldBuffer heldRows(KernelEmitter &e, OpOperand &rows, MutableOperandRange scales,
                           unsigned ofScales) {
  if (scales.empty())
    return {e.operand(rows)};
  Type element = cast<RankedTensorType>(rows.get().getType()).getElementType();
  return {e.operand(rows),
          e.operand(scales[ofScales]),
          Buffer(),
          {element, groupSizeOf(rows.get(), scales[ofScales].get())}};
}

CachedSizes::CachedSizes(CachedAttentionOp op)
    : batch(op.getQ().getType().getDimSize(0)), seq(op.getQ().getType().getDimSize(1)),
      heads(op.getHeads()), kvHeads(op.getKvHeads()),
      size(op.getQ().getType().getDimSize(2) / heads), valueSize(size),
      scale(op.getScale().convertToDouble()),
      cap(op.getSoftcap() ? op.getSoftcap()->convertToDouble() : 0.0), reach(op.getReach()) {
  divideHeads();
}

CachedSizes::CachedSizes(LatentAttentionOp op)
    : batch(op.getQ().getType().getDimSize(0)), seq(op.getQ().getType().getDimSize(1)),
      heads(op.getHeads()), kvHeads(1), size(op.getRow().getType().getDimSize(2)),
      valueSize(op.getRank()), scale(op.getScale().convertToDouble()), cap(0.0),
      reach(op.getCapacity()) {
  divideHeads();
}

void CachedSizes::divideHeads() {
  tile = std::min(kMostHeads, heads / kvHeads);
  while (heads / kvHeads % tile != 0)
    --tile;
  tiles = heads / kvHeads / tile;
}

CachedBuffers::CachedBuffers(CachedAttentionOp op, KernelEmitter &e)
    : q(e.operand(0)), positions(e.operand(5)), table(e.operand(op.getTableMutable())),
      sinks(e.operand(op.getSinksMutable())), out(e.result(0)),
      k(heldRows(e, op.getKMutable(), op.getScalesMutable(), 0)),
      v(heldRows(e, op.getVMutable(), op.getScalesMutable(), 1)),
      keys(heldRows(e, op.getKeysMutable(), op.getScalesMutable(), 2)),
      values(heldRows(e, op.getValuesMutable(), op.getScalesMutable(), 3)) {}

CachedBuffers::CachedBuffers(LatentAttentionOp op, KernelEmitter &e)
    : q(e.operand(0)), positions(e.operand(3)), table(e.operand(op.getTableMutable())),
      out(e.result(0)), k(heldRows(e, op.getRowMutable(), op.getScalesMutable(), 0)), v(k),
      keys(heldRows(e, op.getRowsMutable(), op.getScalesMutable(), 1)), values(keys) {}

CachedKeys::CachedKeys(CachedAttentionOp op, KernelEmitter &e)
    : CachedSizes(op), CachedBuffers(op, e), e(e), rows(op.getKeys().getType().getDimSize(1)),
      capacity(op.getCapacity()), isRing(op.getWindow().has_value()) {}

CachedKeys::CachedKeys(LatentAttentionOp op, KernelEmitter &e)
    : CachedSizes(op), CachedBuffers(op, e), e(e), rows(op.getRows().getType().getDimSize(1)),
      capacity(op.getCapacity()), isRing(false) {}

CachedQuery CachedKeys::queryAt(Index number) {
  Index kvHead = number / tiles % kvHeads;
  Index firstHead = kvHead * (heads / kvHeads) + number % tiles * tile;
  return queryOf(number / (kvHeads * tiles), kvHead, firstHead);
}

CachedQuery CachedKeys::queryOf(Index token, Index kvHead, Index firstHead) {
  Index b = token / seq;
  Index position = e.loadIndex(positions, token), first = e.loadIndex(positions, b * seq);
  Index end = position + 1; // It is 0 where there is no position.
  return {b, token, kvHead, firstHead, maximum(end - reach, e.index(0)), end, first};
}

KeyBlock CachedKeys::blockAt(const CachedQuery &query, Index number) {
  Index start = number * kBlock;
  Index begin = maximum(start, query.begin), end = minimum(start + kBlock, query.end);
  return {start, begin, minimum(maximum(query.fresh, begin), end), end};
}

Index CachedKeys::cachedPlace(const CachedQuery &query, Index j) {
  Index slot = isRing ? j % capacity : minimum(j, e.index(capacity - 1));
  Index row = query.batch * rows + slot;
  if (table) {
    int64_t ofSequence = capacity / rows, pages = keys.payload.size / (rows * kvHeads * size);
    Index page = e.loadIndex(table, query.batch * ofSequence + slot / rows);
    row = minimum(maximum(page, e.index(0)), e.index(pages - 1)) * rows + slot % rows;
  }
  return (row * kvHeads + query.kvHead) * size;
}

Index CachedKeys::freshPlace(const CachedQuery &query, Index j) {
  return ((query.batch * seq + (j - query.fresh)) * kvHeads + query.kvHead) * size;
}

Num CachedKeys::firstLargest(const CachedQuery &query, Index h) {
  return sinks ? e.load(sinks, query.firstHead + h) : e.number(lowestScore(e));
}
