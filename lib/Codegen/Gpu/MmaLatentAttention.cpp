//===- MmaLatentAttention.cpp - Attention to latent rows on tensor cores ---===//
//
// All heads read the same rows, so the queries of a token's heads are a matrix: scores are its
// product with a tile of 32 rows, and the tile is in workgroup memory when the powers of the scores
// are multiplied by the rows' first elements. While a tile is multiplied, the next one is copied. A
// row of warps' fragments is 16 heads. Warps that share heads divide the keys of a tile for the
// scores, which they exchange through workgroup memory, and the columns of the sums.
//
//===----------------------------------------------------------------------===//

#include "MmaLatentAttention.h"
#include "Emitter/CachedKeys.h"
#include "MmaRows.h"
#include "llmmem/Codegen/Emitter/Expectations.h"
#include "llmmem/Codegen/Gpu/DeviceLoops.h"
#include "llmmem/Codegen/Gpu/PowersOfTwo.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

static Num largestOf(Num a, Num b) { return maximum(a, b); }
static Num sumOf(Num a, Num b) { return a + b; }

static Value both(KernelEmitter &e, Value a, Value b) {
  return arith::AndIOp::create(e.builder(), e.location(), a, b);
}

static Value inverse(KernelEmitter &e, Value condition) {
  Value yes = arith::ConstantIntOp::create(e.builder(), e.location(), 1, 1);
  return arith::XOrIOp::create(e.builder(), e.location(), condition, yes);
}

static Value atLeast(Index a, Index b) { return less(b - 1, a); }

static Num laneOf(Num pair, int64_t number) {
  return {pair.builder,
          vector::ExtractOp::create(*pair.builder, pair.value.getLoc(), pair.value, number)};
}

static void storePair(KernelEmitter &e, Buffer to, Index index, Num first, Num second) {
  Value pair =
      vector::FromElementsOp::create(e.builder(), e.location(), VectorType::get({2}, first.type()),
                                     ValueRange{first.value, second.value});
  e.store(to, index, {&e.builder(), pair});
}

/// Sets, for reports of traffic, how often the op that contains the insertion point runs.
static void expectTimes(KernelEmitter &e, double times) {
  expectIterations(e.builder().getInsertionBlock()->getParentOp(), times);
}

namespace {

/// Says how the warps of a block divide heads and columns.
struct WarpShape {
  explicit WarpShape(const LatentParts &parts, int64_t rank)
      : strips(parts.rows() / kMmaRows), shares(strips <= 2 ? 4 : 2),
        columns(llvm::alignTo(llvm::divideCeil(rank, shares), 2 * kMmaColumns)) {}

  int64_t threads() const { return strips * shares * kWarp; }

  int64_t strips;  // Strips of 16 heads.
  int64_t shares;  // Warps of a strip.
  int64_t columns; // Columns of the sums, for a warp.
};

/// Holds the sums of parts in the workspace, and their maxima and totals, two numbers a head.
struct PartSums {
  Buffer sums, statistics;

  PartSums(KernelEmitter &e, const LatentParts &parts, int64_t rank) {
    if (parts.count == 1)
      return;
    int64_t size = parts.tokens * parts.sumsOfToken(rank);
    sums = e.workspace(0, size, e.computeType());
    statistics = e.workspace(size * 4, parts.tokens * parts.statisticsOfToken(), e.computeType());
  }
};

/// Says where a block of threads works: the first of its heads, and its part of the rows.
struct BlockPlace {
  Index token, tokenOfLaunch, group, part;
};

/// Has the workgroup memory of a block of threads, and brings its queries and tiles of rows there.
class LatentTiles : public CachedKeys {
public:
  /// A line of scores has eight more places than keys, so that the four lines that half of a warp
  /// accesses lie in different banks.
  static constexpr int64_t kPitch = kLatentTile + 8;

