//===- MmaMatmul.cpp - Matmuls of bf16 on tensor cores --------------------===//

#include "MmaMatmul.h"
#include "MmaTile.h"
#include "llmmem/Targets/LossHeadWorkspace.h"
#include "llmmem/Targets/SplitSums.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace llmmem;

bool llmmem::isMmaMatmul(const Matmul &matmul) {
  Type a = matmul.a.buffer.element;
  return a == matmul.b.buffer.element && (a.isBF16() || a.isF16());
}

namespace {

/// Eight warps compute a tile of C; each takes `rowParts` x `columnParts` fragments. While they
/// multiply the tiles of A and B of one step, those of the next `kStages` - 1 steps are copied.
///
/// A tile of 128 x 128 reads 512 bytes of the second-level cache for 128 x 128 x 2 multiply-adds,
/// which is more than that of sm_90 gives while mma.sync computes them; one of 256 x 128 reads
/// three quarters of it. It needs a multiprocessor for itself, so it is used where there are enough
/// for all.
struct TileSizes {
  static constexpr int64_t kMostColumns = 128, kInner = 32, kWarps = 8, kThreads = kWarps * kWarp,
                           kStages = 3;

  static int64_t rowsOf(const Matmul &p) { return p.rowsOfTiles ? p.rowsOfTiles : p.rows; }

  /// For `count` matmuls in one launch.
  TileSizes(const Matmul &p, int64_t count)
      : rows(rowsOf(p) > 64 ? 128 : 64), columns(p.columns > 64 ? kMostColumns : 64),
        innerSteps(llvm::divideCeil(p.inner, kInner)), linesA(linesOf(p.a.transposed)),
        linesB(linesOf(!p.b.transposed)) {
    constexpr int64_t kLargeRows = 256;
    isLarge =
        p.columns >= kMostColumns &&
        count * (rowsOf(p) / kLargeRows) * (p.columns / kMostColumns) >= llm::kMultiprocessors;
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

  /// Tiles have rows of A and columns of B, in lines as they lie in memory.
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
  /// What a launch asks for beyond workgroup attributions, which have 48 KiB at most.
  int64_t dynamicBytes() const { return isLarge ? bytesOfStages() : 0; }

  bool isLarge;
  int64_t rows, columns, rowParts, columnParts, warpColumns, tileColumns, blocks;
  int64_t innerSteps; // of one term
  MmaTile::Lines linesA, linesB;
};

class TileEmitter {
public:
  TileEmitter(KernelEmitter &e, const Matmul &p, const TileSizes &sizes, Index block, Index thread)
      : e(e), p(p), sizes(sizes), block(block), thread(thread), lane(MmaLane::of(thread % kWarp)),
        row(block / sizes.tileColumns * sizes.rows),
        column(block % sizes.tileColumns * sizes.columns),
        memory(sizes.isLarge
                   ? deviceLoops(e).dynamicWorkgroup(e, sizes.dynamicBytes())
                   : deviceLoops(e).workgroup(e, bytesOfMemory(), e.builder().getI8Type())),
        stages(deviceLoops(e).partOf(e, memory, 0, sizes.bytesOfStages() / 2, halfTypeOf(e))) {}

  void emitTile() {
    Index warp = thread / kWarp;
    Index warpRow = warp / sizes.warpColumns * (sizes.rowParts * kMmaRows),
          warpColumn = warp % sizes.warpColumns * (sizes.columnParts * kMmaColumns);
    Row sums = emitSteps(warpRow, warpColumn);
    storeSums(sums, row + warpRow, column + warpColumn);
    if (p.softmax)
      storeSoftmax(sums, warpRow, column + warpColumn);
  }

private:
  //===--------------------------------------------------------------------===//
  // The pipeline
  //===--------------------------------------------------------------------===//

