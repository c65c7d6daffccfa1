//===- DeviceCachedAttention.cpp - Attention to caches on a GPU -----------===//
//
// A block of 64 threads takes the query heads of a token that share a key/value head. For a block
// of 64 keys each thread computes the scores of one key, for all of its heads. Then threads take
// columns of the values and, where a head has fewer vectors of columns than there are threads,
// every second (fourth, ...) key: their sums are added in a fixed tree at the end. So each key and
// each value is read once, and bits depend neither on the schedule nor on how many tokens a step
// has.
//
//===----------------------------------------------------------------------===//

#include "DeviceCachedAttention.h"
#include "Emitter/CachedKeys.h"
#include "llmmem/Codegen/Emitter/Expectations.h"
#include "llmmem/Codegen/Gpu/DeviceLoops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <limits>
#include <numeric>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {

constexpr int64_t kThreads = CachedKeys::kBlock;
constexpr int64_t kWarps = kThreads / kWarp;

class Emission : public CachedKeys {
public:
  Emission(const CachedKeys &keys, Index number, Index thread)
      : CachedKeys(keys), device(deviceLoops(e)), query(queryAt(number)), thread(thread),
        lanes(std::gcd(std::gcd<int64_t>(e.lanes(), size), valueSize)), vectors(valueSize / lanes),
        parts(partsOf(vectors)), expectedBlocks(static_cast<double>(reach) / kBlock) {
    queries = shared(tile * size), weights = shared(tile * kBlock);
    maxima = shared(tile * kWarps), powers = shared(tile * kWarps);
    if (parts > 1)
      partSums = shared(parts * tile * valueSize);
  }

  void emit() {
    int64_t ofQuery = size / lanes;
    forSteps(e, thread, e.index(tile * ofQuery), kThreads, [&](Index item) {
      Index h = item / ofQuery, column = item % ofQuery * lanes;
      e.store(queries, h * size + column, e.load(q, headPlace(query, h) + column, lanes) * scale);
    });
    barrier(e);
    Row state;
    for (int64_t h = 0; h < tile; ++h)
      state.push_back(firstLargest(query, e.index(h)));
    state.append(tile, firstTotal());
    state.append(tile * numColumns(), e.splat(0.0, lanes));
    state = fold(e, firstBlock(query), endOfBlocks(query), state,
                 [&](Index block, ArrayRef<Num> carried) {
                   expectIterations(e.builder().getInsertionBlock()->getParentOp(), expectedBlocks);
                   return emitBlock(blockAt(query, block), carried);
                 });
    emitEnd(ArrayRef(state).slice(tile, tile), ArrayRef(state).drop_front(2 * tile));
  }

private:
  Buffer shared(int64_t count) { return device.workgroup(e, count, e.computeType()); }

  /// Returns how many threads share a column: a power of two, so that a key's thread is that of its
  /// position.
  static int64_t partsOf(int64_t vectors) {
    int64_t parts = 1;
    while (2 * parts * vectors <= kThreads)
      parts *= 2;
    return parts;
  }
  int64_t numColumns() const { return llvm::divideCeil(vectors * parts, kThreads); }
  Index part() { return thread / vectors % parts; }
  Index column(int64_t number) {
    Index own = parts > 1 ? thread % vectors : thread + number * kThreads;
    return minimum(own, e.index(vectors - 1)) * lanes;
  }
  /// Returns whether no other thread has the columns: the last threads may repeat those of others.
  Value ownsColumn(int64_t number) {
    if (parts > 1)
      return less(thread, e.index(vectors * parts));
    return less(thread + number * kThreads, e.index(vectors));
  }

  //===--------------------------------------------------------------------===//
  // Scores
  //===--------------------------------------------------------------------===//

  /// Computes the products of the key that begins at `place` with the query of each head.
  Row products(const HeldBuffer &from, Index place) {
    Row sums(tile, e.splat(0.0, lanes));
    sums =
        foldSteps(e, e.index(0), e.index(size), lanes, sums, [&](Index i, ArrayRef<Num> carried) {
          Num key = load(e, from, place + i, lanes);
          Row next;
          for (int64_t h = 0; h < tile; ++h)
            next.push_back(fma(e.load(queries, i + h * size, lanes), key, carried[h]));
          return next;
        });
    for (Num &sum : sums)
      sum = capped(lanes > 1 ? sumOfLanes(sum) : sum);
    return sums;
  }

  /// Computes the scores of this thread's key, for each head.
  Row emitScores(KeyBlock block) {
    Index j = block.start + thread;
    Row masked(tile, e.number(-std::numeric_limits<double>::infinity()));
    Value isCached = both(atLeast(j, block.begin), less(j, block.fresh));
    Value isFresh = both(atLeast(j, block.fresh), less(j, block.end));
    Row cached =
        chooseIf(e, isCached, masked, [&] { return products(keys, cachedPlace(query, j)); });
    return chooseIf(e, isFresh, cached, [&] {
      expectIterations(e.builder().getInsertionBlock()->getParentOp(), freshShare());
      return products(k, freshPlace(query, j));
    });
  }

  /// Returns the share of new keys among those of a full cache.
  double freshShare() { return 1.0 / (expectedBlocks * kBlock); }

  Value both(Value a, Value b) { return arith::AndIOp::create(e.builder(), e.location(), a, b); }
  Value atLeast(Index a, Index b) { return less(b - 1, a); }

