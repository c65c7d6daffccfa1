//===- WarpgroupTiles.cpp - Which tiles wgmma makes, how long they take ----===//

#include "llmmem/Targets/WarpgroupTiles.h"
#include "llmmem/Device/GpuGeometry.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <limits>

using namespace llmmem;
using namespace llmmem::llm;

/// Counts the rows of A that one wgmma reads.
static constexpr int64_t kInstructionRows = 64;

static double bytesOfStep(WarpgroupTileSize size) {
  return static_cast<double>((size.rows + size.copiedColumns()) * WarpgroupTileSize::kInner * 2);
}

/// Returns the cycles of a step by the tensor cores, and by what shared memory reads for them and
/// receives. Example: 1846 for 256 x 192.
static double cyclesOfMultiplying(WarpgroupTileSize size) {
  constexpr int64_t inner = WarpgroupTileSize::kInner;
  auto r = static_cast<double>(size.rows), c = static_cast<double>(size.columns);
  double read = r / kInstructionRows * (kInstructionRows + c) * inner * 2;
  const ClockRates &clock = tunedGpu().perClock;
  return std::max(r * c * inner / clock.wgmmaMultiplyAdds,
                  (bytesOfStep(size) + read) / clock.sharedBytes);
}

/// Returns the longer of that and of its copies. Tiles of 128 x 128 and 128 x 192 get as much of
/// the second-level cache whether neighbouring multiprocessors run or not, and whether a tile is
/// shared or not: multicast changes the requests to the cache, not what arrives. Example: 1024 for
/// 128 x 192, whose products take 923.
static double cyclesOfStep(WarpgroupTileSize size, const WarpgroupProduct &product,
                           SharedTile shared) {
  bool isApart = product.parts > 1 && shared == SharedTile::None;
  const ClockRates &clock = tunedGpu().perClock;
  double step = std::max(cyclesOfMultiplying(size),
                         bytesOfStep(size) / (isApart ? clock.apartBytes : clock.cacheBytes));
  return product.parts == 1 && shared != SharedTile::None ? clock.sharedStep * step : step;
}

/// Each block of a cluster that shares the terms adds the sums of all in its share of the tile. It
/// sends those of the others, which lie in its shared memory, and nothing overlaps that. Example:
/// 6377 for two parts of 128 x 256.
static double cyclesOfAdding(WarpgroupTileSize size, int64_t parts) {
  if (parts == 1)
    return 0;
  auto handedOver = static_cast<double>(size.rows * size.columns * 4 * (parts - 1) / parts);
  const ClockRates &clock = tunedGpu().perClock;
  return handedOver / clock.sharedBytes + handedOver / clock.peerBytes + clock.meeting;
}

/// A tile takes its steps, and the first copies and the last stores, which nothing overlaps.
double llm::cyclesOfTiles(WarpgroupTileSize size, const WarpgroupProduct &product,
                          SharedTile shared) {
  const ClockRates &clock = tunedGpu().perClock;
  int64_t tiles = product.count * llvm::divideCeil(product.rows, size.rows) *
                  llvm::divideCeil(product.columns, size.columns);
  int64_t sharing = shared == SharedTile::None ? 1 : kSharingBlocks,
          atOnce = tunedGpu().blocksAtOnce(sharing * product.parts);
  auto turns = static_cast<double>(llvm::divideCeil(tiles * product.parts, atOnce)),
       steps = static_cast<double>(llvm::divideCeil(product.steps, product.parts));
  double store = static_cast<double>(size.rows * size.columns * product.stored) /
                 static_cast<double>(product.parts) / clock.storedBytes;
  double pairing = sharing == 1 || product.parts > 1 ? 0 : clock.pairing;
  return pairing + turns * (steps * cyclesOfStep(size, product, shared) + clock.copyLatency +
                            store + cyclesOfAdding(size, product.parts));
}

SharedTile llm::sharedTileOf(WarpgroupTileSize size, const WarpgroupProduct &product,
                             TileSharing sharing) {
  if (sharing == TileSharing::Never)
    return SharedTile::None;
  auto arePairs = [](int64_t lines, int64_t ofTile) {
    return llvm::divideCeil(lines, ofTile) % kSharingBlocks == 0;
  };
  SharedTile larger = size.rows > size.columns ? SharedTile::OfA : SharedTile::OfB,
             smaller = larger == SharedTile::OfA ? SharedTile::OfB : SharedTile::OfA;
  for (SharedTile shared : {larger, smaller}) {
    bool fits = shared == SharedTile::OfA ? arePairs(product.columns, size.columns)
                                          : arePairs(product.rows, size.rows);
    if (fits && (sharing == TileSharing::Always ||
                 cyclesOfTiles(size, product, shared) < cyclesOfTiles(size, product)))
      return shared;
  }
  return SharedTile::None;
}

static std::string nameOf(WarpgroupTileSize size) {
  return std::to_string(size.rows) + "x" + std::to_string(size.columns);
}

std::optional<WarpgroupTileSize> llm::warpgroupTileOf(std::string_view name) {
  for (WarpgroupTileSize size : kWarpgroupTiles)
    if (name == nameOf(size))
      return size;
  return std::nullopt;
}

std::string llm::expectedTiles() {
  return "expected " + llvm::join(llvm::map_range(kWarpgroupTiles, nameOf), ", ");
}

/// Returns whether `columns`, if there are any, and the parts of a product allow tiles of this
/// size.
static bool mayHave(WarpgroupTileSize size, const WarpgroupProduct &product, int64_t columns) {
  // A share has whole vectors of four numbers of a thread (ClusterSums.h), and the largest tile has
  // no registers for the sums of other blocks.
  bool isWhole = size.columns == size.copiedColumns(),
       maySplit = size.columns % (8 * product.parts) == 0 && size != kLargestTile;
  return (columns == 0 || size.columns == columns) && (product.parts == 1 ? isWhole : maySplit);
}

WarpgroupLaunch llm::fastestLaunch(const WarpgroupProduct &product, const TileLimits &limits,
                                   int64_t columns) {
  bool isLimited = limits.only && mayHave(*limits.only, product, columns);
  WarpgroupLaunch fastest{.cycles = std::numeric_limits<double>::infinity()};
  for (WarpgroupTileSize size : kWarpgroupTiles) {
    if (!mayHave(size, product, columns) || (isLimited && size != *limits.only))
      continue;
    SharedTile shared = sharedTileOf(size, product, limits.sharing);
    double cycles = cyclesOfTiles(size, product, shared);
    bool isShared = shared != SharedTile::None, wasShared = fastest.shared != SharedTile::None;
    bool isFaster = cycles < fastest.cycles;
    if (limits.sharing == TileSharing::Always && isShared != wasShared ? isShared : isFaster)
      fastest = {size, shared, cycles};
  }
  return fastest;
}
