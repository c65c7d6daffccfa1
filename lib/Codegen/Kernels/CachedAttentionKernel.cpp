//===- CachedAttentionKernel.cpp - Attention to keys in caches ------------===//
//
// An iteration takes the query heads of one token that share a key/value head, and goes through
// their keys in blocks, with a running maximum, a running sum and rescaled sums as in
// AttentionKernels.cpp. Latent rows are keys and values in one. The blocks begin at multiples of
// their length, wherever the cache ends and the new keys begin, so a token's bits do not depend on
// how many tokens arrived with it.
//
//===----------------------------------------------------------------------===//

#include "Emitter/CachedKeys.h"
#include "Emitter/Rows.h"
#include "Gpu/DeviceCachedAttention.h"
#include "Gpu/MmaLatentAttention.h"
#include "KernelModels.h"
#include <limits>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {

template <typename AttentionLike>
struct CachedKernel : KernelModel<CachedKernel<AttentionLike>, AttentionLike> {
  struct Emission : CachedKeys {
    using CachedKeys::CachedKeys;
    Buffer queries, sums, scores, largest, total; // Those of each head.

    void emitQuery(Index number) {
      CachedQuery query = queryAt(number);
      queries = e.scratch(tile * size), sums = e.scratch(tile * valueSize);
      scores = e.scratch(tile * kBlock);
      largest = e.scratch(tile), total = e.scratch(tile);
      forEach(e, tile, [&](Index h) { begin(query, h); });
      forEach(e, firstBlock(query), endOfBlocks(query), [&](Index block) {
        KeyBlock part = blockAt(query, block);
        emitScores(query, part);
        forEach(e, tile, [&](Index h) {
          Num factor = emitPowers(h);
          emitSums(query, part, h, factor);
        });
      });
      forEach(e, tile, [&](Index h) { end(query, h); });
    }

    void begin(const CachedQuery &query, Index h) {
      forLanes(e, size, [&](Index i, unsigned lanes) {
        e.store(queries, h * size + i, e.load(q, headPlace(query, h) + i, lanes) * scale);
      });
      forLanes(e, valueSize, [&](Index i, unsigned lanes) {
        e.store(sums, h * valueSize + i, e.splat(0.0, lanes));
      });
      e.store(largest, h, firstLargest(query, h));
      e.store(total, h, firstTotal());
    }

    void emitScores(const CachedQuery &query, KeyBlock part) {
      forLanes(e, tile * kBlock, [&](Index i, unsigned lanes) {
        e.store(scores, i, e.splat(-std::numeric_limits<double>::infinity(), lanes));
      });
      auto score = [&](const HeldBuffer &from, Index j, Index place) {
        forEach(e, tile, [&](Index h) {
          Num product = sumOver(e, size, [&](Index i, unsigned lanes) {
            return e.load(queries, h * size + i, lanes) * load(e, from, place + i, lanes);
          });
          e.store(scores, h * kBlock + (j - part.start), capped(product));
        });
      };
      forEach(e, part.begin, part.fresh, [&](Index j) { score(keys, j, cachedPlace(query, j)); });
      forEach(e, part.fresh, part.end, [&](Index j) { score(k, j, freshPlace(query, j)); });
    }

    /// Replaces the scores of a head by their powers of e. Returns the factor by which its sums
    /// shrink.
    Num emitPowers(Index h) {
      Num before = e.load(largest, h);
      Num now = maximum(before, maximumOver(e, kBlock, [&](Index i, unsigned lanes) {
                          return e.load(scores, h * kBlock + i, lanes);
                        }));
      Num sum = sumOver(e, kBlock, [&](Index i, unsigned lanes) {
        Num power = exp(e.load(scores, h * kBlock + i, lanes) - now);
        e.store(scores, h * kBlock + i, power);
        return power;
      });
      Num factor = exp(before - now);
      e.store(largest, h, now);
      e.store(total, h, e.load(total, h) * factor + sum);
      return factor;
    }

    void emitSums(const CachedQuery &query, KeyBlock part, Index h, Num factor) {
      Row row = loadRow(e, sums, h * valueSize, valueSize);
      for (Num &x : row)
        x = x * factor;
      auto add = [&](const HeldBuffer &from, Index j, Index place, ArrayRef<Num> carried) {
        Num weight = e.load(scores, h * kBlock + (j - part.start));
        Row terms = loadRow(e, from, place, valueSize), next;
        for (auto [term, sum] : llvm::zip_equal(terms, carried))
          next.push_back(weight * term + sum);
        return next;
      };
      row = fold(e, part.begin, part.fresh, row, [&](Index j, ArrayRef<Num> carried) {
        return add(values, j, cachedPlace(query, j), carried);
      });
      row = fold(e, part.fresh, part.end, row, [&](Index j, ArrayRef<Num> carried) {
        return add(v, j, freshPlace(query, j), carried);
      });
      storeRow(e, sums, h * valueSize, row);
    }

    /// The largest power is 1, so a total below it means no key and no sink.
    void end(const CachedQuery &query, Index h) {
      Num factor = 1.0 / maximum(e.load(total, h), e.number(1.0));
      Row row = loadRow(e, sums, h * valueSize, valueSize);
      for (Num &x : row)
        x = x * factor;
      storeRow(e, out, outPlace(query, h), row);
    }
  };

  static void emitOnDevice(AttentionLike op, KernelEmitter &e) {
    if constexpr (std::is_same_v<AttentionLike, LatentAttentionOp>) {
      if (std::optional<LatentParts> parts = latentPartsOf(op))
        return emitMmaLatentAttention(op, e, *parts);
      remarkOnRows(op, CachedKeys(op, e).tiles);
    }
    emitDeviceCachedAttention(e, [&] { return CachedKeys(op, e); });
  }

  /// Shows people where rows that tensor cores would read once are read repeatedly.
  static void remarkOnRows(LatentAttentionOp op, int64_t times) {
    op.emitRemark() << "reads each row " << times << (times == 1 ? " time" : " times")
                    << " and multiplies without tensor cores: " << whyNoLatentParts(op);
  }

  static void emit(AttentionLike op, KernelEmitter &e) {
    Emission emission(op, e);
    forEachParallel(e, emission.numQueries(), [&](Index number) { emission.emitQuery(number); });
  }
};

} // namespace

void llmmem::attachCachedAttentionKernel(MLIRContext *context) {
  attachKernels<CachedKernel<CachedAttentionOp>, CachedKernel<LatentAttentionOp>>(context);
}
