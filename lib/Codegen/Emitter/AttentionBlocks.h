//===- AttentionBlocks.h - Blocks of queries and of keys ------------------===//
//
// What the forward and the backward of attention have in common: the blocks of a head, which pairs
// of blocks the mask leaves, where rows lie, the mask of a pair, and what dropout keeps. Example:
// 130 queries in f32 are blocks of 64, 64 and 2; without a window block 1 of the queries attends to
// blocks 0 and 1 of the keys. Where a row has several sequences packed into it, the position of a
// query in its own says how many keys before it it attends to.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_EMITTER_ATTENTIONBLOCKS_H
#define LLMMEM_LIB_CODEGEN_EMITTER_ATTENTIONBLOCKS_H

#include "Panels.h"
#include "Philox.h"
#include "Softcap.h"

namespace llmmem {

/// Neighbouring positions of one head: a query head, or the key/value head of a group.
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
  /// Each block of queries, and each block of keys; iterations have disjoint rows.
  void forEachOfQueries(Body body) { forBlocks(heads, body); }
  void forEachOfKeys(Body body) { forBlocks(kvHeads, body); }
  /// The blocks of keys that are not masked entirely for `queries`.
  void forUnmaskedKeys(HeadBlock queries, Body body);
  /// The blocks of queries, in the order of the heads of the group, for which `keys` are not masked
  /// entirely.
  void forUnmaskedQueries(HeadBlock keys, Body body);
  /// The same with carried values.
  using FoldBody = llvm::function_ref<Row(HeadBlock, llvm::ArrayRef<Num>)>;
  Row foldUnmaskedKeys(HeadBlock queries, llvm::ArrayRef<Num> initial, FoldBody body);
  Row foldUnmaskedQueries(HeadBlock keys, llvm::ArrayRef<Num> initial, FoldBody body);

  //===--------------------------------------------------------------------===//
  // The mask
  //===--------------------------------------------------------------------===//

  /// The terms of a sum over keys (rows of `keys`) that some of the rows `first` to `last` of
  /// `queries` attend to: the others have the probability 0.
  Terms unmaskedKeys(HeadBlock queries, HeadBlock keys, Index first, Index last);
  /// The same for a sum over queries that rows `first` to `last` of `keys` need.
  Terms unmaskedQueries(HeadBlock queries, HeadBlock keys, Index first, Index last);
  Terms wholeRow() { return {e.index(0), e.index(size)}; }

  /// What lies along the lanes: neighbouring queries, or neighbouring keys.
  enum class Lanes { Queries, Keys };
  /// For each lane from (query, key) on: whether the query attends to the key. Of packed rows
  /// `reach` is that of the query, as i32 in each lane; else null.
  mlir::Value isUnmasked(Index query, Index key, Lanes lanes, mlir::Value reach = {});
  /// The reach of one query, where keys lie along the lanes. Null but of packed rows.
  mlir::Value reachOfOne(Index batch, Index query);
  /// The reaches of a block's queries, in scratch memory; a null buffer but of packed rows.
  Buffer reachesOf(HeadBlock queries);
  /// Of the queries in the lanes from row `i` of their block on.
  mlir::Value reachAt(Buffer reaches, Index i);
  /// For each lane from row `i` of `queries` and the key on: whether dropout keeps the
  /// probability. Null without dropout.
  mlir::Value isKept(HeadBlock queries, Index i, Index key, Lanes lanes);
  /// The same for `lanes` lanes.
  mlir::Value isKept(HeadBlock queries, Index i, Index key, Lanes direction, unsigned lanes);
  /// The same for a single pair.
  mlir::Value isPairKept(HeadBlock queries, Index i, Index key);
  /// x / (1 - p) where `kept`, else 0; x itself without dropout.
  Num dropped(mlir::Value kept, Num x);

  /// What a scaled score becomes before the mask.
  Num capped(Num score) { return cap > 0.0 ? softcap(score, cap) : score; }
  /// The gradient of a scaled score from that of what it became, `capped`.
  Num uncapped(Num gradient, Num capped) {
    return cap > 0.0 ? gradient * softcapSlope(capped, cap) : gradient;
  }

  //===--------------------------------------------------------------------===//
  // Places
  //===--------------------------------------------------------------------===//

  /// Row `r` of a block in [batch, seq, heads * size], or in columns of another tensor.
  Index queryOffset(const Buffer &in, HeadBlock queries, Index r) {
    return offset(queryPitch(in), in.begin, queries, r);
  }
  /// Row `r` of a block in [batch, seq, kvHeads * size], or in columns of another tensor.
  Index keyOffset(const Buffer &in, HeadBlock keys, Index r) {
    return offset(keyPitch(in), in.begin, keys, r);
  }
  /// Elements from a position of a sequence to the next.
  int64_t queryPitch(const Buffer &in) const { return in.pitch > 0 ? in.pitch : heads * size; }
  int64_t keyPitch(const Buffer &in) const { return in.pitch > 0 ? in.pitch : kvHeads * size; }
  /// Row `r` of a block in [batch, heads, seq].
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
  /// How many positions after its own a query attends to: -ahead <= query - key < window.
  const int64_t ahead;
  /// Rows of a whole block.
  const int64_t extent;
  const double scale, p;
  /// Of scores; 0 leaves them as they are.
  const double cap;
  /// Of each token in its own sequence; null where a row is one sequence.
  const Buffer positions;

  /// How many keys a query attends to at most: its own and those before it in its sequence, as far
  /// as the window reaches. A query beyond the last is taken for that.
  Index reachOf(Index batch, Index query);
  /// The first key that some query of a block attends to.
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
