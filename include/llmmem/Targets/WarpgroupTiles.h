//===- WarpgroupTiles.h - Which tiles wgmma makes, and how long they take --===//
//
// A model of the busiest multiprocessor of an H100, by which tiles are chosen
// (benchmarks/roofline.py has the figures and where they are from). In cycles.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TARGETS_WARPGROUPTILES_H
#define LLMMEM_TARGETS_WARPGROUPTILES_H

#include <cstdint>

namespace llmmem::llm {

/// Those of an H100, for which tiles and parts are chosen.
constexpr int64_t kMultiprocessors = 132;

/// Of a tile of C that a block of two warpgroups computes, in steps of 64 terms.
struct WarpgroupTileSize {
  static constexpr int64_t kInner = 64;

  int64_t rows, columns;
};

/// The larger, the less a tile reads of the second-level cache; the first has all registers for its
/// sums.
constexpr WarpgroupTileSize kWarpgroupTiles[] = {{256, 192}, {128, 256}, {256, 128}, {128, 192},
                                                 {128, 128}, {256, 64},  {128, 64}};

/// Cycles of a launch whose blocks compute whole tiles of `count` matmuls, `steps` long each, and
/// store elements of `stored` bytes.
double cyclesOfTiles(WarpgroupTileSize size, int64_t rows, int64_t columns, int64_t steps,
                     int64_t count, int64_t stored = 2);

} // namespace llmmem::llm

#endif // LLMMEM_TARGETS_WARPGROUPTILES_H
