//===- GemmTile.cpp - The innermost loop of matmuls -----------------------===//

#include "GemmWriter.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::gemm;

namespace {
class Tile {
public:
  Tile(Writer &w, bool transposedA, unsigned vectors)
      : w(w), transposedA(transposedA), vectors(vectors), a(w.pointer(0, w.accumulatorType)),
        b(w.pointer(1, w.accumulatorType)), sums(w.pointer(2, w.accumulatorType)),
        depth(w.index(3)) {}

  void write() {
    SmallVector<Value> initial;
    forSums([&](Pointer sum) { initial.push_back(w.load(sum, w.sizes.lanes, true).value); });
    auto loop = scf::ForOp::create(w.builder, w.loc(), w.constant(0).value, depth.value,
                                   w.constant(1).value, initial);
    {
      OpBuilder::InsertionGuard guard(w.builder);
      w.builder.setInsertionPointToStart(loop.getBody());
      Index k{&w.builder, loop.getInductionVar()};
      scf::YieldOp::create(w.builder, w.loc(), step(k, loop.getRegionIterArgs()));
    }
    unsigned next = 0;
    forSums([&](Pointer sum) { w.store(sum, {&w.builder, loop.getResult(next++)}, true); });
  }

private:
  void forSums(function_ref<void(Pointer)> body) {
    for (int64_t i = 0; i < Sizes::kTileRows; ++i)
      for (unsigned v = 0; v < vectors; ++v)
        body(sums + w.constant(i * w.sizes.columns() + v * w.sizes.lanes));
  }

  /// Returns the accumulators after one more row of B.
  SmallVector<Value> step(Index k, ValueRange carried) {
    SmallVector<Num> row;
    for (unsigned v = 0; v < vectors; ++v)
      row.push_back(
          w.load(b + (k * w.sizes.tileColumns() + v * w.sizes.lanes), w.sizes.lanes, true));
    SmallVector<Value> next;
    for (int64_t i = 0; i < Sizes::kTileRows; ++i) {
      Index place = transposedA ? k * Sizes::kRows + i : k + i * w.sizes.depth;
      Num factor = w.spread(w.load(a + place, 1));
      for (Num x : row)
        next.push_back(fma(factor, x, {&w.builder, carried[next.size()]}).value);
    }
    return next;
  }

  Writer &w;
  bool transposedA;
  unsigned vectors;
  Pointer a, b, sums;
  Index depth;
};
} // namespace

func::FuncOp Functions::tile(bool transposedA, unsigned vectors) {
  std::string name = (Twine("tile_") + (transposedA ? "t" : "n") + Twine(vectors)).str();
  return define(name, {pointer, pointer, pointer, index},
                [&](Writer &w) { Tile(w, transposedA, vectors).write(); });
}
