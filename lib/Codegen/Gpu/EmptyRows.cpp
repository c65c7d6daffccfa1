//===- EmptyRows.cpp - Tiles of rows that are all zeros ---------------------===//

#include "EmptyRows.h"
#include "MmaSums.h"
#include "llmmem/Codegen/Emitter/Expectations.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <numeric>

using namespace mlir;
using namespace llmmem;

namespace {

class EmptyRows {
public:
  EmptyRows(KernelEmitter &e, const Matmul &matmul, const TileOfC &tile,
            const BlockOfThreads &block)
      : e(e), p(matmul), tile(tile), block(block),
        rows(minimum(e.index(tile.rows), e.index(p.rows) - tile.row)) {}

  void ifChosen(function_ref<void()> multiply) {
    Index largest = largestChoice();
    ifThen(e, less(largest.like(-1), largest), [&] {
      expect(p.choices()->share);
      multiply();
    });
    ifThen(e, equal(largest, largest.like(-1)), [&] {
      expect(1.0 - p.choices()->share);
      storeZeros();
    });
  }

private:
  /// Returns the largest choice of the tile's rows, as an i32 that all threads know: -1 where all
  /// rows are zeros.
  Index largestChoice() {
    OpBuilder &b = e.builder();
    Num none{&b, arith::ConstantIntOp::create(b, e.location(), -1, 32)};
    Index first = (p.choices()->begin ? *p.choices()->begin : e.index(0)) + tile.row;
    Num largest = foldSteps(e, block.thread % kWarp, rows, kWarp, none,
                            [&](Index row, ArrayRef<Num> before) -> Row {
                              Value choice = e.loadRaw(p.choices()->numbers, first + row);
                              return {larger(before[0], {&e.builder(), choice})};
                            })[0];
    return {&b, acrossLanes(e, largest, kWarp, larger).value};
  }

  static Num larger(Num x, Num y) {
    return {x.builder, arith::MaxSIOp::create(*x.builder, x.value.getLoc(), x.value, y.value)};
  }

  /// Sets the share for the branch that is being emitted, for reports.
  void expect(double share) {
    expectIterations(e.builder().getInsertionBlock()->getParentOp(), share);
  }

  void storeZeros() {
    int64_t lanes = lanesOfC(), vectors = tile.columns / lanes;
    forSteps(e, block.thread, rows * vectors, block.count, [&](Index number) {
      Index row = tile.row + number / vectors, column = tile.column + number % vectors * lanes;
      ifThen(e, less(column, e.index(p.columns)), [&] {
        e.store(p.c.buffer, beginOf(e, p.c) + row * p.c.pitch + column,
                e.splat(0.0, static_cast<unsigned>(lanes)));
      });
    });
  }

  /// Returns the lanes of the vectors that make up the tile's rows.
  int64_t lanesOfC() {
    int64_t step = std::gcd(std::gcd(p.c.pitch, p.columns), tile.columns);
    return std::gcd(std::gcd<int64_t>(e.lanes(), step), knownDivisor(beginOf(e, p.c).value));
  }

  KernelEmitter &e;
  const Matmul &p;
  const TileOfC &tile;
  const BlockOfThreads &block;
  Index rows; // The existing rows of the tile.
};

} // namespace

void llmmem::multiplyUnlessEmpty(KernelEmitter &e, const Matmul &matmul, const TileOfC &tile,
                                 const BlockOfThreads &block, function_ref<void()> multiply) {
  if (!matmul.choices())
    return multiply();
  EmptyRows(e, matmul, tile, block).ifChosen(multiply);
}
