//===- MmaMatmul.cpp - Matmuls of 16-bit floats on tensor cores -----------===//

#include "MmaMatmul.h"
#include "EmptyRows.h"
#include "MmaSums.h"
#include "WarpgroupMatmul.h"
#include "llmmem/Device/GpuGeometry.h"
#include "llmmem/Dialect/ElementTypes.h"
#include "llmmem/Targets/LossHeadWorkspace.h"

using namespace mlir;
using namespace llmmem;

bool llmmem::isMmaMatmul(const Matmul &matmul) {
  Type a = matmul.a.buffer.element;
  return a == matmul.b.buffer.element && llm::isHalf(a);
}

namespace {

/// Eight warps compute a tile of C; each takes `rowParts` x `columnParts` fragments. While they
/// multiply the tiles of A and B of one step, those of the next `kStages` - 1 steps are copied.
///
/// A tile of 128 x 128 reads 512 bytes of the second-level cache for 128 x 128 x 2 multiply-adds.
/// That is more than the cache of sm_90 delivers while mma.sync computes them; a tile of 256 x 128
/// reads three quarters of it. It needs a multiprocessor for itself, so it is used where there are
/// enough for all.
struct TileSizes {
  static constexpr int64_t kMostColumns = 128, kInner = 32, kWarps = 8, kThreads = kWarps * kWarp,
                           kStages = 3;

  static int64_t rowsOf(const Matmul &p) { return p.chosen.ofTiles ? p.chosen.ofTiles : p.rows; }

  /// Chooses the sizes for `count` matmuls in one launch.
  TileSizes(const Matmul &p, int64_t count)
      : rows(rowsOf(p) > 64 ? 128 : 64), columns(p.columns > 64 ? kMostColumns : 64),
        innerSteps(llvm::divideCeil(p.inner, kInner)), linesA(linesOf(p.a.transposed)),
        linesB(linesOf(!p.b.transposed)) {
    constexpr int64_t kLargeRows = 256;
    // Where sums begin in memory, their places take the registers that 128 sums leave.
    isLarge =
        !p.continued().buffer && p.columns >= kMostColumns &&
        count * (rowsOf(p) / kLargeRows) * (p.columns / kMostColumns) >= tunedGpu().multiprocessors;
    if (isLarge)
      rows = kLargeRows;
    warpColumns = isLarge ? 2 : 4;
    rowParts = rows / (kWarps / warpColumns) / kMmaRows;
    columnParts = columns / warpColumns / kMmaColumns;
    tileColumns = llvm::divideCeil(p.columns, columns);
    blocks = llvm::divideCeil(p.rows, rows) * tileColumns;
  }
  // Where C is narrower, one tile is a whole row.
  static_assert(kMostColumns == llm::kLogitsTile, "the plan reserves memory for other tiles");

  /// Two blocks of 128 x 128 fit a multiprocessor. A large tile's sums alone take 128 registers,
  /// and with narrow tiles the assembler of sm_80 would spill to fit two blocks, so one block may
  /// have all registers.
  int32_t registers() const { return rows == 128 && columns == kMostColumns ? 128 : 255; }

  /// Tiles have rows of A and columns of B, in lines as in memory.
  static MmaTile::Lines linesOf(bool isTurned) {
    return isTurned ? MmaTile::Lines::Inner : MmaTile::Lines::Rows;
  }
  static int64_t sizeOf(int64_t rows, MmaTile::Lines lines) {
    return lines == MmaTile::Lines::Rows ? MmaTile::sizeOf(rows, kInner)
                                         : MmaTile::sizeOf(kInner, rows);
  }
  int64_t sizeOfA() const { return sizeOf(rows, linesA); }
  int64_t sizeOfStage() const { return sizeOfA() + sizeOf(columns, linesB); }
  int64_t bytesOfStages() const { return kStages * sizeOfStage() * 2; }
  WarpSums warpSums() const {
    return {.rowParts = rowParts, .columnParts = columnParts, .warpColumns = warpColumns};
  }
  /// Returns the shared memory that a launch needs beyond workgroup attributions, which have 48 KiB
  /// at most.
  int64_t dynamicBytes() const { return isLarge ? bytesOfStages() : 0; }

  bool isLarge;
  int64_t rows, columns, rowParts, columnParts, warpColumns, tileColumns, blocks;
  int64_t innerSteps; // Those of one term.
  MmaTile::Lines linesA, linesB;
};

class TileEmitter {
public:
  TileEmitter(KernelEmitter &e, const Matmul &p, const TileSizes &sizes, Index block, Index thread)
      : e(e), p(p), sizes(sizes), block(block), thread(thread), lane(MmaLane::of(thread % kWarp)),
        row(block / sizes.tileColumns * sizes.rows),
        column(block % sizes.tileColumns * sizes.columns),
        memory(sizes.isLarge
                   ? dynamicWorkgroup(e, sizes.dynamicBytes())
                   : deviceLoops(e).workgroup(e, bytesOfMemory(), e.builder().getI8Type())),
        stages(partOf(e, memory, 0, sizes.bytesOfStages() / 2, halfTypeOf(e))) {}

