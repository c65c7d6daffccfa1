//===- MmaBlocks.h - Blocks of attention as blocks of threads -------------===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_MMABLOCKS_H
#define LLMMEM_LIB_CODEGEN_GPU_MMABLOCKS_H

#include "MmaRows.h"

namespace llmmem {

/// Calls `body` for each block of `extent` neighbouring rows of each head, one block of the launch
/// each.
template <typename Op>
void forBlocks(Op op, KernelEmitter &e, int64_t headCount, int64_t extent,
               llvm::function_ref<void(MmaRows &, HeadBlock)> body) {
  llvm::ArrayRef<int64_t> shape = op.getQ().getType().getShape();
  int64_t seq = shape[1], perHead = llvm::divideCeil(seq, extent);
  int64_t threads = extent / kMmaRows * kWarp;
  deviceLoops(e).launch(e, shape[0] * headCount * perHead, threads, [&](Index block, Index thread) {
    AttentionBlocks blocks(op, e);
    MmaRows rows(blocks, thread, threads);
    Index head = block / perHead, first = block % perHead * extent;
    body(rows, {head / headCount, head % headCount, first,
                minimum(e.index(extent), e.index(seq) - first)});
  });
}

/// The part of `head`'s rows from `extent` times `number` on.
inline HeadBlock blockAt(MmaRows &rows, Index batch, Index head, Index number, int64_t extent) {
  Index first = number * extent;
  return {batch, head, first, minimum(rows.e.index(extent), rows.e.index(rows.blocks.seq) - first)};
}

/// `extent` keys of the head that `queries` belong to, from `extent` times `number` on.
inline HeadBlock keyBlock(MmaRows &rows, HeadBlock queries, Index number, int64_t extent) {
  int64_t group = rows.blocks.heads / rows.blocks.kvHeads;
  return blockAt(rows, queries.batch, queries.head / group, number, extent);
}

/// The blocks of `extent` keys that some of `queries` attend to: [first, second).
inline std::pair<Index, Index> unmaskedKeys(MmaRows &rows, HeadBlock queries, int64_t extent) {
  KernelEmitter &e = rows.e;
  Index lowest = rows.blocks.firstKeyOf(queries);
  Index end = queries.first + queries.count;
  if (rows.blocks.ahead > 0)
    end = minimum(end + rows.blocks.ahead, e.index(rows.blocks.seq));
  return {lowest / extent, ceilDiv(end, e.index(extent))};
}

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_MMABLOCKS_H
