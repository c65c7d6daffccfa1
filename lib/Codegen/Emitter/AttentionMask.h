//===- AttentionMask.h - Which keys a query attends to, and where they lie -===//
//
// The forward and the backward of attention share this code: the places of rows, the mask of a
// block of queries and one of keys, and what dropout keeps. Where a row packs several sequences,
// the position of a query in its own sequence says how many previous keys it attends to.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_EMITTER_ATTENTIONMASK_H
#define LLMMEM_LIB_CODEGEN_EMITTER_ATTENTIONMASK_H

#include "Panels.h"
#include "Philox.h"
#include "Scores.h"

namespace llmmem {

/// Describes neighbouring positions of one head: a query head, or the key/value head of a group.
struct HeadBlock {
  Index batch, head, first, count;
};

/// Describes an op of attention, and where the rows of its heads lie.
struct AttentionShape {
  template <typename Op>
  explicit AttentionShape(Op op)
      : batch(op.getQ().getType().getShape()[0]), seq(op.getQ().getType().getShape()[1]),
        heads(op.getHeads()), kvHeads(op.getKvHeads()),
        size(op.getQ().getType().getShape()[2] / heads), window(op.getWindow().value_or(seq)),
        ahead(op.getBidirectional() ? seq - 1 : 0), scale(op.getScale().convertToDouble()),
        cap(op.getSoftcap() ? op.getSoftcap()->convertToDouble() : 0.0) {}

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

  /// Returns what a scaled score becomes before the mask.
  Num capped(Num score) { return cap > 0.0 ? softcap(score, cap) : score; }
  /// Returns the gradient of a scaled score from that of `capped`, the capped score.
  Num uncapped(Num gradient, Num capped) {
    return cap > 0.0 ? gradient * softcapSlope(capped, cap) : gradient;
  }
  int64_t group() const { return heads / kvHeads; }

  const int64_t batch, seq, heads, kvHeads, size, window;
  /// Says how many positions after its own a query attends to: -ahead <= query - key < window.
  const int64_t ahead;
  const double scale;
  /// Caps the scores; 0 does not.
  const double cap;

private:
  Index offset(int64_t pitch, int64_t begin, HeadBlock block, Index r) {
    return (block.batch * seq + block.first + r) * pitch + block.head * size + begin;
  }
};

class AttentionMask : public AttentionShape {
public:
  /// Reads the seed at the emitter's insertion point.
  template <typename Op>
  AttentionMask(Op op, KernelEmitter &e)
      : AttentionShape(op), e(e), p(op.getP().convertToDouble()),
        positions(e.operand(op.getPositionsMutable())) {
    if (p > 0.0)
      philox.emplace(e, e.operand(op.getSeedMutable()[0]));
  }

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

  /// Returns how many keys a query attends to at most: its own and those before it in its sequence,
  /// as far as the window reaches. A query beyond the last is treated as the last.
  Index reachOf(Index batch, Index query);
  /// Does the same, as i32.
  mlir::Value reachAsI32(Index batch, Index query);
  /// Returns the first key that some query of a block attends to.
  Index firstKeyOf(HeadBlock queries);

  KernelEmitter &e;
  const double p;
  /// Holds the position of each token in its own sequence; null where a row is one sequence.
  const Buffer positions;

private:
  std::optional<Philox> philox;
};

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_EMITTER_ATTENTIONMASK_H