  /// Combines `x` of the threads of each warp; after a barrier, `combined` does the rest.
  void combineWarps(Num x, Buffer slots, int64_t h, function_ref<Num(Num, Num)> combine) {
    x = acrossLanes(e, x, kWarp, combine);
    ifThen(e, equal(thread % kWarp, e.index(0)),
           [&] { e.store(slots, thread / kWarp + h * kWarps, x); });
  }
  Num combined(Buffer slots, int64_t h, function_ref<Num(Num, Num)> combine) {
    Num x = e.load(slots, e.index(h * kWarps));
    for (int64_t warp = 1; warp < kWarps; ++warp)
      x = combine(x, e.load(slots, e.index(h * kWarps + warp)));
    return x;
  }

  Row emitBlock(KeyBlock block, ArrayRef<Num> carried) {
    auto larger = [](Num a, Num b) { return maximum(a, b); };
    auto sum = [](Num a, Num b) { return a + b; };
    Row scores = emitScores(block), next, totals, factors;
    for (int64_t h = 0; h < tile; ++h)
      combineWarps(scores[h], maxima, h, larger);
    barrier(e);
    for (int64_t h = 0; h < tile; ++h) {
      Num now = maximum(carried[h], combined(maxima, h, larger)), power = exp(scores[h] - now);
      e.store(weights, thread + h * kBlock, power);
      combineWarps(power, powers, h, sum);
      factors.push_back(exp(carried[h] - now));
      next.push_back(now);
    }
    barrier(e);
    for (int64_t h = 0; h < tile; ++h)
      next.push_back(carried[tile + h] * factors[h] + combined(powers, h, sum));
    next.append(emitSums(block, carried.drop_front(2 * tile), factors));
    barrier(e);
    return next;
  }

  //===--------------------------------------------------------------------===//
  // Sums of values
  //===--------------------------------------------------------------------===//

  Row emitSums(KeyBlock block, ArrayRef<Num> carried, ArrayRef<Num> factors) {
    Row sums;
    for (auto [number, x] : llvm::enumerate(carried))
      sums.push_back(x * factors[number / numColumns()]);
    sums = addValues(values, block, block.begin, block.fresh, /*cached=*/true, sums);
    return addValues(v, block, block.fresh, block.end, /*cached=*/false, sums);
  }

  Row addValues(const HeldBuffer &from, KeyBlock block, Index begin, Index end, bool cached,
                Row sums) {
    // This is the first position of this thread's part.
    Index mine = begin + (part() + e.index(kBlock) - begin % parts) % parts;
    return foldSteps(e, mine, end, parts, sums, [&](Index j, ArrayRef<Num> carried) {
      expectIterations(e.builder().getInsertionBlock()->getParentOp(),
                       (cached ? kBlock : freshShare() * kBlock) / static_cast<double>(parts));
      Index place = cached ? cachedPlace(query, j) : freshPlace(query, j);
      Row next(carried);
      for (int64_t number = 0; number < numColumns(); ++number) {
        Num value = load(e, from, place + column(number), lanes);
        for (int64_t h = 0; h < tile; ++h) {
          Num weight = e.load(weights, (j - block.start) + h * kBlock);
          Num &sum = next[h * numColumns() + number];
          sum = fma(value, weight, sum);
        }
      }
      return next;
    });
  }

  void emitEnd(ArrayRef<Num> totals, ArrayRef<Num> sums) {
    if (parts > 1)
      return emitEndOfParts(totals, sums);
    for (int64_t number = 0; number < numColumns(); ++number)
      ifThen(e, ownsColumn(number), [&] {
        for (int64_t h = 0; h < tile; ++h)
          e.store(out, outPlace(query, e.index(h)) + column(number),
                  sums[h * numColumns() + number] * inverse(totals[h]));
      });
  }

  void emitEndOfParts(ArrayRef<Num> totals, ArrayRef<Num> sums) {
    ifThen(e, ownsColumn(0), [&] {
      for (int64_t h = 0; h < tile; ++h)
        e.store(partSums, (part() * tile + h) * valueSize + column(0), sums[h]);
    });
    barrier(e);
    ifThen(e, less(thread, e.index(vectors)), [&] {
      for (int64_t h = 0; h < tile; ++h)
        e.store(out, outPlace(query, e.index(h)) + column(0),
                sumOfParts(h, 0, parts) * inverse(totals[h]));
    });
  }

  Num sumOfParts(int64_t h, int64_t first, int64_t count) {
    if (count == 1)
      return e.load(partSums, column(0) + (first * tile + h) * valueSize, lanes);
    return sumOfParts(h, first, count / 2) + sumOfParts(h, first + count / 2, count / 2);
  }

  /// The largest power is 1, so a total below it means no key and no sink.
  Num inverse(Num total) { return 1.0 / maximum(total, e.number(1.0)); }

  DeviceLoops &device;
  CachedQuery query;
  Index thread;
  int64_t lanes, vectors, parts;
  double expectedBlocks;
  Buffer queries, weights, maxima, powers, partSums;
};

} // namespace

void llmmem::emitDeviceCachedAttention(KernelEmitter &e, function_ref<CachedKeys()> make) {
  deviceLoops(e).launch(e, make().numQueries(), kThreads,
                        [&](Index block, Index thread) { Emission(make(), block, thread).emit(); });
}
