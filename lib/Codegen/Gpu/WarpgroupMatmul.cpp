//===- WarpgroupMatmul.cpp - Matmuls by wgmma -----------------------------===//

#include "WarpgroupMatmul.h"
#include "BoxStages.h"
#include "ClusterSums.h"
#include "MmaSums.h"
#include "WarpgroupTile.h"
#include "llmmem/Codegen/Gpu/Cluster.h"
#include "llmmem/Device/GpuGeometry.h"
#include "llmmem/Targets/LossHeadWorkspace.h"
#include "llmmem/Targets/WarpgroupTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace llmmem;

bool llmmem::isWarpgroupMatmul(const KernelOptions &options, const Matmul &matmul) {
  const int64_t rows = matmul.chosen.ofInstructions ? matmul.chosen.ofInstructions : matmul.rows;
  return isByWarpgroup(options.tensorCores) && rows > kWgmmaRows && matmul.columns >= kSwizzledLine;
}

namespace {

/// Two warpgroups compute a tile of C, each the upper or the lower half of its rows, `rowParts`
/// times 64.
///
/// A multiprocessor has room for one block: its sums have up to 192 registers of each thread, and
/// its stages up to 224 KiB. So large tiles read the second-level cache least, and a tile is chosen
/// by a model of the busiest multiprocessor's time.
struct WarpgroupTiles {
  static constexpr int64_t kWarpgroups = 2, kThreads = kWarpgroups * kWarpgroup,
                           kInner = kSwizzledLine;
  static constexpr int32_t kRegisters = 255;

  /// Chooses tiles for `count` matmuls in one launch; tensor maps bring them if `byMaps`.
  WarpgroupTiles(const Matmul &p, int64_t count, bool byMaps, llm::TileLimits limits)
      : byMaps(byMaps), parts(p.clusterParts()), linesA(linesOf(p.a.transposed)) {
    linesB = linesOf(!p.b.transposed);
    innerSteps = llvm::divideCeil(p.inner, kInner);
    steps = llvm::divideCeil(p.terms.count * innerSteps, parts);
    if (!byMaps)
      limits.sharing = llm::TileSharing::Never;
    choose(p, count, limits);
    grid.columns = llvm::divideCeil(p.columns, columns);
    grid.tilesOfOne = llvm::divideCeil(p.rows, rows) * grid.columns;
    grid.tiles = count * grid.tilesOfOne;
    grid.blocks = parts > 1 ? grid.tiles * parts : std::min(grid.tiles, tunedGpu().multiprocessors);
    // One thread makes the copies by maps, so it is better the more of them are in flight.
    if (byMaps)
      stages =
          std::clamp<int64_t>(bytesForStages() / (sizeOfStage() * 2), kLeastStages, kMostStages);
  }

  int64_t sizeOfStage() const { return WarpgroupTile::sizeOf(rows + copiedColumns()); }
  int64_t copiedColumns() const {
    return linesB == MmaTile::Lines::Inner ? llm::WarpgroupTileSize{rows, columns}.copiedColumns()
                                           : columns;
  }
  int64_t bytesOfStages() const { return stages * sizeOfStage() * 2; }
  /// Returns the shared memory that a launch needs: the stages, and after them mbarriers.
  int64_t bytes() const {
    return bytesOfStages() + (byMaps ? BoxStages::bytesOfBarriers(stages) : 0);
  }
  /// Returns by how many steps copies are ahead of what is multiplied: they go into the stage of
  /// the step before the last.
  int64_t ahead() const { return stages - 2; }
  int64_t rowParts() const { return rows / kWarpgroups / kWgmmaRows; }
  bool haveOneTile() const { return parts > 1 || grid.tiles == grid.blocks; }
  int64_t sharing() const { return shared == llm::SharedTile::None ? 1 : llm::kSharingBlocks; }
  int64_t clusterBlocks() const { return parts * sharing(); }
  WarpSums warpSums() const {
    return {.rowParts = rowParts(),
            .columnParts = columns / kMmaColumns,
            .rowDistance = kWgmmaRows,
            .warpColumns = 1,
            .storesFour = true};
  }

