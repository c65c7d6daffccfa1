//===- CachedKeys.h - The keys that a new token attends to ----------------===//
//
// The kernels of llm.cached_attention and llm.latent_attention on a CPU and on a GPU share this
// code: which iteration takes which query heads, which positions they attend to, and where their
// keys and values lie. Example: 8 query heads on 2 key/value heads are 2 iterations a token, each
// of 4 heads. A latent row is the key of all heads, and its first elements are their value: values
// lie where keys lie, and are shorter.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_EMITTER_CACHEDKEYS_H
#define LLMMEM_LIB_CODEGEN_EMITTER_CACHEDKEYS_H

#include "FewerBits.h"
#include "Scores.h"
#include "llmmem/Dialect/LlmOps.h"

namespace llmmem {

/// Describes the query heads of one iteration, which share a key/value head, at one token.
struct CachedQuery {
  Index batch, token, kvHead, firstHead;
  /// Give the positions it attends to, and the first one whose key is not in the cache.
  Index begin, end, fresh;
};

/// Describes the part of a query's positions in one block of them.
struct KeyBlock {
  /// Say where the block begins; `begin` to `fresh` lie in the cache, `fresh` to `end` are new.
  Index start, begin, fresh, end;
};

/// Counts what a kernel of attention to a cache has, whichever op it is of.
struct CachedSizes {
  explicit CachedSizes(llm::CachedAttentionOp op);
  explicit CachedSizes(llm::LatentAttentionOp op);

  /// Limits the query heads of an iteration, over which a kernel unrolls its loops.
  static constexpr int64_t kMostHeads = 8;

  int64_t batch, seq, heads, kvHeads;
  int64_t size, valueSize; ///< The elements of a head's key, and of its value.
  double scale, cap;
  int64_t reach; ///< The most keys that a query attends to.
  /// Count the query heads of an iteration, and the iterations of a key/value head.
  int64_t tile, tiles;

private:
  void divideHeads();
};

/// Holds the op's operands and its result. New rows are `k` and `v`; `keys` and `values` are
/// cached.
struct CachedBuffers {
  CachedBuffers(llm::CachedAttentionOp op, KernelEmitter &e);
  CachedBuffers(llm::LatentAttentionOp op, KernelEmitter &e);

  Buffer q, positions, table, sinks, out;
  HeldBuffer k, v, keys, values;
};

class CachedKeys : public CachedSizes, public CachedBuffers {
public:
  CachedKeys(llm::CachedAttentionOp op, KernelEmitter &e);
  CachedKeys(llm::LatentAttentionOp op, KernelEmitter &e);

  int64_t numQueries() const { return batch * seq * kvHeads * tiles; }
  CachedQuery queryAt(Index number);
  CachedQuery queryOf(Index token, Index kvHead, Index firstHead);
  /// Return the numbers of the blocks that hold its keys.
  Index firstBlock(const CachedQuery &query) { return query.begin / kBlock; }
  Index endOfBlocks(const CachedQuery &query) { return ceilDiv(query.end, e.index(kBlock)); }
  KeyBlock blockAt(const CachedQuery &query, Index number);

  /// Return where the key and the value at position `j` begin: in the caches, and in `k` and `v`.
  Index cachedPlace(const CachedQuery &query, Index j);
  Index freshPlace(const CachedQuery &query, Index j);
  /// Return where head `h` of the iteration begins in `q`, and in the result.
  Index headPlace(const CachedQuery &query, Index h) { return headOf(query, h) * size; }
  Index outPlace(const CachedQuery &query, Index h) { return headOf(query, h) * valueSize; }

  /// Return what the maximum of head `h`'s scores and the total of their powers are before any key:
  /// a sink is a score that precedes all others.
  Num firstLargest(const CachedQuery &query, Index h);
  Num firstTotal() { return e.number(sinks ? 1.0 : 0.0); }

  Num capped(Num score) { return cap > 0.0 ? softcap(score, cap) : score; }

  static constexpr int64_t kBlock = llm::CachedAttentionOp::kBlock;
  KernelEmitter &e;

private:
  Index headOf(const CachedQuery &query, Index h) {
    return query.token * heads + query.firstHead + h;
  }

  /// Count the rows of a cache or of a page, and what a sequence can have in all.
  int64_t rows, capacity;
  bool isRing;
};

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_EMITTER_CACHEDKEYS_H
