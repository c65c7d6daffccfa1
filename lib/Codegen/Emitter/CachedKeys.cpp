//===- CachedKeys.cpp - The keys that a new token attends to --------------===//

#include "CachedKeys.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

CachedKeys::CachedKeys(CachedAttentionOp op, KernelEmitter &e)
    : e(e), batch(op.getQ().getType().getDimSize(0)), seq(op.getQ().getType().getDimSize(1)),
      heads(op.getHeads()), kvHeads(op.getKvHeads()),
      size(op.getQ().getType().getDimSize(2) / heads), scale(op.getScale().convertToDouble()),
      cap(op.getSoftcap() ? op.getSoftcap()->convertToDouble() : 0.0), q(e.operand(0)),
      k(e.operand(1)), v(e.operand(2)), keys(e.operand(3)), values(e.operand(4)),
      positions(e.operand(5)), table(e.operand(op.getTableMutable())), out(e.result(0)),
      tile(std::min(kMostHeads, heads / kvHeads)), rows(op.getKeys().getType().getDimSize(1)),
      capacity(op.getCapacity()), reach(op.getReach()), isRing(op.getWindow().has_value()) {
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
    int64_t ofSequence = capacity / rows, pages = keys.size / (rows * kvHeads * size);
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
