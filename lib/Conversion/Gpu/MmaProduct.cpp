//===- MmaProduct.cpp - Products of bf16 matrices on tensor cores ----------===//

#include "Gpu/MmaProduct.h"
#include "Gpu/MmaTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace llmmem;

bool llmmem::isMmaProduct(const Product &product) {
  return product.a.buffer.element.isBF16() && product.b.buffer.element.isBF16();
}

namespace {

/// Eight warps share a tile of C, two by four; each makes `rowParts` x `columnParts` fragments.
struct TileSizes {
  static constexpr int64_t kInner = 32, kWarpRows = 2, kWarpColumns = 4,
                           kThreads = kWarpRows * kWarpColumns * kWarp;

  explicit TileSizes(const Product &p)
      : rows(p.rows > 64 ? 128 : 64), columns(p.columns > 64 ? 128 : 64),
        rowParts(rows / kWarpRows / kMmaRows), columnParts(columns / kWarpColumns / kMmaColumns),
        tileColumns(llvm::divideCeil(p.columns, columns)),
        blocks(llvm::divideCeil(p.rows, rows) * tileColumns) {}

  /// Of whole tiles two blocks share a multiprocessor. Of narrow ones, which sm_80's assembler
  /// spills for that, one may have all registers.
  int32_t registers() const { return rows == 128 && columns == 128 ? 128 : 255; }

  int64_t rows, columns, rowParts, columnParts, tileColumns, blocks;
};

class ProductEmission {
public:
  ProductEmission(KernelEmitter &e, const Product &p) : e(e), p(p), sizes(p) {}

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
                           return addProducts(a, b, warpRow, warpColumn, lane, carried);
                         });
    });
    storeSums(sums, row + warpRow, column + warpColumn, lane);
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
  /// By columns: what lies as it is, is transposed for a tile of columns.
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

  Row addProducts(const MmaTile &a, const MmaTile &b, Index row, Index column, MmaLane lane,
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

  /// Two neighbours at once where they lie at even places.
  void storePair(Num first, Num second, Index row, Index column) {
    Value inside = arith::AndIOp::create(e.builder(), e.location(), less(row, e.index(p.rows)),
                                         less(column, e.index(p.columns)));
    bool isPair = p.columns % 2 == 0 && isEven(p.c) && (!p.initial.buffer || isEven(p.initial));
    if (isPair) {
      Value both = vector::FromElementsOp::create(e.builder(), e.location(),
                                                  VectorType::get({2}, e.wideType()),
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
    Num x = p.scale == 1.0 ? sum : sum * p.scale;
    if (p.initial.buffer)
      x = x + e.load(p.initial.buffer, placeIn(p.initial, row, column), lanes);
    e.store(p.c.buffer, placeIn(p.c, row, column), x);
  }

  Index beginOf(const Matrix &matrix) { return matrix.begin ? *matrix.begin : e.index(0); }
  Index placeIn(const Matrix &matrix, Index row, Index column) {
    return beginOf(matrix) + row * matrix.pitch + column;
  }
  bool isEven(const Matrix &matrix) {
    return matrix.pitch % 2 == 0 && knownDivisor(beginOf(matrix).value) % 2 == 0;
  }

  KernelEmitter &e;
  const Product &p;
  TileSizes sizes;
};

} // namespace

void llmmem::emitMmaProducts(KernelEmitter &e, int64_t count, const Product &first,
                             function_ref<Product(Index)> make) {
  int64_t blocks = TileSizes(first).blocks;
  deviceLoops(e).launch(e, count * blocks, TileSizes::kThreads, [&](Index block, Index thread) {
    Product product = make(block / blocks);
    ProductEmission(e, product).emitTile(block % blocks, thread);
  });
}
