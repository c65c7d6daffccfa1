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

/// `count` matmuls of equal sizes in one launch: `steps` of 64 terms, and elements of `stored`
/// bytes.
struct WarpgroupProduct {
  int64_t rows, columns, steps, count = 1, stored = 2;
};

/// The operand of which two neighbouring blocks, a cluster, have the same tile at each step: each
/// copies half of it to both (multicast), so the second-level cache is read once for two blocks.
enum class SharedTile { None, OfA, OfB };
constexpr int64_t kSharingBlocks = 2;

/// Cycles of a launch whose blocks compute whole tiles.
double cyclesOfTiles(WarpgroupTileSize size, const WarpgroupProduct &product,
                     SharedTile shared = SharedTile::None);

/// What blocks should share. Nothing where the second-level cache does not bound what they do, as
/// sharing makes them wait for each other, nor where the tiles of a column (or, to share A, of a
/// row) of C are not pairs. Example: a half of B for 8192 x 1024 in tiles of 128 x 256.
SharedTile sharedTileOf(WarpgroupTileSize size, const WarpgroupProduct &product);

} // namespace llmmem::llm

#endif // LLMMEM_TARGETS_WARPGROUPTILES_H
