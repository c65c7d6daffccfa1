//===- CachedKeys.h - The keys that a new token attends to ----------------===//
//
// What the kernels of llm.cached_attention and llm.latent_attention on a CPU and on a GPU have in
// common: which iteration takes which query heads, which positions they attend to, and where the
// keys and values of these lie. Example: 8 query heads on 2 key/value heads are 2 iterations a
// token, each of 4 heads. A latent row is the key of all heads, and its first elements are their
// value: values lie where keys lie, and are shorter.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_EMITTER_CACHEDKEYS_H
#define LLMMEM_LIB_CODEGEN_EMITTER_CACHEDKEYS_H

#include "FewerBits.h"
#include "Softcap.h"
#include "llmmem/Dialect/LlmOps.h"

namespace llmmem {

/// The query heads of one iteration, which share a key/value head, at one token.
struct CachedQuery {
  Index batch, token, kvHead, firstHead;
  /// The positions it attends to, and the first one whose key is not in the cache.
  Index begin, end, fresh;
};

/// The part of a query's positions in one block of them.
struct KeyBlock {
  /// Where the block begins; `begin` to `fresh` lie in the cache, `fresh` to `end` are new.
  Index start, begin, fresh, end;
};

class CachedKeys {
public:
  CachedKeys(llm::CachedAttentionOp op, KernelEmitter &e);
  CachedKeys(llm::LatentAttentionOp op, KernelEmitter &e);

  /// Query heads of an iteration, of which a kernel unrolls its loops.
  static constexpr int64_t kMostHeads = 8;

  int64_t numQueries() const { return batch * seq * kvHeads * tiles; }
  CachedQuery queryAt(Index number);
  CachedQuery queryOf(Index token, Index kvHead, Index firstHead);
  /// The numbers of the blocks that hold its keys.
  Index firstBlock(const CachedQuery &query) { return query.begin / kBlock; }
  Index endOfBlocks(const CachedQuery &query) { return ceilDiv(query.end, e.index(kBlock)); }
  KeyBlock blockAt(const CachedQuery &query, Index number);

  /// Where the key and the value at position `j` begin: in the caches, and in `k` and `v`.
  Index cachedPlace(const CachedQuery &query, Index j);
  Index freshPlace(const CachedQuery &query, Index j);
  /// Where head `h` of the iteration begins in `q`, and in the result.
  Index headPlace(const CachedQuery &query, Index h) { return headOf(query, h) * size; }
  Index outPlace(const CachedQuery &query, Index h) { return headOf(query, h) * valueSize; }

  /// What the maximum of head `h`'s scores and the total of their powers are before any key: a sink
  /// is a score that is there before all others.
  Num firstLargest(const CachedQuery &query, Index h);
  Num firstTotal() { return e.number(sinks ? 1.0 : 0.0); }

  Num capped(Num score) { return cap > 0.0 ? softcap(score, cap) : score; }
  /// Below every score; not minus infinity, as the first rescaling factor would be NaN.
  Num lowest();

  static constexpr int64_t kBlock = llm::CachedAttentionOp::kBlock;
  KernelEmitter &e;
  const int64_t batch, seq, heads, kvHeads;
  const int64_t size, valueSize; ///< of a head's key, and of its value
  const double scale, cap;
  Buffer q, positions, table, sinks, out;
  HeldBuffer k, v, keys, values;
  /// Query heads of an iteration, and iterations of a key/value head.
  int64_t tile, tiles;
  int64_t reach; ///< the most keys that a query attends to

private:
  Index headOf(const CachedQuery &query, Index h) {
    return query.token * heads + query.firstHead + h;
  }
  void divideHeads();

  /// Rows of a cache or of a page, and what a sequence can have in all.
  int64_t rows, capacity;
  bool isRing;
};

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_EMITTER_CACHEDKEYS_H