  /// Step s multiplies stage s % kStages. Its barrier says two things: what all threads have copied
  /// for the step is there, and no warp still reads the stage of the step before, into which the
  /// copies for step s + kStages - 1 go (the multistage pipeline of CUTLASS, "Efficient GEMM in
  /// CUDA": "Pipelining").
  Row emitSteps(Index warpRow, Index warpColumn) {
    constexpr int64_t ahead = TileSizes::kStages - 1;
    int64_t steps = p.terms * sizes.innerSteps;
    for (int64_t step = 0; step < ahead; ++step) {
      if (step < steps)
        copyStep(e.index(step));
      commitCopies(e);
    }
    Row zeros(sizes.rowParts * sizes.columnParts * 4, e.number(0.0));
    return e.fold(e.index(0), e.index(steps), zeros, [&](Index step, ArrayRef<Num> sums) {
      waitForCopies(e, ahead - 1);
      deviceLoops(e).barrierNeeding(e, sizes.registers());
      e.ifThen(less(step + ahead, e.index(steps)), [&] { copyStep(step + ahead); });
      // Also where there was nothing left to copy: the wait counts groups.
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
    bool isOneTerm = p.terms == 1;
    Index term = isOneTerm ? e.index(0) : step / sizes.innerSteps,
          inner = (isOneTerm ? step : step % sizes.innerSteps) * TileSizes::kInner;
    copy(tileOfA(step), p.a, term * p.stepA, row, p.rows, inner);
    copy(tileOfB(step), p.b, term * p.stepB, column, p.columns, inner);
  }

  void copy(const MmaTile &tile, const Matrix &matrix, Index term, Index first, int64_t bound,
            Index inner) {
    TileSource source{matrix.buffer,
                      beginOf(matrix) + term,
                      matrix.pitch,
                      first,
                      inner,
                      e.index(bound),
                      p.innerBound.value_or(e.index(p.inner))};
    copyTile(e, tile, source, thread, TileSizes::kThreads);
  }

  /// The tiles, and after them, in the same bytes, the partial results of the softmax.
  int64_t bytesOfMemory() const {
    return std::max(sizes.bytesOfStages(), p.softmax ? 2 * softmaxSlots() * 4 : 0);
  }
  int64_t softmaxSlots() const { return sizes.warpColumns * sizes.rows; }

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

  //===--------------------------------------------------------------------===//
  // C
  //===--------------------------------------------------------------------===//

  void storeSums(ArrayRef<Num> sums, Index row, Index column) {
    for (int64_t i = 0; i < sizes.rowParts; ++i)
      for (int64_t j = 0; j < sizes.columnParts; ++j)
        for (int64_t half : {0, 1}) {
          const Num *pair = &sums[(i * sizes.columnParts + j) * 4 + 2 * half];
          storePair(pair[0], pair[1], row + i * kMmaRows + lane.group + 8 * half,
                    column + j * kMmaColumns + lane.pair * 2);
        }
  }

  /// Stores two neighbours at once if the index of the first is even; the last of an odd row alone.
  void storePair(Num first, Num second, Index row, Index column) {
    Value inside = arith::AndIOp::create(e.builder(), e.location(), less(row, e.index(p.rows)),
                                         less(column, e.index(p.columns)));
    bool isPair = isEven(p.c) && (!p.initial.buffer || isEven(p.initial));
    auto storeBoth = [&] { storeTogether(first, second, row, column); };
    e.ifThen(inside, [&] {
      if (isPair && p.columns % 2 == 0)
        return storeBoth();
      Value both = less(column + 1, e.index(p.columns));
      if (isPair) {
        e.ifThen(both, storeBoth);
        return e.ifThen(equal(column, e.index(p.columns - 1)),
                        [&] { storeElements(first, row, column, 1); });
      }
      storeElements(first, row, column, 1);
      e.ifThen(both, [&] { storeElements(second, row, column + 1, 1); });
    });
  }

  void storeTogether(Num first, Num second, Index row, Index column) {
    Value both = vector::FromElementsOp::create(e.builder(), e.location(),
                                                VectorType::get({2}, e.computeType()),
                                                ValueRange{first.value, second.value});
    storeElements({&e.builder(), both}, row, column, 2);
  }

  void storeElements(Num sum, Index row, Index column, unsigned lanes) {
    Num x = scaled(sum);
    if (p.initial.buffer)
      x = x + e.load(p.initial.buffer, placeIn(p.initial, row, column), lanes);
    e.store(p.c.buffer, placeIn(p.c, row, column), x);
  }

  //===--------------------------------------------------------------------===//
  // Softmax of the tile's rows
  //===--------------------------------------------------------------------===//

  struct RowSoftmax {
    Num largest, powers;
  };

  /// Four threads hold a row of a warp's fragments, four warps a row of the tile: their partial
  /// results are combined through workgroup memory, by one thread a row.
  void storeSoftmax(ArrayRef<Num> sums, Index warpRow, Index column) {
    int64_t warps = sizes.warpColumns;
    Buffer maxima = deviceLoops(e).partOf(e, memory, 0, softmaxSlots(), e.computeType()),
           powers = deviceLoops(e).partOf(e, memory, softmaxSlots() * 4, softmaxSlots(),
                                          e.computeType());
    deviceLoops(e).barrier(e); // the tiles have been read
    Index ofWarps = thread / kWarp % warps * sizes.rows + warpRow + lane.group;
    for (int64_t i = 0; i < sizes.rowParts; ++i)
      for (int64_t half : {0, 1}) {
        RowSoftmax ofWarp = softmaxOfWarp(sums, i, half, column + lane.pair * 2);
        e.ifThen(equal(lane.pair, e.index(0)), [&] {
          storeRowSoftmax(ofWarp, maxima, powers, ofWarps + i * kMmaRows + 8 * half);
        });
      }
    deviceLoops(e).barrier(e);
    Index own = row + thread;
    Value inside = arith::AndIOp::create(
        e.builder(), e.location(), less(thread, e.index(sizes.rows)), less(own, e.index(p.rows)));
    e.ifThen(inside, [&] {
      Index place = p.softmax->begin + own * p.softmax->tiles + block % sizes.tileColumns;
      storeRowSoftmax(softmaxOfWarps(maxima, powers, thread), p.softmax->maxima, p.softmax->powers,
                      place);
    });
  }

  /// The softmax of one row of a warp's fragments, which the four threads of a quad hold, with
  /// columns from `column` on and elements as they are stored.
  RowSoftmax softmaxOfWarp(ArrayRef<Num> sums, int64_t i, int64_t half, Index column) {
    Num lowest = e.number(std::numeric_limits<float>::lowest());
    SmallVector<Num> stored;
    SmallVector<Value> inside;
    for (int64_t j = 0; j < sizes.columnParts; ++j)
      for (int64_t k : {0, 1}) {
        Num sum = sums[(i * sizes.columnParts + j) * 4 + 2 * half + k];
        Num x = convert(convert(scaled(sum), p.c.buffer.element), e.computeType());
        inside.push_back(less(column + j * kMmaColumns + k, e.index(p.columns)));
        stored.push_back(select(inside.back(), x, lowest));
      }
    Num largest = lowest, powers = e.number(0.0);
    for (Num x : stored)
      largest = maximum(largest, x);
    largest = deviceLoops(e).acrossLanes(e, largest, 4, [](Num a, Num b) { return maximum(a, b); });
    for (auto [x, isInside] : llvm::zip(stored, inside))
      powers = powers + select(isInside, exp(x - largest), e.number(0.0));
    return {largest, deviceLoops(e).acrossLanes(e, powers, 4, [](Num a, Num b) { return a + b; })};
  }

  RowSoftmax softmaxOfWarps(Buffer maxima, Buffer powers, Index row) {
    Num largest = e.load(maxima, row), sum = e.number(0.0);
    for (int64_t across = 1; across < sizes.warpColumns; ++across)
      largest = maximum(largest, e.load(maxima, row + across * sizes.rows));
    for (int64_t across = 0; across < sizes.warpColumns; ++across) {
      Index place = row + across * sizes.rows;
      sum = sum + e.load(powers, place) * exp(e.load(maxima, place) - largest);
    }
    return {largest, sum};
  }

  void storeRowSoftmax(RowSoftmax softmax, Buffer maxima, Buffer powers, Index place) {
    e.store(maxima, place, softmax.largest);
    e.store(powers, place, softmax.powers);
  }

  Num scaled(Num sum) { return p.scale == 1.0 ? sum : sum * p.scale; }

  Index beginOf(const Matrix &matrix) {
    return matrix.begin && knownDivisor(matrix.begin->value) != 0 ? *matrix.begin : e.index(0);
  }
  Index placeIn(const Matrix &matrix, Index row, Index column) {
    return beginOf(matrix) + row * matrix.pitch + column;
  }
  bool isEven(const Matrix &matrix) {
    return matrix.pitch % 2 == 0 && knownDivisor(beginOf(matrix).value) % 2 == 0;
  }

  KernelEmitter &e;
  const Matmul &p;
  TileSizes sizes;
  Index block, thread;
  MmaLane lane;
  Index row, column; // of C, where the tile begins
  Buffer memory, stages;
};

} // namespace

void llmmem::emitMmaMatmuls(KernelEmitter &e, int64_t count, const Matmul &first,
                            function_ref<Matmul(Index)> make) {
  TileSizes sizes(first, count);
  auto emitBlock = [&](Index block, Index thread) {
    Matmul matmul = make(block / sizes.blocks);
    TileEmitter(e, matmul, sizes, block % sizes.blocks, thread).emitTile();
  };
  deviceLoops(e).launch(e, count * sizes.blocks, TileSizes::kThreads, emitBlock,
                        sizes.dynamicBytes());
}