  bool byMaps;
  int64_t stages = kLeastStages;
  int64_t rows = 0, columns = 0;
  /// Counts the tiles of a row of C, of one matmul and of all, and the blocks that share them:
  /// block b has tiles b, b + `blocks`, ...
  struct Grid {
    int64_t columns, tilesOfOne, tiles, blocks;
  } grid;
  int64_t innerSteps; // Those of one term.
  /// Count the blocks of a cluster that share the steps of a tile, and the steps of each: the last
  /// may end after the terms, where tiles are 0. Neighbours in the cluster have the same part.
  int64_t parts, steps;
  llm::SharedTile shared = llm::SharedTile::None;
  MmaTile::Lines linesA, linesB;

private:
  static constexpr int64_t kLeastStages = 4, kMostStages = 8;
  /// These bytes of a block's shared memory are left to mbarriers.
  static constexpr int64_t kBarrierBytes = 3 << 10;
  static int64_t bytesForStages() { return tunedGpu().blockSharedBytes - kBarrierBytes; }

  /// Tiles have rows of A and columns of B, in lines as in memory.
  static MmaTile::Lines linesOf(bool isTurned) {
    return isTurned ? MmaTile::Lines::Inner : MmaTile::Lines::Rows;
  }

  static bool isInF32(const Buffer &buffer) { return buffer.element && buffer.element.isF32(); }

  void choose(const Matmul &p, int64_t count, const llm::TileLimits &limits) {
    llm::WarpgroupProduct product = {
        .rows = p.rows,
        .columns = p.columns,
        .steps = p.terms.count * innerSteps,
        .count = count,
        .stored = isInF32(p.c.buffer) ? 4 : 2,
        .parts = parts,
    };
    // The softmax is summed tile by tile, for which the plan has memory.
    int64_t ofSoftmax = !p.softmax() ? 0 : p.columns > 64 ? llm::kLogitsTile : 64;
    llm::WarpgroupLaunch launch = llm::fastestLaunch(product, limits, ofSoftmax);
    rows = launch.size.rows, columns = launch.size.columns, shared = launch.shared;
  }
};

class WarpgroupEmitter {
public:
  using Make = function_ref<Matmul(Index)>;

  WarpgroupEmitter(KernelEmitter &e, const Matmul &first, Make make, const WarpgroupTiles &sizes,
                   Index block, Index thread)
      : e(e), make(make), sizes(sizes), block(block), thread(thread),
        memory(dynamicWorkgroup(e, sizes.bytes())),
        stages(partOf(e, memory, 0, sizes.bytesOfStages() / 2, halfTypeOf(e))) {
    if (sizes.byMaps)
      boxes.emplace(e, first,
                    BoxStages::Sizes{sizes.rows, sizes.columns, sizes.sizeOfStage(), sizes.stages,
                                     WarpgroupTiles::kThreads, sizes.shared, sizes.parts},
                    memory, sizes.bytesOfStages(), thread);
  }

  void emit() {
    if (boxes)
      boxes->makeBarriers(WarpgroupTiles::kRegisters);
    for (int64_t step = 0; step < sizes.ahead(); ++step) {
      copyStep(firstTile(), e.index(step));
      if (!boxes)
        commitCopies(e);
    }
    if (sizes.haveOneTile())
      emitTile(firstTile());
    else
      forSteps(e, block, e.index(sizes.grid.tiles), sizes.grid.blocks,
               [&](Index tile) { emitTile(tile); });
    // A block's memory ends with the block.
    if (sizes.clusterBlocks() > 1)
      clusterBarrier(e, sizes.clusterBlocks());
  }

private:
  /// Describes a tile of C: its matmul, and where it begins. Neighbouring tiles lie in a row, and
  /// so share A; in pairs of a column where blocks share B. Because tiles are even in number then,
  /// and so are blocks, the tiles of the two blocks of a cluster always are such a pair.
  struct TilePosition {
    Matmul matmul;
    Index row, column, ofRow;
  };
  TilePosition placeOf(Index tile) {
    bool isOne = sizes.grid.tiles == sizes.grid.tilesOfOne;
    Index ofMatmul = isOne ? tile : tile % sizes.grid.tilesOfOne;
    Index row = ofMatmul / sizes.grid.columns, column = ofMatmul % sizes.grid.columns;
    if (sizes.shared == llm::SharedTile::OfB) {
      constexpr int64_t sharing = llm::kSharingBlocks;
      Index pair = ofMatmul / sharing;
      row = pair / sizes.grid.columns * sharing + ofMatmul % sharing;
      column = pair % sizes.grid.columns;
    }
    return {make(isOne ? e.index(0) : tile / sizes.grid.tilesOfOne), row * sizes.rows,
            column * sizes.columns, column};
  }

