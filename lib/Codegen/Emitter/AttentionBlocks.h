//===- AttentionBlocks.h - Blocks of queries and of keys ------------------===//
//
// The blocks of a head, and the pairs of blocks that the mask leaves. Example: 130 queries in f32
// are blocks of 64, 64 and 2; without a window block 1 of the queries attends to blocks 0 and 1 of
// the keys.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_EMITTER_ATTENTIONBLOCKS_H
#define LLMMEM_LIB_CODEGEN_EMITTER_ATTENTIONBLOCKS_H

#include "AttentionMask.h"

namespace llmmem {

class AttentionBlocks : public AttentionMask {
public:
  /// A whole block has `rows` rows; 0 lets the vectors of a CPU decide.
  template <typename Op>
  AttentionBlocks(Op op, KernelEmitter &e, int64_t rows = 0)
      : AttentionMask(op, e),
        extent(rows > 0 ? rows : std::min<int64_t>(llvm::alignTo(seq, e.lanes()), 4 * e.lanes())) {}

  using Body = llvm::function_ref<void(HeadBlock)>;
  /// Visit each block of queries, and each block of keys; iterations have disjoint rows.
  void forEachOfQueries(Body body) { forBlocks(heads, body); }
  void forEachOfKeys(Body body) { forBlocks(kvHeads, body); }
  /// Visits the blocks of keys that are not masked entirely for `queries`.
  void forUnmaskedKeys(HeadBlock queries, Body body);
  /// Visits the blocks of queries, in the order of the heads of the group, for which `keys` are not
  /// masked entirely.
  void forUnmaskedQueries(HeadBlock keys, Body body);
  /// Do the same with carried values.
  using FoldBody = llvm::function_ref<Row(HeadBlock, llvm::ArrayRef<Num>)>;
  Row foldUnmaskedKeys(HeadBlock queries, llvm::ArrayRef<Num> initial, FoldBody body);
  Row foldUnmaskedQueries(HeadBlock keys, llvm::ArrayRef<Num> initial, FoldBody body);

  /// Returns the reaches of a block's queries, in scratch memory; a null buffer except for packed
  /// rows.
  Buffer reachesOf(HeadBlock queries);

  Panel rowPanel() { return makePanel(e, extent, size); }
  Panel transposedPanel() { return makePanel(e, size, extent); }
  Panel pairPanel() { return makePanel(e, extent, extent); }
  void loadQueries(Panel to, Buffer from, HeadBlock block) {
    loadPanel(e, to, from, [&](Index r) { return queryOffset(from, block, r); }, block.count);
  }
  void loadKeys(Panel to, Buffer from, HeadBlock block) {
    loadPanel(e, to, from, [&](Index r) { return keyOffset(from, block, r); }, block.count);
  }

  /// Counts the rows of a whole block.
  const int64_t extent;

protected:
  HeadBlock blockAt(Index b, Index head, Index number);

private:
  void forBlocks(int64_t headCount, Body body);
};

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_EMITTER_ATTENTIONBLOCKS_H