  LatentTiles(const CachedKeys &keys, const LatentParts &parts, const BlockPlace &place,
              Index thread)
      : CachedKeys(keys), parts(parts), shape(parts, valueSize), thread(thread),
        lane(MmaLane::of(thread % kWarp)), strip(thread / kWarp % shape.strips),
        share(thread / kWarp / shape.strips),
        query(queryOf(place.token, e.index(0), place.group * parts.heads)),
        memory(dynamicWorkgroup(e, latentBlockBytes(parts.rows(), size))),
        halves(partOf(e, memory, 0, elementsOfTiles(), halfTypeOf(e))),
        scores(partOf(e, memory, 2 * elementsOfTiles(), parts.rows() * kPitch, e.computeType())),
        rowScales(partOf(e, memory, bytesBeforeScales(), 2 * kLatentTile, e.computeType())) {}

  int64_t elementsOfTiles() const { return MmaTile::sizeOf(parts.rows() + 2 * kLatentTile, size); }
  int64_t bytesBeforeScales() const {
    return latentBlockBytes(parts.rows(), size) - 2 * kLatentTile * 4;
  }
  MmaTile queryTile() { return {halves, e.index(0), parts.rows(), size}; }
  MmaTile tileOf(Index half) {
    Index begin = half * MmaTile::sizeOf(kLatentTile, size);
    return {halves, begin + MmaTile::sizeOf(parts.rows(), size), kLatentTile, size};
  }

  /// Returns the heads of this block; the last group may have fewer.
  Index countOfHeads() {
    Index all = e.index(parts.heads);
    bool areEqual = heads % parts.heads == 0;
    return areEqual ? all : minimum(all, e.index(heads) - query.firstHead);
  }

  void copyQueries() {
    TileSource source{q,
                      headPlace(query, e.index(0)),
                      size,
                      e.index(0),
                      e.index(0),
                      countOfHeads(),
                      e.index(size)};
    copyTile(e, queryTile(), source, thread, shape.threads());
  }

  /// Eight neighbouring threads copy a row, whose place they compute once, because rows may lie
  /// anywhere.
  void copyRows(Index first, Index half) {
    Index firstFresh = maximum(query.fresh, query.begin), own = thread % kTogether;
    forSteps(
        e, thread / kTogether, e.index(kLatentTile), shape.threads() / kTogether, [&](Index line) {
          Index j = first + line;
          Value isCached =
              both(e, atLeast(j, query.begin), less(j, minimum(query.fresh, query.end)));
          ifThen(e, isCached,
                 [&] { copyRow(half, line, {keys, cachedPlace(query, j), std::nullopt}, own); });
          ifThen(e, inverse(e, isCached), [&] {
            expectTimes(e, 1.0 / static_cast<double>(reach));
            Value isThere = both(e, atLeast(j, firstFresh), less(j, query.end));
            copyRow(half, line, {k, freshPlace(query, j), isThere}, own);
          });
        });
  }

  /// Returns the scales of the rows of this thread's columns of scores; nothing where rows have
  /// none.
  Row scalesOf(Index half) {
    Row all;
    for (int64_t j = 0; keys.isPacked() && j < kLatentTile / kMmaColumns; ++j) {
      Index first = half * kLatentTile + lane.pair * 2 + j * kMmaColumns;
      Num pair = e.load(rowScales, first, 2);
      all.append({laneOf(pair, 0), laneOf(pair, 1)});
    }
    return all;
  }

private:
  struct RowPlace {
    const HeldBuffer &held;
    Index begin;
    std::optional<Value> isThere; // Null means always.
  };

  /// Writes zeros where the row does not exist: a power of 0 times anything else might be NaN.
  void copyRow(Index half, Index line, RowPlace from, Index own) {
    if (from.held.isPacked())
      return unpackRow(half, line, from, own);
    OpBuilder &b = e.builder();
    MmaTile to = tileOf(half);
    Value count;
    if (from.isThere)
      count = arith::SelectOp::create(b, e.location(), *from.isThere, e.index(kChunk).value,
                                      e.index(0).value);
    forSteps(e, own, e.index(size / kChunk), kTogether, [&](Index number) {
      Index column = number * kChunk;
      nvgpu::DeviceAsyncCopyOp::create(
          b, e.location(), nvgpu::DeviceAsyncTokenType::get(b.getContext()), to.memory.memref,
          to.placeOf(line, column).value, from.held.payload.memref, (from.begin + column).value,
          b.getIndexAttr(kChunk), count, /*bypassL1=*/b.getUnitAttr());
    });
  }