  Index firstTile() {
    if (sizes.parts == 1)
      return block;
    return block / sizes.clusterBlocks() * sizes.sharing() + block % sizes.sharing();
  }

  void emitTile(Index tile) {
    Index ofWarpgroup = thread / kWarpgroup * (sizes.rowParts() * kWgmmaRows);
    Row sums = emitSteps(tile, ofWarpgroup, beginSums(tile, ofWarpgroup));
    // It is computed again, because places that live through the steps would take registers.
    TilePosition at = placeOf(tile);
    MmaSums stored = sumsAt(at, ofWarpgroup);
    if (sizes.parts > 1)
      return storeShare(sums, stored);
    stored.store(sums);
    if (at.matmul.softmax())
      stored.storeSoftmax(sums, at.ofRow);
  }

  void storeShare(ArrayRef<Num> sums, MmaSums &stored) {
    WarpSums shape = sizes.warpSums();
    int64_t size = ClusterSums::sizeOf(shape, sizes.parts, WarpgroupTiles::kThreads);
    ClusterSums ofCluster(e, shape, {sizes.parts, sizes.sharing()}, WarpgroupTiles::kThreads,
                          partOf(e, memory, 0, size, e.computeType()), thread,
                          block % sizes.clusterBlocks());
    Row share = ofCluster.add(sums);
    stored.storeHalves(share, ofCluster.half(), ofCluster.firstFragment());
  }

  MmaSums sumsAt(const TilePosition &at, Index ofWarpgroup) {
    Index ofWarp = thread / kWarp % (kWarpgroup / kWarp) * kMmaRows;
    return {
        e,          at.matmul,     sizes.warpSums(),
        sizes.rows, sizes.columns, {thread, at.row, at.column, ofWarpgroup + ofWarp, e.index(0)}};
  }

  Row beginSums(Index tile, Index ofWarpgroup) {
    Row parts(sizes.rowParts(), {&e.builder(), nullptr});
    TilePosition at = placeOf(tile);
    if (!at.matmul.continued().buffer) {
      for (Num &part : parts)
        part.value = zeroSums(e, sizes.columns);
      return parts;
    }
    Row begin = sumsAt(at, ofWarpgroup).begin();
    size_t size = begin.size() / parts.size();
    for (auto [number, part] : llvm::enumerate(parts))
      part.value = makeSums(e, ArrayRef<Num>(begin).slice(number * size, size));
    return parts;
  }

  /// The block's step s, counted over all its tiles, multiplies stage s % `stages`, while wgmma
  /// still works on step s - 1. Its barrier says two things: everything that all threads have
  /// copied for the step is complete, and all warpgroups have waited for step s - 2, into whose
  /// stage the copies for step s + ahead go. At the end of a tile these are the next one's first,
  /// so that its data arrive while sums are stored. With tensor maps two mbarriers of the stage say
  /// it (BoxStages.h), and only the warp that copies waits for another.
  Row emitSteps(Index tile, Index ofWarpgroup, ArrayRef<Num> begin) {
    Index before = sizes.haveOneTile() ? e.index(0) : tile / sizes.grid.blocks * sizes.steps;
    Row sums =
        fold(e, e.index(0), e.index(sizes.steps), begin, [&](Index step, ArrayRef<Num> sums) {
          waitForStep(before + step);
          Row next = startStep(before + step, ofWarpgroup, sums);
          copyStep(tile, step + sizes.ahead(), before);
          // It commits even where there was nothing left to copy, because the wait counts groups.
          if (!boxes)
            commitCopies(e);
          waitForWgmma(e, 1);
          if (boxes)
            boxes->releaseBefore(before + step, rankOf(tile));
          return next;
        });
    waitForWgmma(e, 0);
    Row all;
    for (Num part : sums)
      llvm::append_range(all, takeSums(e, part.value));
    return all;
  }

  void waitForStep(Index step) {
    if (boxes)
      return boxes->waitForTiles(step);
    waitForCopies(e, static_cast<int32_t>(sizes.ahead() - 1));
    barrierBeforeWgmma(e, WarpgroupTiles::kRegisters);
  }

