//===- MmaMatmul.cpp - Matmuls of bf16 on tensor cores --------------------===//

#include "MmaMatmul.h"
#include "MmaTile.h"
#include "llmmem/Targets/LossHeadWorkspace.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace llmmem;

bool llmmem::isMmaMatmul(const Matmul &matmul) {
  Type a = matmul.a.buffer.element;
  return a == matmul.b.buffer.element && (a.isBF16() || a.isF16());
}

namespace {

/// Eight warps compute a tile of C, two by four; each takes `rowParts` x `columnParts` fragments.
struct TileSizes {
  static constexpr int64_t kMostColumns = 128, kInner = 32, kWarpRows = 2, kWarpColumns = 4,
                           kThreads = kWarpRows * kWarpColumns * kWarp;

  explicit TileSizes(const Matmul &p)
      : rows(p.rows > 64 ? 128 : 64), columns(p.columns > 64 ? kMostColumns : 64),
        rowParts(rows / kWarpRows / kMmaRows), columnParts(columns / kWarpColumns / kMmaColumns),
        tileColumns(llvm::divideCeil(p.columns, columns)),
        blocks(llvm::divideCeil(p.rows, rows) * tileColumns) {}
  // Where C is narrower, one tile is a whole row.
  static_assert(kMostColumns == llm::kLogitsTile, "the plan reserves memory for other tiles");

  /// Two blocks of whole tiles fit a multiprocessor. With narrow tiles the assembler of sm_80 would
  /// spill to fit two, so one block may have all registers.
  int32_t registers() const { return rows == 128 && columns == kMostColumns ? 128 : 255; }

  int64_t rows, columns, rowParts, columnParts, tileColumns, blocks;
};

class TileEmitter {
public:
  TileEmitter(KernelEmitter &e, const Matmul &p) : e(e), p(p), sizes(p) {}

  void emitTile(Index block, Index thread) {
    Index warp = thread / kWarp;
    MmaLane lane = MmaLane::of(thread % kWarp);
    Index row = block / sizes.tileColumns * sizes.rows,
          column = block % sizes.tileColumns * sizes.columns;
    Index warpRow = warp / TileSizes::kWarpColumns * (sizes.rowParts * kMmaRows),
          warpColumn = warp % TileSizes::kWarpColumns * (sizes.columnParts * kMmaColumns);
    MmaTile a(e, sizes.rows, TileSizes::kInner), b(e, sizes.columns, TileSizes::kInner);
    Row sums(sizes.rowParts * sizes.columnParts * 4, e.number(0.0));
    sums = e.fold(e.index(0), e.index(p.terms), sums, [&](Index term, ArrayRef<Num> ofTerm) {
      return e.foldSteps(e.index(0), e.index(p.inner), TileSizes::kInner, ofTerm,
                         [&](Index inner, ArrayRef<Num> carried) {
                           deviceLoops(e).barrierNeeding(e, sizes.registers());
                           copyTile(e, a, sourceOfA(term, row, inner), thread, TileSizes::kThreads);
                           copyTile(e, b, sourceOfB(term, column, inner), thread,
                                    TileSizes::kThreads);
                           deviceLoops(e).barrier(e);
                           return addMatmul(a, b, warpRow, warpColumn, lane, carried);
                         });
    });
    storeSums(sums, row + warpRow, column + warpColumn, lane);
    if (p.softmax)
      storeSoftmax(sums, block, thread, warpRow, column + warpColumn, lane);
  }

private:
  TileSource sourceOfA(Index term, Index row, Index inner) {
    return {p.a.buffer,
            beginOf(p.a) + term * p.stepA,
            p.a.pitch,
            p.a.transposed,
            row,
            inner,
            e.index(p.rows),
            e.index(p.inner)};
  }
  /// Tiles hold columns of B: if B is not transposed in memory, the copy transposes it.
  TileSource sourceOfB(Index term, Index column, Index inner) {
    return {p.b.buffer,
            beginOf(p.b) + term * p.stepB,
            p.b.pitch,
            !p.b.transposed,
            column,
            inner,
            e.index(p.columns),
            e.index(p.inner)};
  }

