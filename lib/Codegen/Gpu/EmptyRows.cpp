//===- EmptyRows.cpp - Tiles of rows that are all zeros ---------------------===//

#include "EmptyRows.h"
#include "MmaSums.h"
#include "llmmem/Codegen/Gpu/KernelTraffic.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <numeric>

using namespace mlir;
using namespace llmmem;

Buffer llmmem::slotsOfThreads(KernelEmitter &e, int64_t threads) {
  return deviceLoops(e).workgroup(e, threads / kWarp, e.builder().getI32Type());
}

namespace {

class EmptyRows {
public:
  EmptyRows(KernelEmitter &e, const Matmul &matmul, const TileOfC &tile,
            const BlockOfThreads &block)
      : e(e), p(matmul), tile(tile), block(block),
        rows(minimum(e.index(tile.rows), e.index(p.rows) - tile.row)) {}

  /// 1 where some element of the tile's rows of A is not 0 (NaN is none), else 0: an i32 that all
  /// threads know.
  Num areChosen() {
    int64_t lanes = lanesOf(p.a, p.inner);
    Num first = anyOf(rows, [&](Index row) { return load(row, e.index(0), lanes); });
    return e.chooseIf(is(first, 0), first, [&]() -> Row {
      expect(1.0 - *p.chosenShare);
      int64_t vectors = p.inner / lanes;
      return {anyOf(rows * vectors, [&](Index number) {
        return load(number / vectors, number % vectors * lanes, lanes);
      })};
    })[0];
  }

  void ifChosen(Num chosen, function_ref<void()> multiply) {
    e.ifThen(is(chosen, 1), [&] {
      expect(*p.chosenShare);
      multiply();
    });
    e.ifThen(is(chosen, 0), [&] {
      expect(1.0 - *p.chosenShare);
      storeZeros();
    });
  }

private:
  /// Of the branch that is being written, for reports.
  void expect(double share) {
    expectIterations(e.builder().getInsertionBlock()->getParentOp(), share);
  }

  Value is(Num chosen, int64_t number) {
    OpBuilder &b = e.builder();
    Value other = arith::ConstantIntOp::create(b, e.location(), number, 32);
    return arith::CmpIOp::create(b, e.location(), arith::CmpIPredicate::eq, chosen.value, other);
  }

  /// The lanes of vectors of which rows of `columns` elements consist.
  int64_t lanesOf(const Matrix &matrix, int64_t columns) {
    int64_t step = std::gcd(matrix.pitch, columns);
    return std::gcd(std::gcd<int64_t>(e.lanes(), step), knownDivisor(beginOf(e, matrix).value));
  }

  Num load(Index row, Index inner, int64_t lanes) {
    Index place = beginOf(e, p.a) + (tile.row + row) * p.a.pitch + inner;
    return e.load(p.a.buffer, place, static_cast<unsigned>(lanes));
  }

  /// Whether one of the vectors 0, ..., count - 1, shared by the block's threads, is not all zeros.
  Num anyOf(Index count, function_ref<Num(Index)> load) {
    Num largest = e.foldSteps(block.thread, count, block.count, e.number(0.0),
                              [&](Index number, ArrayRef<Num> before) -> Row {
                                Num x = load(number);
                                Num size = maximum(x, -x);
                                if (isa<VectorType>(size.type()))
                                  size = maximumOfLanes(size);
                                return {maximum(before[0], size)};
                              })[0];
    OpBuilder &b = e.builder();
    Value isAny = arith::CmpFOp::create(b, e.location(), arith::CmpFPredicate::UNE, largest.value,
                                        e.number(0.0).value);
    return acrossBlock({&b, arith::ExtUIOp::create(b, e.location(), b.getI32Type(), isAny)});
  }

  static Num either(Num x, Num y) {
    return {x.builder, arith::OrIOp::create(*x.builder, x.value.getLoc(), x.value, y.value)};
  }

  Num acrossBlock(Num own) {
    DeviceLoops &device = deviceLoops(e);
    own = device.acrossLanes(e, own, kWarp, either);
    e.ifThen(equal(block.thread % kWarp, e.index(0)),
             [&] { e.storeRaw(block.slots, block.thread / kWarp, own.value); });
    device.barrier(e);
    auto slot = [&](int64_t warp) -> Num {
      return {&e.builder(), e.loadRaw(block.slots, e.index(warp))};
    };
    Num all = slot(0);
    for (int64_t warp = 1; warp < block.count / kWarp; ++warp)
      all = either(all, slot(warp));
    // Before the slots are written again.
    device.barrier(e);
    return all;
  }

  void storeZeros() {
    int64_t lanes = lanesOf(p.c, std::gcd(p.columns, tile.columns)), vectors = tile.columns / lanes;
    e.forSteps(block.thread, rows * vectors, block.count, [&](Index number) {
      Index row = tile.row + number / vectors, column = tile.column + number % vectors * lanes;
      e.ifThen(less(column, e.index(p.columns)), [&] {
        e.store(p.c.buffer, beginOf(e, p.c) + row * p.c.pitch + column,
                e.splat(0.0, static_cast<unsigned>(lanes)));
      });
    });
  }

  KernelEmitter &e;
  const Matmul &p;
  const TileOfC &tile;
  const BlockOfThreads &block;
  Index rows; // of the tile, that there are
};

} // namespace

void llmmem::multiplyUnlessEmpty(KernelEmitter &e, const Matmul &matmul, const TileOfC &tile,
                                 const BlockOfThreads &block, function_ref<void()> multiply) {
  if (!matmul.chosenShare)
    return multiply();
  EmptyRows empty(e, matmul, tile, block);
  empty.ifChosen(empty.areChosen(), multiply);
}
