//===- CachedKeys.cpp - The keys that a new token attends to --------------===//

#include "CachedKeys.h"
#include "llmmem/Dialect/FewerBits.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

/// Number `number` of k, v, keys and values, with its scales, one for each head of a row.
static HeldBuffer heldRows(CachedAttentionOp op, KernelEmitter &e, unsigned number) {
  OpOperand &rows = op->getOpOperand(1 + number);
  MutableOperandRange scales = op.getScalesMutable();
  if (scales.empty())
    return {e.operand(rows)};
  Type element = cast<RankedTensorType>(rows.get().getType()).getElementType();
  return {e.operand(rows),
          e.operand(scales[number]),
          Buffer(),
          {element, groupSizeOf(rows.get(), scales[number].get())}};
}

CachedKeys::CachedKeys(CachedAttentionOp op, KernelEmitter &e)
    : e(e), batch(op.getQ().getType().getDimSize(0)), seq(op.getQ().getType().getDimSize(1)),
      heads(op.getHeads()), kvHeads(op.getKvHeads()),
      size(op.getQ().getType().getDimSize(2) / heads), scale(op.getScale().convertToDouble()),
      cap(op.getSoftcap() ? op.getSoftcap()->convertToDouble() : 0.0), q(e.operand(0)),
      positions(e.operand(5)), table(e.operand(op.getTableMutable())), out(e.result(0)),
      k(heldRows(op, e, 0)), v(heldRows(op, e, 1)), keys(heldRows(op, e, 2)),
      values(heldRows(op, e, 3)), tile(std::min(kMostHeads, heads / kvHeads)),
      rows(op.getKeys().getType().getDimSize(1)), capacity(op.getCapacity()), reach(op.getReach()),
      isRing(op.getWindow().has_value()) {
  while (heads / kvHeads % tile != 0)
    --tile;
  tiles = heads / kvHeads / tile;
}

CachedQuery CachedKeys::queryAt(Index number) {
  Index token = number / (kvHeads * tiles), b = token / seq;
  Index kvHead = number / tiles % kvHeads;
  Index position = e.loadIndex(positions, token), first = e.loadIndex(positions, b * seq);
  Index end = position + 1; // 0 where there is no position
  return {b,
          token,
          kvHead,
          kvHead * (heads / kvHeads) + number % tiles * tile,
          maximum(end - reach, e.index(0)),
          end,
          first};
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

Num CachedKeys::lowest() {
  const llvm::fltSemantics &semantics = e.computeType().getFloatSemantics();
  return e.number(APFloat::getLargest(semantics, /*Negative=*/true).convertToDouble());
}
