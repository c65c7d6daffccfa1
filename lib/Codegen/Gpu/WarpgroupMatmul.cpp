//===- WarpgroupMatmul.cpp - Matmuls by wgmma -----------------------------===//

#include "WarpgroupMatmul.h"
#include "MmaSums.h"
#include "WarpgroupTile.h"
#include "llmmem/Targets/LossHeadWorkspace.h"
#include "llmmem/Targets/SplitSums.h"

using namespace mlir;
using namespace llmmem;

bool llmmem::isWarpgroupMatmul(const KernelOptions &options, const Matmul &matmul) {
  return options.tensorCores == TensorCores::Warpgroup && matmul.rows > kWgmmaRows &&
         matmul.columns >= kSwizzledLine;
}

namespace {

/// Two warpgroups compute a tile of C, each the upper or the lower half of its rows, `rowParts`
/// times 64.
///
/// A multiprocessor has room for one block: its sums have up to 192 registers of each thread, and
/// its stages up to 224 KiB. So large tiles read the second-level cache least, and a tile is chosen
/// by a model of the busiest multiprocessor's time.
struct WarpgroupTiles {
  static constexpr int64_t kWarpgroups = 2, kThreads = kWarpgroups * kWarpgroup, kStages = 4,
                           kInner = kSwizzledLine;
  static constexpr int32_t kRegisters = 255;

  /// For `count` matmuls in one launch.
  WarpgroupTiles(const Matmul &p, int64_t count) : linesA(linesOf(p.a.transposed)) {
    linesB = linesOf(!p.b.transposed);
    innerSteps = llvm::divideCeil(p.inner, kInner);
    choose(p, count);
    rowParts = rows / kWarpgroups / kWgmmaRows;
    tileColumns = llvm::divideCeil(p.columns, columns);
    blocks = llvm::divideCeil(p.rows, rows) * tileColumns;
  }

  int64_t sizeOfStage() const { return WarpgroupTile::sizeOf(rows + columns); }
  int64_t bytesOfStages() const { return kStages * sizeOfStage() * 2; }
  WarpSums warpSums() const {
    return {.rowParts = rowParts,
            .columnParts = columns / kMmaColumns,
            .rowDistance = kWgmmaRows,
            .warpColumns = 1};
  }

  int64_t rows = 0, columns = 0, rowParts, tileColumns, blocks;
  int64_t innerSteps; // of one term
  MmaTile::Lines linesA, linesB;

private:
  /// Tiles have rows of A and columns of B, in lines as they lie in memory.
  static MmaTile::Lines linesOf(bool isTurned) {
    return isTurned ? MmaTile::Lines::Inner : MmaTile::Lines::Rows;
  }

  void choose(const Matmul &p, int64_t count) {
    constexpr std::pair<int64_t, int64_t> sizes[] = {{256, 192}, {128, 256}, {256, 128}, {128, 192},
                                                     {128, 128}, {256, 64},  {128, 64}};
    double least = std::numeric_limits<double>::infinity();
    for (auto [ofRows, ofColumns] : sizes) {
      // The softmax is summed tile by tile, for which the plan has memory.
      if (p.softmax && ofColumns != (p.columns > 64 ? llm::kLogitsTile : 64))
        continue;
      double time = modelledCycles(p, count, ofRows, ofColumns);
      if (time < least) {
        least = time;
        rows = ofRows;
        columns = ofColumns;
      }
    }
  }

  /// Cycles of the busiest multiprocessor of an H100 (benchmarks/roofline.py has the figures and
  /// where they are from): a step is bound by the tensor cores, by what shared memory reads for
  /// them and is written, or by the second-level cache; a tile begins with a copy's latency and
  /// ends with stores.
  double modelledCycles(const Matmul &p, int64_t count, int64_t ofRows, int64_t ofColumns) const {
    constexpr double multiplyAdds = 1704, sharedBytes = 128, cacheBytes = 33.5, latency = 1000;
    int64_t tiles =
        count * llvm::divideCeil(p.rows, ofRows) * llvm::divideCeil(p.columns, ofColumns);
    auto turns = static_cast<double>(llvm::divideCeil(tiles, llm::kMultiprocessors));
    auto steps = static_cast<double>(p.terms * innerSteps), r = static_cast<double>(ofRows),
         c = static_cast<double>(ofColumns);
    double copied = (r + c) * kInner * 2, read = r / kWgmmaRows * (kWgmmaRows + c) * kInner * 2;
    double step = std::max(
        {r * c * kInner / multiplyAdds, (copied + read) / sharedBytes, copied / cacheBytes});
    return turns * (steps * step + latency + r * c * 2 / cacheBytes);
  }
};

class WarpgroupEmitter {
public:
  WarpgroupEmitter(KernelEmitter &e, const Matmul &p, const WarpgroupTiles &sizes, Index block,
                   Index thread)
      : e(e), p(p), sizes(sizes), block(block), thread(thread),
        row(block / sizes.tileColumns * sizes.rows),
        column(block % sizes.tileColumns * sizes.columns),
        memory(deviceLoops(e).dynamicWorkgroup(e, sizes.bytesOfStages())),
        stages(deviceLoops(e).partOf(e, memory, 0, sizes.bytesOfStages() / 2, halfTypeOf(e))) {}

