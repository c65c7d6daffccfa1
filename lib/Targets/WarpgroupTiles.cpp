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
} // namespace

/// A step is bound by the tensor cores, by what shared memory reads for them and is written, or by
/// the second-level cache. Example: 1846 for 256 x 192.
static double cyclesOfStep(WarpgroupTileSize size) {
  auto r = static_cast<double>(size.rows), c = static_cast<double>(size.columns);
  double copied = (r + c) * kInner * 2,
         read = r / kInstructionRows * (kInstructionRows + c) * kInner * 2;
  return std::max(
      {r * c * kInner / kMultiplyAdds, (copied + read) / kSharedBytes, copied / kCacheBytes});
}

double llm::cyclesOfTiles(WarpgroupTileSize size, int64_t rows, int64_t columns, int64_t steps,
                          int64_t count, int64_t stored) {
  int64_t tiles =
      count * llvm::divideCeil(rows, size.rows) * llvm::divideCeil(columns, size.columns);
  auto turns = static_cast<double>(llvm::divideCeil(tiles, kMultiprocessors));
  double store = static_cast<double>(size.rows * size.columns * stored) / kCacheBytes;
  return turns * (static_cast<double>(steps) * cyclesOfStep(size) + kLatency + store);
}