  /// Numbers of 8 bits are exact in 16 bits; scores and powers are multiplied by the scale of their
  /// row.
  void unpackRow(Index half, Index line, RowPlace from, Index own) {
    MmaTile to = tileOf(half);
    GroupScale one{e.number(1.0), std::nullopt};
    auto loaded = [&](unsigned lanes, function_ref<Num()> read) {
      if (!from.isThere)
        return read();
      return chooseIf(e, *from.isThere, {e.splat(0.0, lanes)}, [&] { return Row{read()}; })[0];
    };
    forSteps(e, own, e.index(size / kChunk), kTogether, [&](Index number) {
      Index column = number * kChunk;
      Num x = loaded(kChunk, [&] { return load(e, from.held, from.begin + column, kChunk, one); });
      e.store(to.memory, to.placeOf(line, column), x);
    });
    ifThen(e, equal(own, e.index(0)), [&] {
      Num scale = loaded(1, [&] { return groupScale(e, from.held, from.begin).scale; });
      e.store(rowScales, half * kLatentTile + line, scale);
    });
  }

  /// Count the elements of a copy, and the threads that copy a row.
  static constexpr int64_t kChunk = 8, kTogether = 8;

public:
  const LatentParts parts;
  const WarpShape shape;
  const Index thread;
  const MmaLane lane;
  const Index strip, share; // Of a warp: its heads, and its part of what they share.
  const CachedQuery query;
  const Buffer memory, halves, scores;

private:
  Buffer rowScales;
};

class Emission : public LatentTiles {
public:
  Emission(const CachedKeys &keys, const LatentParts &parts, PartSums partSums, BlockPlace place,
           Index thread)
      : LatentTiles(keys, parts, place, thread), partSums(partSums), place(place) {}

  void emit() {
    copyQueries();
    Index first = maximum(place.part * parts.positions, query.begin) / kBlock;
    Index last = minimum(place.part * parts.positions + parts.positions, query.end);
    Index end = ceilDiv(last, e.index(kBlock));
    ifThen(e, less(first, end), [&] { copyRows(first * kBlock, e.index(0)); });
    commitCopies(e);
    Row state(2, e.number(lowestScore(e)));
    state.append(2 + shape.columns / 2, e.number(0.0));
    state = fold(e, first, end, state, [&](Index block, ArrayRef<Num> carried) {
      expectTimes(e, expectedBlocks());
      return emitBlock(block, end, carried);
    });
    emitEnd(less(first, end), state);
  }

private:
  //===--------------------------------------------------------------------===//
  // Tiles
  //===--------------------------------------------------------------------===//

  /// A block of positions is two tiles, in the two halves of their memory.
  Row emitBlock(Index block, Index end, ArrayRef<Num> carried) {
    static_assert(kBlock == 2 * kLatentTile);
    return fold(e, e.index(0), e.index(2), carried,
                [&](Index half, ArrayRef<Num> state) { return emitTile(block, half, end, state); });
  }

