//===- MmaBlocks.h - Blocks of attention as blocks of threads -------------===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_MMABLOCKS_H
#define LLMMEM_LIB_CODEGEN_GPU_MMABLOCKS_H

#include "MmaRows.h"

namespace llmmem {

/// Returns the part of `head`'s rows that begins at `extent` times `number`.
inline HeadBlock blockAt(MmaRows &rows, Index batch, Index head, Index number, int64_t extent) {
  KernelEmitter &e = rows.e;
  Index first = number * extent, whole = e.index(extent);
  bool areWhole = rows.blocks.seq % extent == 0;
  return {batch, head, first, areWhole ? whole : minimum(whole, e.index(rows.blocks.seq) - first)};
}

/// Says which blocks of rows of causal attention take longest: the last ones of queries, which
/// attend to most keys, or the first ones of keys.
enum class Longest { First, Last };

/// Calls `body` for each block of `extent` neighbouring rows of each head, one block of the launch
/// each. Those that take longest begin first, so that only short ones run at the end of the launch.
template <typename Op>
void forBlocks(Op op, KernelEmitter &e, int64_t headCount, int64_t extent, Longest longest,
               llvm::function_ref<void(MmaRows &, HeadBlock)> body, int64_t dynamicBytes = 0) {
  llvm::ArrayRef<int64_t> shape = op.getQ().getType().getShape();
  int64_t perHead = llvm::divideCeil(shape[1], extent), heads = shape[0] * headCount;
  int64_t threads = extent / kMmaRows * kWarp;
  auto emitBlock = [&](Index block, Index thread) {
    AttentionBlocks blocks(op, e);
    MmaRows rows(blocks, thread, threads);
    Index head = block % heads, number = block / heads;
    if (longest == Longest::Last)
      number = e.index(perHead - 1) - number;
    body(rows, blockAt(rows, head / headCount, head % headCount, number, extent));
  };
  deviceLoops(e).launch(e, heads * perHead, threads, emitBlock, dynamicBytes);
}

/// Returns `extent` keys of the head that `queries` belong to, from `extent` times `number` on.
inline HeadBlock keyBlock(MmaRows &rows, HeadBlock queries, Index number, int64_t extent) {
  int64_t group = rows.blocks.heads / rows.blocks.kvHeads;
  return blockAt(rows, queries.batch, queries.head / group, number, extent);
}

/// Returns the blocks of `extent` keys that some of `queries` attend to: [first, second).
inline std::pair<Index, Index> unmaskedKeys(MmaRows &rows, HeadBlock queries, int64_t extent) {
  KernelEmitter &e = rows.e;
  Index lowest = rows.blocks.firstKeyOf(queries);
  Index end = queries.first + queries.count;
  if (rows.blocks.ahead > 0)
    end = minimum(end + rows.blocks.ahead, e.index(rows.blocks.seq));
  return {lowest / extent, ceilDiv(end, e.index(extent))};
}

/// Returns the blocks of `extent` queries that attend to some of `keys`: [first, second).
inline std::pair<Index, Index> unmaskedQueries(MmaRows &rows, HeadBlock keys, int64_t extent) {
  KernelEmitter &e = rows.e;
  AttentionBlocks &blocks = rows.blocks;
  // The last query that attends to the last key is `window` - 1 positions after it.
  Index last = minimum(keys.first + keys.count + (blocks.window - 2), e.index(blocks.seq - 1));
  // The first that attends to the first key is `ahead` positions before it.
  Index first = keys.first;
  if (blocks.ahead > 0)
    first = maximum(first - e.index(blocks.ahead), e.index(0));
  return {first / extent, last / extent + 1};
}

/// Stores the gradients of a block's keys: the accumulators of dk, then those of dv.
inline void storeKeyGradients(MmaRows &rows, HeadBlock keys, llvm::ArrayRef<FragmentC> sums) {
  KernelEmitter &e = rows.e;
  auto store = [&](llvm::ArrayRef<FragmentC> own, Buffer to, double factor) {
    rows.store(
        own, to, [&](Index row) { return rows.blocks.keyOffset(to, keys, row); }, keys.count,
        [&](int64_t) { return e.number(factor); });
  };
  store(sums.take_front(sums.size() / 2), e.result(1), rows.blocks.scale);
  store(sums.drop_front(sums.size() / 2), e.result(2), 1.0);
}

/// Stores the gradients of a block's queries.
inline void storeQueryGradients(MmaRows &rows, HeadBlock queries, llvm::ArrayRef<FragmentC> sums) {
  Buffer dq = rows.e.result(0);
  rows.store(
      sums, dq, [&](Index row) { return rows.blocks.queryOffset(dq, queries, row); }, queries.count,
      [&](int64_t) { return rows.e.number(rows.blocks.scale); });
}

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_MMABLOCKS_H
