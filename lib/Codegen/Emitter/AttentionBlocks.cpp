//===- AttentionBlocks.cpp - Blocks of queries and of keys ----------------===//

#include "AttentionBlocks.h"

using namespace mlir;
using namespace llmmem;

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

Buffer AttentionBlocks::reachesOf(HeadBlock queries) {
  if (!positions)
    return Buffer();
  Buffer reaches = e.scratch(extent, e.builder().getI32Type());
  forEach(e, extent,
          [&](Index i) { e.storeRaw(reaches, i, reachAsI32(queries.batch, queries.first + i)); });
  return reaches;
}