  /// There are two barriers a tile: before the first, all threads have copied the tile and none
  /// reads the previous one nor its scores any more; before the second, all scores are complete.
  Row emitTile(Index block, Index half, Index end, ArrayRef<Num> carried) {
    constexpr int32_t registers = 255;
    Index first = block * kBlock + half * kLatentTile, next = first + kLatentTile;
    waitForCopies(e, 0);
    barrierNeeding(e, registers);
    ifThen(e, less(next, end * kBlock), [&] {
      expectTimes(e, 1.0 - 0.5 / expectedBlocks());
      copyRows(next, e.index(1) - half);
    });
    commitCopies(e);
    emitScores(tileOf(half));
    barrier(e);
    Num state[4];
    llvm::copy(carried.take_front(4), state);
    Row scales = scalesOf(half);
    FragmentsC sums = unflatten(carried.drop_front(4)), powers = visibleScores(first, scales);
    for (int64_t i : {0, 1})
      emitPowers(powers, sums, i, state[i], state[2 + i]);
    if (!scales.empty())
      for (auto [j, power] : llvm::enumerate(powers))
        for (size_t i = 0; i < 4; ++i)
          power[i] = power[i] * scales[2 * j + i % 2];
    addRows(sums, powers, tileOf(half));
    Row all(std::begin(state), std::end(state));
    all.append(flatten(sums));
    return all;
  }

  /// Each of the first warps of a strip multiplies its heads by 16 keys, in two chains of sums.
  void emitScores(const MmaTile &rows) {
    auto emitOwn = [&] {
      FragmentsC chains[2] = {FragmentsC(2, zeroFragment(e)), FragmentsC(2, zeroFragment(e))};
      for (int64_t inner = 0; inner < size; inner += kMmaInner) {
        FragmentA ofHeads = loadFragmentA(e, queryTile(), strip * kMmaRows, e.index(inner), lane);
        auto ofKeys = loadFragmentsB(e, rows, share * kMmaInner, e.index(inner), lane);
        FragmentsC &chain = chains[inner / kMmaInner % 2];
        for (size_t j : {0, 1})
          chain[j] = multiply(e, ofHeads, ofKeys[j], chain[j]);
      }
      for (size_t j : {0, 1})
        for (int64_t half : {0, 1})
          storePair(e, scores, scorePlace(half, share * kMmaInner, j),
                    chains[0][j][2 * half] + chains[1][j][2 * half],
                    chains[0][j][2 * half + 1] + chains[1][j][2 * half + 1]);
    };
    constexpr int64_t scoring = kLatentTile / kMmaInner;
    shape.shares > scoring ? ifThen(e, less(share, e.index(scoring)), emitOwn) : emitOwn();
  }

  /// Returns the tile's scores of this warp's heads, as powers of two; minus infinity where there
  /// is no key.
  FragmentsC visibleScores(Index first, ArrayRef<Num> scales) {
    Index begin = query.begin - first, end = query.end - first;
    Num hidden = e.number(-std::numeric_limits<double>::infinity());
    FragmentsC logits(kLatentTile / kMmaColumns, zeroFragment(e));
    for (auto [j, logit] : llvm::enumerate(logits))
      for (int64_t half : {0, 1}) {
        Num pair = e.load(scores, scorePlace(half, e.index(0), j), 2);
        for (int64_t i : {0, 1}) {
          Index key = lane.pair * 2 + (j * kMmaColumns + i);
          Num x = laneOf(pair, i) * (scale * llvm::numbers::log2e);
          if (!scales.empty())
            x = x * scales[2 * j + i];
          logit[2 * half + i] = select(both(e, atLeast(key, begin), less(key, end)), x, hidden);
        }
      }
    return logits;
  }

  /// Turns logits into powers. `largest` is that of all so far.
  void emitPowers(FragmentsC &logits, FragmentsC &sums, int64_t half, Num &largest, Num &total) {
    Num ofTile = logits[0][2 * half], sum = e.number(0.0);
    for (FragmentC &logit : logits)
      ofTile = maximum(ofTile, maximum(logit[2 * half], logit[2 * half + 1]));
    Num now = maximum(largest, acrossLanes(e, ofTile, 4, largestOf));
    for (FragmentC &logit : logits)
      for (int64_t i : {2 * half, 2 * half + 1}) {
        logit[i] = powerOfTwo(logit[i] - now);
        sum = sum + logit[i];
      }
    Num factor = powerOfTwo(largest - now);
    for (FragmentC &part : sums)
      for (int64_t i : {2 * half, 2 * half + 1})
        part[i] = part[i] * factor;
    largest = now;
    total = total * factor + sum;
  }