  void emitTile() {
    multiplyUnlessEmpty(e, p, {row, sizes.rows, column, sizes.columns},
                        {thread, TileSizes::kThreads}, [&] { multiplyTile(); });
  }

private:
  void multiplyTile() {
    Index warp = thread / kWarp;
    Index warpRow = warp / sizes.warpColumns * (sizes.rowParts * kMmaRows),
          warpColumn = warp % sizes.warpColumns * (sizes.columnParts * kMmaColumns);
    MmaSums ofTile(e, p, sizes.warpSums(), sizes.rows, sizes.columns,
                   {thread, row, column, warpRow, warpColumn});
    Row sums = emitSteps(warpRow, warpColumn, ofTile);
    ofTile.store(sums);
    if (p.softmax())
      ofTile.storeSoftmax(sums, memory, block % sizes.tileColumns);
  }

  //===--------------------------------------------------------------------===//
  // The pipeline
  //===--------------------------------------------------------------------===//

  /// Step s multiplies stage s % kStages. Its barrier says two things: everything that all threads
  /// have copied for the step is complete, and no warp still reads the stage of the previous step,
  /// into which the copies for step s + kStages - 1 go (the multistage pipeline of CUTLASS,
  /// "Efficient GEMM in CUDA": "Pipelining").
  Row emitSteps(Index warpRow, Index warpColumn, MmaSums &ofTile) {
    constexpr int64_t ahead = TileSizes::kStages - 1;
    int64_t steps = p.terms.count * sizes.innerSteps;
    for (int64_t step = 0; step < ahead; ++step) {
      if (step < steps)
        copyStep(e.index(step));
      commitCopies(e);
    }
    return fold(e, e.index(0), e.index(steps), ofTile.begin(), [&](Index step, ArrayRef<Num> sums) {
      waitForCopies(e, ahead - 1);
      barrierNeeding(e, sizes.registers());
      ifThen(e, less(step + ahead, e.index(steps)), [&] { copyStep(step + ahead); });
      // It commits even where there was nothing left to copy, because the wait counts groups.
      commitCopies(e);
      return addMatmul(tileOfA(step), tileOfB(step), warpRow, warpColumn, sums);
    });
  }

  Index stageOf(Index step) { return step % TileSizes::kStages * sizes.sizeOfStage(); }
  MmaTile tileOfA(Index step) {
    return {stages, stageOf(step), sizes.rows, TileSizes::kInner, sizes.linesA};
  }
  MmaTile tileOfB(Index step) {
    return {stages, stageOf(step) + sizes.sizeOfA(), sizes.columns, TileSizes::kInner,
            sizes.linesB};
  }

  void copyStep(Index step) {
    bool isOneTerm = p.terms.count == 1;
    Index term = isOneTerm ? e.index(0) : step / sizes.innerSteps,
          inner = (isOneTerm ? step : step % sizes.innerSteps) * TileSizes::kInner;
    copy(tileOfA(step), p.a, term * p.terms.stepA, row, p.rows, inner);
    copy(tileOfB(step), p.b, term * p.terms.stepB, column, p.columns, inner);
  }

  void copy(const MmaTile &tile, const Matrix &matrix, Index term, Index first, int64_t bound,
            Index inner) {
    TileSource source{matrix.buffer,
                      beginOf(e, matrix) + term,
                      matrix.pitch,
                      first,
                      inner,
                      e.index(bound),
                      p.innerBound().value_or(e.index(p.inner))};
    copyTile(e, tile, source, thread, TileSizes::kThreads);
  }

  /// Returns the bytes of the tiles, and after them, in the same bytes, the partial results of the
  /// softmax.
  int64_t bytesOfMemory() const {
    return std::max(sizes.bytesOfStages(),
                    p.softmax() ? MmaSums::bytesOfSoftmax(sizes.warpSums(), sizes.rows) : 0);
  }

  Row addMatmul(const MmaTile &a, const MmaTile &b, Index row, Index column, ArrayRef<Num> sums) {
    Row next(sums);
    for (int64_t inner = 0; inner < TileSizes::kInner; inner += kMmaInner) {
      SmallVector<FragmentB> columns;
      for (int64_t j = 0; j < sizes.columnParts; j += 2)
        llvm::append_range(columns,
                           loadFragmentsB(e, b, column + j * kMmaColumns, e.index(inner), lane));
      for (int64_t i = 0; i < sizes.rowParts; ++i) {
        FragmentA rows = loadFragmentA(e, a, row + i * kMmaRows, e.index(inner), lane);
        for (int64_t j = 0; j < sizes.columnParts; ++j) {
          Num *c = &next[(i * sizes.columnParts + j) * 4];
          FragmentC sum = multiply(e, rows, columns[j], {c[0], c[1], c[2], c[3]});
          llvm::copy(sum, c);
        }
      }
    }
    return next;
  }

  KernelEmitter &e;
  const Matmul &p;
  TileSizes sizes;
  Index block, thread;
  MmaLane lane;
  Index row, column; // Where in C the tile begins.
  Buffer memory, stages;
};

} // namespace

void llmmem::emitMmaMatmuls(KernelEmitter &e, int64_t count, const Matmul &first,
                            function_ref<Matmul(Index)> make) {
  if (isWarpgroupMatmul(e.options(), first))
    return emitWarpgroupMatmuls(e, count, first, make);
  TileSizes sizes(first, count);
  auto emitBlock = [&](Index block, Index thread) {
    Matmul matmul = make(block / sizes.blocks);
    TileEmitter(e, matmul, sizes, block % sizes.blocks, thread).emitTile();
  };
  deviceLoops(e).launch(e, count * sizes.blocks, TileSizes::kThreads, emitBlock,
                        sizes.dynamicBytes());
}
