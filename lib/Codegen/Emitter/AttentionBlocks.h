//===- AttentionBlocks.h - Blocks of queries and of keys ------------------===//
//
// The forward and the backward of attention share this code: the blocks of a head, the pairs of
// blocks that the mask leaves, the places of rows, the mask of a pair, and what dropout keeps.
// Example: 130 queries in f32 are blocks of 64, 64 and 2; without a window block 1 of the queries
// attends to blocks 0 and 1 of the keys. Where a row packs several sequences, the position of a
// query in its own sequence says how many previous keys it attends to.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_EMITTER_ATTENTIONBLOCKS_H
#define LLMMEM_LIB_CODEGEN_EMITTER_ATTENTIONBLOCKS_H

#include "Panels.h"
#include "Philox.h"
#include "Softcap.h"

namespace llmmem {

/// Describes neighbouring positions of one head: a query head, or the key/value head of a group.
struct HeadBlock {
  Index batch, head, first, count;
};

class AttentionBlocks {
public:
  /// Reads the seed at the emitter's insertion point. A whole block has `rows` rows; 0 lets the
  /// vectors of a CPU decide.
  template <typename Op>
  AttentionBlocks(Op op, KernelEmitter &e, int64_t rows = 0)
      : e(e), batch(op.getQ().getType().getShape()[0]), seq(op.getQ().getType().getShape()[1]),
        heads(op.getHeads()), kvHeads(op.getKvHeads()),
        size(op.getQ().getType().getShape()[2] / heads), window(op.getWindow().value_or(seq)),
        ahead(op.getBidirectional() ? seq - 1 : 0),
        extent(rows > 0 ? rows : std::min<int64_t>(llvm::alignTo(seq, e.lanes()), 4 * e.lanes())),
        scale(op.getScale().convertToDouble()), p(op.getP().convertToDouble()),
        cap(op.getSoftcap() ? op.getSoftcap()->convertToDouble() : 0.0),
        positions(e.operand(op.getPositionsMutable())) {
    if (p > 0.0)
      philox.emplace(e, e.operand(op.getSeedMutable()[0]));
  }

  //===--------------------------------------------------------------------===//
  // Loops over blocks
  //===--------------------------------------------------------------------===//

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

  //===--------------------------------------------------------------------===//
  // The mask
  //===--------------------------------------------------------------------===//

  /// Returns the terms of a sum over keys (rows of `keys`) that some of the rows `first` to `last`
  /// of `queries` attend to: the others have the probability 0.
  Terms unmaskedKeys(HeadBlock queries, HeadBlock keys, Index first, Index last);
  /// Does the same for a sum over queries that rows `first` to `last` of `keys` need.
  Terms unmaskedQueries(HeadBlock queries, HeadBlock keys, Index first, Index last);
  Terms wholeRow() { return {e.index(0), e.index(size)}; }

  /// Says what lies along the lanes: neighbouring queries, or neighbouring keys.
  enum class Lanes { Queries, Keys };
  /// Returns for each lane from (query, key) on whether the query attends to the key. For packed
  /// rows `reach` is that of the query, as i32 in each lane; else it is null.
  mlir::Value isUnmasked(Index query, Index key, Lanes lanes, mlir::Value reach = {});
  /// Returns the reach of one query, where keys lie along the lanes; null except for packed rows.
  mlir::Value reachOfOne(Index batch, Index query);
  /// Returns the reaches of a block's queries, in scratch memory; a null buffer except for packed
  /// rows.
  Buffer reachesOf(HeadBlock queries);
  /// Returns the reaches of the queries in the lanes from row `i` of their block on.
  mlir::Value reachAt(Buffer reaches, Index i);
  /// Returns for each lane from row `i` of `queries` and the key on whether dropout keeps the
  /// probability; null without dropout.
  mlir::Value isKept(HeadBlock queries, Index i, Index key, Lanes lanes);
  mlir::Value isKept(HeadBlock queries, Index i, Index key, Lanes direction, unsigned lanes);
  /// Does the same for a single pair.
  mlir::Value isPairKept(HeadBlock queries, Index i, Index key);
  /// Returns x / (1 - p) where `kept`, else 0; x itself without dropout.
  Num dropped(mlir::Value kept, Num x);

  /// Returns what a scaled score becomes before the mask.
  Num capped(Num score) { return cap > 0.0 ? softcap(score, cap) : score; }
  /// Returns the gradient of a scaled score from that of `capped`, the capped score.
  Num uncapped(Num gradient, Num capped) {
    return cap > 0.0 ? gradient * softcapSlope(capped, cap) : gradient;
  }

  //===--------------------------------------------------------------------===//
  // Places
  //===--------------------------------------------------------------------===//

  /// Returns the place of row `r` of a block in [batch, seq, heads * size], or in columns of
  /// another tensor.
  Index queryOffset(const Buffer &in, HeadBlock queries, Index r) {
    return offset(queryPitch(in), in.begin, queries, r);
  }
  /// Returns the place of row `r` of a block in [batch, seq, kvHeads * size], or in columns of
  /// another tensor.
  Index keyOffset(const Buffer &in, HeadBlock keys, Index r) {
    return offset(keyPitch(in), in.begin, keys, r);
  }
  /// Return the elements from a position of a sequence to the next.
  int64_t queryPitch(const Buffer &in) const { return in.pitch > 0 ? in.pitch : heads * size; }
  int64_t keyPitch(const Buffer &in) const { return in.pitch > 0 ? in.pitch : kvHeads * size; }
  /// Returns the place of row `r` of a block in [batch, heads, seq].
  Index statistic(HeadBlock queries, Index r) {
    return (queries.batch * heads + queries.head) * seq + queries.first + r;
  }

  Panel rowPanel() { return makePanel(e, extent, size); }
  Panel transposedPanel() { return makePanel(e, size, extent); }
  Panel pairPanel() { return makePanel(e, extent, extent); }
  void loadQueries(Panel to, Buffer from, HeadBlock block) {
    loadPanel(e, to, from, [&](Index r) { return queryOffset(from, block, r); }, block.count);
  }
  void loadKeys(Panel to, Buffer from, HeadBlock block) {
    loadPanel(e, to, from, [&](Index r) { return keyOffset(from, block, r); }, block.count);
  }

  KernelEmitter &e;
  const int64_t batch, seq, heads, kvHeads, size, window;
  /// Says how many positions after its own a query attends to: -ahead <= query - key < window.
  const int64_t ahead;
  /// Counts the rows of a whole block.
  const int64_t extent;
  const double scale, p;
  /// Caps the scores; 0 does not.
  const double cap;
  /// Holds the position of each token in its own sequence; null where a row is one sequence.
  const Buffer positions;

  /// Returns how many keys a query attends to at most: its own and those before it in its sequence,
  /// as far as the window reaches. A query beyond the last is treated as the last.
  Index reachOf(Index batch, Index query);
  /// Returns the first key that some query of a block attends to.
  Index firstKeyOf(HeadBlock queries);

protected:
  HeadBlock blockAt(Index b, Index head, Index number);

private:
  Index offset(int64_t pitch, int64_t begin, HeadBlock block, Index r) {
    return (block.batch * seq + block.first + r) * pitch + block.head * size + begin;
  }
  int64_t group() const { return heads / kvHeads; }
  void forBlocks(int64_t headCount, Body body);

  std::optional<Philox> philox;
};

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_EMITTER_ATTENTIONBLOCKS_H