  Row startStep(Index step, Index ofWarpgroup, ArrayRef<Num> sums) {
    WarpgroupTile a = tileOfA(step), b = tileOfB(step);
    Value ofA = a.descriptor(e, ofWarpgroup), ofB = b.descriptor(e, e.index(0));
    Row next(sums);
    fenceSums(e);
    for (int64_t inner = 0; inner < WarpgroupTiles::kInner; inner += kMmaInner)
      for (int64_t part = 0; part < sizes.rowParts(); ++part)
        next[part].value = startWgmma(e, a, a.advance(e, ofA, part * kWgmmaRows, inner), b,
                                      b.advance(e, ofB, 0, inner), next[part].value);
    commitWgmma(e);
    return next;
  }

  /// Returns the rank in the cluster of the block that has a tile. It depends on the tile and not
  /// on the block, which would occupy a register through all steps, where only one thread needs it.
  Index rankOf(Index tile) {
    return sizes.parts == 1 ? tile % llm::kSharingBlocks : block % sizes.clusterBlocks();
  }

  Index stageOf(Index step) { return step % sizes.stages * sizes.sizeOfStage(); }
  WarpgroupTile tileOfA(Index step) { return {stages, stageOf(step), sizes.rows, sizes.linesA}; }
  WarpgroupTile tileOfB(Index step) {
    return {stages, stageOf(step) + WarpgroupTile::sizeOf(sizes.rows), sizes.columns, sizes.linesB};
  }

  /// Starts the copies for step `step` from the beginning of `tile` on, which may be one of the
  /// block's next tile; nothing after its last one. The tile begins with the block's step `before`.
  void copyStep(Index tile, Index step, std::optional<Index> before = std::nullopt) {
    bool isLast = sizes.haveOneTile();
    Index of = isLast ? tile : tile + step / sizes.steps * sizes.grid.blocks,
          own = isLast ? step : step % sizes.steps, stage = before ? *before + step : step;
    Value exists = isLast ? less(step, e.index(sizes.steps)) : less(of, e.index(sizes.grid.tiles));
    if (boxes)
      exists = arith::AndIOp::create(e.builder(), e.location(), exists, boxes->isCopying());
    ifThen(e, exists, [&] {
      TilePosition at = placeOf(of);
      const Matmul &p = at.matmul;
      if (sizes.parts > 1)
        own = own + rankOf(of) / sizes.sharing() * sizes.steps;
      Index term = p.terms.count == 1 ? e.index(0) : own / sizes.innerSteps,
            inner = (p.terms.count == 1 ? own : own % sizes.innerSteps) * WarpgroupTiles::kInner;
      if (boxes)
        return boxes->copy(p, tileOfA(stage), tileOfB(stage),
                           {stage, at.row, at.column, inner, rankOf(of)},
                           /*waits=*/before.has_value());
      copy(tileOfA(stage), p, p.a, term * p.terms.stepA, at.row, p.rows, inner);
      copy(tileOfB(stage), p, p.b, term * p.terms.stepB, at.column, p.columns, inner);
    });
  }

  void copy(const WarpgroupTile &tile, const Matmul &p, const Matrix &matrix, Index term,
            Index first, int64_t bound, Index inner) {
    for (const auto &[ofPart, part] : tile.parts()) {
      TileSource source{matrix.buffer,
                        beginOf(e, matrix) + term,
                        matrix.pitch,
                        first + ofPart,
                        inner,
                        e.index(bound),
                        p.innerBound().value_or(e.index(p.inner))};
      copyTile(e, part, source, thread, WarpgroupTiles::kThreads);
    }
  }

  KernelEmitter &e;
  Make make;
  const WarpgroupTiles &sizes;
  Index block, thread;
  Buffer memory, stages;
  std::optional<BoxStages> boxes;
};

} // namespace

void llmmem::emitWarpgroupMatmuls(KernelEmitter &e, int64_t count, const Matmul &first,
                                  function_ref<Matmul(Index)> make) {
  bool byMaps =
      e.options().tensorCores == TensorCores::WarpgroupTma && BoxStages::canCopy(first, count);
  WarpgroupTiles sizes(first, count, byMaps, e.options().tiles);
  auto emitBlock = [&](Index block, Index thread) {
    WarpgroupEmitter(e, first, make, sizes, block, thread).emit();
  };
  deviceLoops(e).launch(e, sizes.grid.blocks, WarpgroupTiles::kThreads, emitBlock, sizes.bytes());
}
