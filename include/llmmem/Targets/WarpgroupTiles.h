//===- WarpgroupTiles.h - Which tiles wgmma makes, and how long they take --===//
//
// Models the busiest multiprocessor of the GPU that kernels are tuned for (`tunedGpu`), in cycles,
// to choose tiles. It takes the rates of the GPU's table, and the times that products of GPT-2's
// and Llama's shapes took on an H200 with each kind of tile (docs/Design/Gpu.md, "Which tiles").
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TARGETS_WARPGROUPTILES_H
#define LLMMEM_TARGETS_WARPGROUPTILES_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace llmmem::llm {

/// Describes a tile of C that a block of two warpgroups computes, in steps of 64 terms.
struct WarpgroupTileSize {
  static constexpr int64_t kInner = 64;

  int64_t rows, columns;

  /// Returns the copied columns of B where its lines are terms: boxes have 64 columns. Example: 192
  /// for 160.
  int64_t copiedColumns() const { return (columns + kInner - 1) / kInner * kInner; }
  bool operator==(const WarpgroupTileSize &) const = default;
};

/// Uses all registers for its sums.
constexpr WarpgroupTileSize kLargestTile = {256, 192};
/// A larger tile reads less of the second-level cache. Tiles whose columns are no multiple of 64
/// are for products whose terms blocks share: they divide GPT-2's weights into so many tiles that
/// few multiprocessors are idle.
constexpr WarpgroupTileSize kWarpgroupTiles[] = {kLargestTile, {128, 256}, {256, 128}, {128, 192},
                                                 {128, 128},   {256, 64},  {128, 64},  {256, 160},
                                                 {128, 240},   {128, 160}};

/// Describes `count` matmuls of equal sizes in one launch: `steps` of 64 terms, and elements of
/// `stored` bytes. `parts`, a power of two, is the number of blocks of a cluster that share the
/// terms of a tile. Each computes `steps` / `parts` of them, and the blocks then add their sums.
struct WarpgroupProduct {
  int64_t rows, columns, steps, count = 1, stored = 2, parts = 1;
};

/// Names the operand of which two neighbouring blocks, a cluster, have the same tile at each step.
/// Each copies half of it to both (multicast), so the second-level cache is read once for two
/// blocks.
enum class SharedTile { None, OfA, OfB };
constexpr int64_t kSharingBlocks = 2;

/// Says where blocks share tiles: nowhere, as where threads copy them; where it saves time by the
/// model; or wherever there are pairs of blocks, for measurements and tests.
enum class TileSharing { Never, Modelled, Always };

/// Limits the choice of tiles, where it is not the model's alone. With `only`, all tiles have one
/// size, except for products that cannot have it.
struct TileLimits {
  TileSharing sharing = TileSharing::Modelled;
  std::optional<WarpgroupTileSize> only = std::nullopt;
};

/// Returns the tile of kWarpgroupTiles with a name such as 128x192; none for other text.
std::optional<WarpgroupTileSize> warpgroupTileOf(std::string_view name);
/// Returns text for messages: "expected 256x192, 128x256 ...".
std::string expectedTiles();

/// Returns the cycles of a launch whose blocks, or clusters of parts, compute whole tiles.
double cyclesOfTiles(WarpgroupTileSize size, const WarpgroupProduct &product,
                     SharedTile shared = SharedTile::None);

/// Returns what blocks should share. It is nothing in short launches, in which waiting for each
/// other costs more than sharing saves, and where the tiles of a column (or, to share A, of a row)
/// of C are no pairs. Example: it is a half of B for 8192 x 4096 over 4096 terms in tiles of 128 x
/// 256.
SharedTile sharedTileOf(WarpgroupTileSize size, const WarpgroupProduct &product,
                        TileSharing sharing = TileSharing::Modelled);

/// Says how a launch computes a product.
struct WarpgroupLaunch {
  WarpgroupTileSize size = {0, 0};
  SharedTile shared = SharedTile::None;
  double cycles = 0;
};

/// Returns the fastest launch, in tiles of `columns` columns if that is not 0. Example: 256 x 192
/// for 8192 x 3072.
WarpgroupLaunch fastestLaunch(const WarpgroupProduct &product, const TileLimits &limits = {},
                              int64_t columns = 0);

} // namespace llmmem::llm

#endif // LLMMEM_TARGETS_WARPGROUPTILES_H
