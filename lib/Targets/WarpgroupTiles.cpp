//===- WarpgroupTiles.cpp - Which tiles wgmma makes, how long they take ----===//

#include "llmmem/Targets/WarpgroupTiles.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <limits>

using namespace llmmem;
using namespace llmmem::llm;
using llvm::ArrayRef;

namespace {
/// A multiprocessor's, of wgmma, of shared memory and of its share of the second-level cache.
constexpr double kMultiplyAdds = 1704, kSharedBytes = 128, kCacheBytes = 33.5;
/// What it gets from others of its cluster.
constexpr double kPeerBytes = 13.2;
/// Rows of A that one wgmma reads.
constexpr int64_t kInstructionRows = 64, kInner = WarpgroupTileSize::kInner;
/// From a copy's begin to its data.
constexpr double kLatency = 1000;
/// Two barriers of a cluster, an arrival and an answer each, and the first load behind them.
constexpr double kMeeting = 5 * 180;
/// Blocks that share a tile wait for each other, at their begin and at each step. How long was not
/// measured: so much more time is what sharing must save at least.
constexpr double kWaiting = 1.02;
} // namespace

/// Columns of B that are copied: boxes of a turned one have 64.
static int64_t copiedColumns(WarpgroupTileSize size, const WarpgroupProduct &product) {
  return product.isTurned ? llvm::alignTo(size.columns, kInner) : size.columns;
}

/// A step by the tensor cores, and by what shared memory reads for them and is written. Example:
/// 1846 for 256 x 192.
static double cyclesOfMultiplying(WarpgroupTileSize size, const WarpgroupProduct &product) {
  auto r = static_cast<double>(size.rows), c = static_cast<double>(size.columns);
  double copied = (r + static_cast<double>(copiedColumns(size, product))) * kInner * 2,
         read = r / kInstructionRows * (kInstructionRows + c) * kInner * 2;
  return std::max(r * c * kInner / kMultiplyAdds, (copied + read) / kSharedBytes);
}

/// The same by the second-level cache. Example: 1712 for 256 x 192, and 1223 where A is shared.
static double cyclesOfFetching(WarpgroupTileSize size, const WarpgroupProduct &product,
                               SharedTile shared) {
  int64_t a = size.rows, b = copiedColumns(size, product);
  (shared == SharedTile::OfA ? a : b) /= shared == SharedTile::None ? 1 : kSharingBlocks;
  return static_cast<double>((a + b) * kInner * 2) / kCacheBytes;
}

/// Each block of a cluster that shares out the terms adds the sums of all in its share of the tile:
/// it hands over the others', which lie in its shared memory, and nothing runs beside that.
/// Example: 5863 for two parts of 128 x 232.
static double cyclesOfAdding(WarpgroupTileSize size, int64_t parts) {
  if (parts == 1)
    return 0;
  auto handedOver = static_cast<double>(size.rows * size.columns * 4 * (parts - 1) / parts);
  return handedOver / kSharedBytes + handedOver / kPeerBytes + kMeeting;
}

/// Blocks that run at once, one on a multiprocessor. A cluster lies in a GPC, which has 14 to 18 of
/// them, each card another number (benchmarks/roofline.py).
static int64_t blocksAtOnce(int64_t cluster) {
  if (cluster <= 2)
    return kMultiprocessors;
  int64_t blocks = 0;
  for (int64_t ofGroup : {18, 18, 18, 16, 16, 16, 16, 14})
    blocks += ofGroup / cluster * cluster;
  return blocks;
}

/// A tile takes the longer of both, in which the cache also takes the sums of the tile before; and
/// the first copies and the last stores, beside which nothing runs.
double llm::cyclesOfTiles(WarpgroupTileSize size, const WarpgroupProduct &product,
                          SharedTile shared) {
  int64_t tiles = product.count * llvm::divideCeil(product.rows, size.rows) *
                  llvm::divideCeil(product.columns, size.columns);
  int64_t sharing = shared == SharedTile::None ? 1 : kSharingBlocks,
          atOnce = blocksAtOnce(sharing * product.parts);
  auto turns = static_cast<double>(llvm::divideCeil(tiles * product.parts, atOnce)),
       steps = static_cast<double>(llvm::divideCeil(product.steps, product.parts));
  double store = static_cast<double>(size.rows * size.columns * product.stored) /
                 static_cast<double>(product.parts) / kCacheBytes;
  double waiting = sharing == 1 ? 1 : kWaiting;
  return waiting * turns *
         (std::max(steps * cyclesOfMultiplying(size, product),
                   steps * cyclesOfFetching(size, product, shared) + store) +
          kLatency + store + cyclesOfAdding(size, product.parts));
}

SharedTile llm::sharedTileOf(WarpgroupTileSize size, const WarpgroupProduct &product) {
  auto arePairs = [](int64_t lines, int64_t ofTile) {
    return llvm::divideCeil(lines, ofTile) % kSharingBlocks == 0;
  };
  SharedTile larger = size.rows > size.columns ? SharedTile::OfA : SharedTile::OfB,
             smaller = larger == SharedTile::OfA ? SharedTile::OfB : SharedTile::OfA;
  for (SharedTile shared : {larger, smaller}) {
    bool fits = shared == SharedTile::OfA ? arePairs(product.columns, size.columns)
                                          : arePairs(product.rows, size.rows);
    if (fits && cyclesOfTiles(size, product, shared) < cyclesOfTiles(size, product))
      return shared;
  }
  return SharedTile::None;
}

/// Larger tiles have no registers for what other blocks have summed; and four blocks share out the
/// rows of fragments of 8 columns, and these.
static bool maySplit(WarpgroupTileSize size, int64_t parts) {
  return parts == 1 || (size.rows == 128 && (parts == 2 || size.columns % 16 == 0));
}

WarpgroupLaunch llm::fastestLaunch(const WarpgroupProduct &product, bool byMaps, int64_t columns) {
  WarpgroupLaunch fastest{.cycles = std::numeric_limits<double>::infinity()};
  auto take = [&](ArrayRef<WarpgroupTileSize> sizes) {
    for (WarpgroupTileSize size : sizes) {
      if ((columns != 0 && size.columns != columns) || !maySplit(size, product.parts))
        continue;
      SharedTile shared = byMaps ? sharedTileOf(size, product) : SharedTile::None;
      double cycles = cyclesOfTiles(size, product, shared);
      if (cycles < fastest.cycles)
        fastest = {size, shared, cycles};
    }
  };
  take(kWarpgroupTiles);
  if (byMaps && product.isTurned)
    take(kTurnedTiles);
  return fastest;
}