  Row addMatmul(const MmaTile &a, const MmaTile &b, Index row, Index column, MmaLane lane,
                ArrayRef<Num> sums) {
    Row next(sums);
    for (int64_t inner = 0; inner < TileSizes::kInner; inner += kMmaInner) {
      SmallVector<FragmentB> columns;
      for (int64_t j = 0; j < sizes.columnParts; ++j)
        columns.push_back(loadFragmentB(e, b, column + j * kMmaColumns, e.index(inner), lane));
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

  void storeSums(ArrayRef<Num> sums, Index row, Index column, MmaLane lane) {
    for (int64_t i = 0; i < sizes.rowParts; ++i)
      for (int64_t j = 0; j < sizes.columnParts; ++j)
        for (int64_t half : {0, 1}) {
          const Num *pair = &sums[(i * sizes.columnParts + j) * 4 + 2 * half];
          storePair(pair[0], pair[1], row + i * kMmaRows + lane.group + 8 * half,
                    column + j * kMmaColumns + lane.pair * 2);
        }
  }

  /// Stores two neighbours at once if the index of the first is even.
  void storePair(Num first, Num second, Index row, Index column) {
    Value inside = arith::AndIOp::create(e.builder(), e.location(), less(row, e.index(p.rows)),
                                         less(column, e.index(p.columns)));
    bool isPair = p.columns % 2 == 0 && isEven(p.c) && (!p.initial.buffer || isEven(p.initial));
    if (isPair) {
      Value both = vector::FromElementsOp::create(e.builder(), e.location(),
                                                  VectorType::get({2}, e.computeType()),
                                                  ValueRange{first.value, second.value});
      e.ifThen(inside, [&] { storeElements({&e.builder(), both}, row, column, 2); });
      return;
    }
    e.ifThen(inside, [&] {
      storeElements(first, row, column, 1);
      e.ifThen(less(column + 1, e.index(p.columns)),
               [&] { storeElements(second, row, column + 1, 1); });
    });
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
  void storeSoftmax(ArrayRef<Num> sums, Index block, Index thread, Index warpRow, Index column,
                    MmaLane lane) {
    constexpr int64_t warps = TileSizes::kWarpColumns;
    Buffer maxima = deviceLoops(e).workgroup(e, warps * sizes.rows, e.computeType()),
           powers = deviceLoops(e).workgroup(e, warps * sizes.rows, e.computeType());
    Index ofWarps = thread / kWarp % warps * sizes.rows + warpRow + lane.group;
    for (int64_t i = 0; i < sizes.rowParts; ++i)
      for (int64_t half : {0, 1}) {
        RowSoftmax ofWarp = softmaxOfWarp(sums, i, half, column + lane.pair * 2);
        e.ifThen(equal(lane.pair, e.index(0)), [&] {
          storeRowSoftmax(ofWarp, maxima, powers, ofWarps + i * kMmaRows + 8 * half);
        });
      }
    deviceLoops(e).barrier(e);
    Index row = block / sizes.tileColumns * sizes.rows + thread;
    Value inside = arith::AndIOp::create(
        e.builder(), e.location(), less(thread, e.index(sizes.rows)), less(row, e.index(p.rows)));
    e.ifThen(inside, [&] {
      Index place = p.softmax->begin + row * p.softmax->tiles + block % sizes.tileColumns;
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
    for (int64_t across = 1; across < TileSizes::kWarpColumns; ++across)
      largest = maximum(largest, e.load(maxima, row + across * sizes.rows));
    for (int64_t across = 0; across < TileSizes::kWarpColumns; ++across) {
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

  Index beginOf(const Matrix &matrix) { return matrix.begin ? *matrix.begin : e.index(0); }
  Index placeIn(const Matrix &matrix, Index row, Index column) {
    return beginOf(matrix) + row * matrix.pitch + column;
  }
  bool isEven(const Matrix &matrix) {
    return matrix.pitch % 2 == 0 && knownDivisor(beginOf(matrix).value) % 2 == 0;
  }

  KernelEmitter &e;
  const Matmul &p;
  TileSizes sizes;
};

} // namespace

void llmmem::emitMmaMatmuls(KernelEmitter &e, int64_t count, const Matmul &first,
                            function_ref<Matmul(Index)> make) {
  int64_t blocks = TileSizes(first).blocks;
  deviceLoops(e).launch(e, count * blocks, TileSizes::kThreads, [&](Index block, Index thread) {
    Matmul matmul = make(block / blocks);
    TileEmitter(e, matmul).emitTile(block % blocks, thread);
  });
}