  /// Computes sums += powers . the rows' elements in this warp's columns.
  void addRows(FragmentsC &sums, ArrayRef<FragmentC> powers, const MmaTile &rows) {
    for (size_t k = 0; k < powers.size(); k += 2) {
      FragmentA ofKeys = packFragment(e, powers[k], powers[k + 1]);
      for (size_t j = 0; j < sums.size(); j += 2) {
        auto columns = loadFragmentsB(e, rows.transposed(), firstColumn() + j * kMmaColumns,
                                      e.index(k * kMmaColumns), lane);
        for (size_t next : {0, 1})
          sums[j + next] = multiply(e, ofKeys, columns[next], sums[j + next]);
      }
    }
  }

  //===--------------------------------------------------------------------===//
  // Results
  //===--------------------------------------------------------------------===//

  void emitEnd(Value hasRows, ArrayRef<Num> state) {
    Num totals[2];
    for (int64_t half : {0, 1})
      totals[half] = acrossLanes(e, state[2 + half], 4, sumOf);
    FragmentsC sums = unflatten(state.drop_front(4));
    if (parts.count > 1)
      return ifThen(e, hasRows, [&] { storePart(state, totals, sums); });
    for (int64_t half : {0, 1}) {
      Num factor = 1.0 / maximum(totals[half], e.number(1.0));
      storeRow(out, half, outPlace(query, rowOf(half)), sums, factor);
    }
  }

  void storePart(ArrayRef<Num> state, ArrayRef<Num> totals, ArrayRef<FragmentC> sums) {
    int64_t ofPart = parts.groups * parts.heads;
    Index first =
        (place.tokenOfLaunch * parts.count + place.part) * ofPart + place.group * parts.heads;
    for (int64_t half : {0, 1}) {
      Index row = first + rowOf(half);
      storeRow(partSums.sums, half, row * valueSize, sums, e.number(1.0));
      Value isFirst = both(e, equal(lane.pair, e.index(0)), equal(share, e.index(0)));
      ifThen(e, both(e, isFirst, less(rowOf(half), countOfHeads())),
             [&] { storePair(e, partSums.statistics, row * 2, state[half], totals[half]); });
    }
  }

  /// Stores this warp's columns of a head, which begins at `begin`.
  void storeRow(Buffer to, int64_t half, Index begin, ArrayRef<FragmentC> sums, Num factor) {
    ifThen(e, less(rowOf(half), countOfHeads()), [&] {
      for (auto [j, sum] : llvm::enumerate(sums)) {
        Index column = firstColumn() + lane.pair * 2 + j * kMmaColumns;
        auto store = [&, &sum = sum] {
          storePair(e, to, begin + column, sum[2 * half] * factor, sum[2 * half + 1] * factor);
        };
        // The last warps repeat columns of others where there are too few.
        areWhole() ? store() : ifThen(e, atLeast(column, share * shape.columns), store);
      }
    });
  }

  //===--------------------------------------------------------------------===//
  // Places
  //===--------------------------------------------------------------------===//

  Index rowOf(int64_t half) { return strip * kMmaRows + lane.group + 8 * half; }
  Index scorePlace(int64_t half, Index firstKey, size_t fragment) {
    return rowOf(half) * kPitch + firstKey + lane.pair * 2 + fragment * kMmaColumns;
  }
  bool areWhole() const { return shape.shares * shape.columns == valueSize; }
  Index firstColumn() {
    Index own = share * shape.columns;
    return areWhole() ? own : minimum(own, e.index(valueSize - shape.columns));
  }

  /// Returns the number for a part of a full cache.
  double expectedBlocks() const {
    return static_cast<double>(reach) / static_cast<double>(parts.count * kBlock);
  }

