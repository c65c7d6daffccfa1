//===- WarpgroupTiles.cpp - Which tiles wgmma makes, how long they take ----===//

#include "llmmem/Targets/WarpgroupTiles.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace llmmem;
using namespace llmmem::llm;

namespace {
/// A multiprocessor's, of wgmma, of shared memory and of its share of the second-level cache.
constexpr double kMultiplyAdds = 1704, kSharedBytes = 128, kCacheBytes = 33.5;
/// Rows of A that one wgmma reads.
constexpr int64_t kInstructionRows = 64, kInner = WarpgroupTileSize::kInner;
/// From a copy's begin to its data.
constexpr double kLatency = 1000;
/// Blocks that share a tile wait for each other, at their begin and at each step. How long was not
/// measured: so much more time is what sharing must save at least.
constexpr double kWaiting = 1.02;
} // namespace

/// A step by the tensor cores, and by what shared memory reads for them and is written. Example:
/// 1846 for 256 x 192.
static double cyclesOfMultiplying(WarpgroupTileSize size) {
  auto r = static_cast<double>(size.rows), c = static_cast<double>(size.columns);
  double copied = (r + c) * kInner * 2,
         read = r / kInstructionRows * (kInstructionRows + c) * kInner * 2;
  return std::max(r * c * kInner / kMultiplyAdds, (copied + read) / kSharedBytes);
}

/// The same by the second-level cache. Example: 1712 for 256 x 192, and 1223 where A is shared.
static double cyclesOfFetching(WarpgroupTileSize size, SharedTile shared) {
  int64_t a = shared == SharedTile::OfA ? size.rows / kSharingBlocks : size.rows,
          b = shared == SharedTile::OfB ? size.columns / kSharingBlocks : size.columns;
  return static_cast<double>((a + b) * kInner * 2) / kCacheBytes;
}

/// A tile takes the longer of both, in which the cache also takes the sums of the tile before; and
/// the first copies and the last stores, beside which nothing runs.
double llm::cyclesOfTiles(WarpgroupTileSize size, const WarpgroupProduct &product,
                          SharedTile shared) {
  int64_t tiles = product.count * llvm::divideCeil(product.rows, size.rows) *
                  llvm::divideCeil(product.columns, size.columns);
  auto turns = static_cast<double>(llvm::divideCeil(tiles, kMultiprocessors)),
       steps = static_cast<double>(product.steps);
  double store = static_cast<double>(size.rows * size.columns * product.stored) / kCacheBytes;
  double waiting = shared == SharedTile::None ? 1 : kWaiting;
  return waiting * turns *
         (std::max(steps * cyclesOfMultiplying(size),
                   steps * cyclesOfFetching(size, shared) + store) +
          kLatency + store);
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