  void emitTile() {
    Index ofWarpgroup = thread / kWarpgroup * (sizes.rowParts * kWgmmaRows);
    Row sums = emitSteps(ofWarpgroup);
    Index ofWarp = thread / kWarp % (kWarpgroup / kWarp) * kMmaRows;
    MmaSums stored(e, p, sizes.warpSums(), sizes.rows, sizes.columns,
                   {thread, row, column, ofWarpgroup + ofWarp, e.index(0)});
    stored.store(sums);
    if (p.softmax)
      stored.storeSoftmax(sums, memory, block % sizes.tileColumns);
  }

private:
  /// Step s multiplies stage s % kStages, while wgmma still works on step s - 1. Its barrier says
  /// two things: what all threads have copied for the step is there, and all warpgroups have waited
  /// for step s - 2, into whose stage the copies for step s + kStages - 2 go.
  Row emitSteps(Index ofWarpgroup) {
    constexpr int64_t ahead = WarpgroupTiles::kStages - 2;
    int64_t steps = p.terms * sizes.innerSteps;
    for (int64_t step = 0; step < ahead; ++step) {
      if (step < steps)
        copyStep(e.index(step));
      commitCopies(e);
    }
    Row zeros;
    for (int64_t part = 0; part < sizes.rowParts; ++part)
      zeros.push_back({&e.builder(), zeroSums(e, sizes.columns)});
    Row sums = e.fold(e.index(0), e.index(steps), zeros, [&](Index step, ArrayRef<Num> sums) {
      waitForCopies(e, ahead - 1);
      barrierBeforeWgmma(e, WarpgroupTiles::kRegisters);
      Row next = startStep(step, ofWarpgroup, sums);
      e.ifThen(less(step + ahead, e.index(steps)), [&] { copyStep(step + ahead); });
      // Also where there was nothing left to copy: the wait counts groups.
      commitCopies(e);
      waitForWgmma(e, 1);
      return next;
    });
    waitForWgmma(e, 0);
    Row all;
    for (Num part : sums)
      llvm::append_range(all, takeSums(e, part.value));
    return all;
  }

  Row startStep(Index step, Index ofWarpgroup, ArrayRef<Num> sums) {
    WarpgroupTile a = tileOfA(step), b = tileOfB(step);
    Value ofA = a.descriptor(e, ofWarpgroup), ofB = b.descriptor(e, e.index(0));
    Row next(sums);
    fenceSums(e);
    for (int64_t inner = 0; inner < WarpgroupTiles::kInner; inner += kMmaInner)
      for (int64_t part = 0; part < sizes.rowParts; ++part)
        next[part].value = startWgmma(e, a, a.advance(e, ofA, part * kWgmmaRows, inner), b,
                                      b.advance(e, ofB, 0, inner), next[part].value);
    commitWgmma(e);
    return next;
  }

  Index stageOf(Index step) { return step % WarpgroupTiles::kStages * sizes.sizeOfStage(); }
  WarpgroupTile tileOfA(Index step) { return {stages, stageOf(step), sizes.rows, sizes.linesA}; }
  WarpgroupTile tileOfB(Index step) {
    return {stages, stageOf(step) + WarpgroupTile::sizeOf(sizes.rows), sizes.columns, sizes.linesB};
  }

  void copyStep(Index step) {
    bool isOneTerm = p.terms == 1;
    Index term = isOneTerm ? e.index(0) : step / sizes.innerSteps,
          inner = (isOneTerm ? step : step % sizes.innerSteps) * WarpgroupTiles::kInner;
    copy(tileOfA(step), p.a, term * p.stepA, row, p.rows, inner);
    copy(tileOfB(step), p.b, term * p.stepB, column, p.columns, inner);
  }

  void copy(const WarpgroupTile &tile, const Matrix &matrix, Index term, Index first, int64_t bound,
            Index inner) {
    for (const auto &[ofPart, part] : tile.parts()) {
      TileSource source{matrix.buffer,
                        beginOf(e, matrix) + term,
                        matrix.pitch,
                        first + ofPart,
                        inner,
                        e.index(bound),
                        p.innerBound.value_or(e.index(p.inner))};
      copyTile(e, part, source, thread, WarpgroupTiles::kThreads);
    }
  }

  KernelEmitter &e;
  const Matmul &p;
  WarpgroupTiles sizes;
  Index block, thread;
  Index row, column; // of C, where the tile begins
  Buffer memory, stages;
};

} // namespace

void llmmem::emitWarpgroupMatmuls(KernelEmitter &e, int64_t count, const Matmul &first,
                                  function_ref<Matmul(Index)> make) {
  WarpgroupTiles sizes(first, count);
  auto emitBlock = [&](Index block, Index thread) {
    Matmul matmul = make(block / sizes.blocks);
    WarpgroupEmitter(e, matmul, sizes, block % sizes.blocks, thread).emitTile();
  };
  deviceLoops(e).launch(e, count * sizes.blocks, WarpgroupTiles::kThreads, emitBlock,
                        sizes.bytesOfStages());
}