  PartSums partSums;
  BlockPlace place;
};

/// Adds the parts of a head of a token in order.
class PartAdder : CachedKeys {
public:
  PartAdder(const CachedKeys &keys, const LatentParts &parts, PartSums partSums, Index token,
            Index tokenOfLaunch, Index head)
      : CachedKeys(keys), parts(parts), partSums(partSums), query(queryOf(token, e.index(0), head)),
        row(tokenOfLaunch * parts.count * ofPart() + head) {}

  void emit() {
    Num largest = foldParts(e.number(lowestScore(e)), [&](Index place, Num carried) {
      return maximum(carried, e.load(partSums.statistics, place * 2));
    });
    auto weightOf = [&](Index place) {
      return powerOfTwo(e.load(partSums.statistics, place * 2) - largest);
    };
    Num total = foldParts(e.number(0.0), [&](Index place, Num carried) {
      return carried + weightOf(place) * e.load(partSums.statistics, place * 2 + 1);
    });
    Num factor = 1.0 / maximum(total, e.number(1.0));
    forLanes(e, valueSize, [&](Index i, unsigned lanes) {
      Num sum = foldParts(e.splat(0.0, lanes), [&](Index place, Num carried) {
        return carried + e.load(partSums.sums, place * valueSize + i, lanes) * weightOf(place);
      });
      e.store(out, outPlace(query, e.index(0)) + i, sum * factor);
    });
  }

private:
  int64_t ofPart() const { return parts.groups * parts.heads; }

  Num foldParts(Num initial, function_ref<Num(Index place, Num carried)> body) {
    Index first = query.begin / parts.positions, end = ceilDiv(query.end, e.index(parts.positions));
    return fold(e, first, end, {initial}, [&](Index part, ArrayRef<Num> carried) -> Row {
      expectIterations(e.builder().getInsertionBlock()->getParentOp(),
                       static_cast<double>(parts.count));
      return {body(row + part * ofPart(), carried[0])};
    })[0];
  }

  LatentParts parts;
  PartSums partSums;
  CachedQuery query;
  Index row;
};

} // namespace

/// Groups of heads that read the same rows run at the same time, so that caches can serve the
/// second.
static void launchParts(LatentAttentionOp op, KernelEmitter &e, const LatentParts &parts,
                        PartSums partSums, Index firstToken) {
  auto rank = static_cast<int64_t>(op.getRank());
  WarpShape shape(parts, rank);
  int64_t width = op.getRow().getType().getDimSize(2);
  deviceLoops(e).launch(
      e, parts.tokens * parts.count * parts.groups, shape.threads(),
      [&](Index block, Index thread) {
        Index token = block / (parts.count * parts.groups);
        BlockPlace place{firstToken + token, token, block % parts.groups,
                         block / parts.groups % parts.count};
        Emission(CachedKeys(op, e), parts, partSums, place, thread).emit();
      },
      latentBlockBytes(parts.rows(), width));
}

static void launchAdder(LatentAttentionOp op, KernelEmitter &e, const LatentParts &parts,
                        PartSums partSums, Index firstToken) {
  auto heads = static_cast<int64_t>(op.getHeads()), rank = static_cast<int64_t>(op.getRank());
  forRows(e, parts.tokens * heads, {.width = rank}, [&](Index row) {
    Index token = row / heads;
    PartAdder(CachedKeys(op, e), parts, partSums, firstToken + token, token, row % heads).emit();
  });
}

void llmmem::emitMmaLatentAttention(LatentAttentionOp op, KernelEmitter &e, LatentParts parts) {
  PartSums partSums(e, parts, static_cast<int64_t>(op.getRank()));
  auto launchTokens = [&](Index first) {
    launchParts(op, e, parts, partSums, first);
    if (parts.count > 1)
      launchAdder(op, e, parts, partSums, first);
  };
  int64_t tokens = op.getPositions().getType().getNumElements();
  if (parts.tokens == tokens)
    return launchTokens(e.index(0));
  forEach(e, tokens / parts.tokens, [&](Index round) { launchTokens(round * parts.tokens); });
}
