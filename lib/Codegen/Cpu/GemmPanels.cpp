//===- GemmPanels.cpp - Copies of A and B that tiles read -----------------===//
//
// Beyond the edge of a matrix a panel holds 0 or repeats the last row, because sums of these are
// never stored.
//
//===----------------------------------------------------------------------===//

#include "FactorB.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::gemm;

/// Copies `count` elements, widened, with zeros up to a whole vector.
static void copyRow(Writer &w, Pointer to, Pointer from, Index count) {
  int64_t lanes = w.sizes.lanes;
  Index rest = count % lanes, whole = count - rest;
  w.forEach(w.constant(0), whole, lanes,
            [&](Index j) { w.store(to + j, w.load(from + j, lanes), true); });
  w.ifThen(less(w.constant(0), rest),
           [&] { w.store(to + whole, w.loadFirst(from + whole, rest), true); });
}

func::FuncOp Functions::packA(bool transposed) {
  return define(transposed ? "pack_a_t" : "pack_a_n", {pointer, pointer, index, index, index},
                [&](Writer &w) {
                  Pointer panel = w.pointer(0, w.accumulatorType), a = w.pointer(1, w.element);
                  Index pitch = w.index(2), rows = w.index(3), depth = w.index(4);
                  if (transposed)
                    return w.forEach(w.constant(0), depth, 1, [&](Index k) {
                      copyRow(w, panel + k * Sizes::kRows, a + k * pitch, rows);
                    });
                  Index padded = roundUp(rows, Sizes::kTileRows);
                  w.forEach(w.constant(0), padded, 1, [&](Index i) {
                    copyRow(w, panel + i * w.sizes.depth, a + minimum(i, rows - 1) * pitch, depth);
                  });
                });
}

//===----------------------------------------------------------------------===//
// B
//===----------------------------------------------------------------------===//

/// If B is not transposed, its rows are copied into strips.
static void copyStrips(Writer &w, Pointer panel, const FactorB &b, Index pitch, Index columns,
                       Index depth) {
  int64_t lanes = w.sizes.lanes, tile = w.sizes.tileColumns();
  Index rest = columns % tile, whole = columns - rest;
  w.forEach(w.constant(0), depth, 1, [&](Index k) {
    FactorB row = b + k * pitch;
    Pointer line = panel + k * tile;
    w.forEach(w.constant(0), whole, tile, [&](Index j) {
      for (int64_t v = 0; v < tile; v += lanes)
        w.store(line + (j * w.sizes.depth + v), row.load(j + v, lanes), true);
    });
    w.ifThen(less(w.constant(0), rest), [&] {
      for (int64_t v = 0; v < tile; v += lanes)
        w.store(line + (whole * w.sizes.depth + v), row.loadFirst(whole + v, rest - v), true);
    });
  });
}

/// Interleaves runs of neighbours of two vectors inside of each 128 bits, from element `first` of
/// these on: one instruction of x86.
static Num interleave(Writer &w, Num x, Num y, int64_t side, int64_t run, int64_t first) {
  int64_t lanes = cast<VectorType>(x.type()).getNumElements();
  SmallVector<int64_t> order;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    int64_t inside = lane % side;
    order.push_back(lane - inside + first + inside / (2 * run) * run + inside % run +
                    (inside & run ? lanes : 0));
  }
  return {&w.builder, vector::ShuffleOp::create(w.builder, w.loc(), x.value, y.value, order)};
}

void gemm::transposeInside(Writer &w, SmallVectorImpl<Num> &square, int64_t side) {
  for (int64_t run = 1; run < side; run *= 2) {
    SmallVector<Num> next(square.size());
    for (int64_t i = 0; i < static_cast<int64_t>(square.size()); ++i) {
      if (i & run)
        continue;
      int64_t to = (i & ~(2 * run - 1)) + 2 * (i & (run - 1));
      next[to] = interleave(w, square[i], square[i + run], side, run, 0);
      next[to + 1] = interleave(w, square[i], square[i + run], side, run, side / 2);
    }
    llvm::copy(next, square.begin());
  }
}

void gemm::transpose(Writer &w, SmallVectorImpl<Num> &square) {
  int64_t lanes = square.size();
  int64_t bits = getElementTypeOrSelf(square.front().type()).getIntOrFloatBitWidth();
  int64_t side = std::min<int64_t>(128 / bits, lanes);
  transposeInside(w, square, side);
  for (int64_t group = side; group < lanes; group *= 2) {
    SmallVector<int64_t> even, odd;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      even.push_back(lane & group ? lanes + lane - group : lane);
      odd.push_back(lane & group ? lanes + lane : lane + group);
    }
    for (int64_t i = 0; i < lanes; ++i) {
      if (i & group)
        continue;
      Value a = square[i].value, b = square[i + group].value;
      square[i].value = vector::ShuffleOp::create(w.builder, w.loc(), a, b, even);
      square[i + group].value = vector::ShuffleOp::create(w.builder, w.loc(), a, b, odd);
    }
  }
}

/// If B is transposed, its columns are rows in memory.
static void transposeStrips(Writer &w, Pointer panel, const FactorB &b, Index pitch, Index columns,
                            Index depth) {
  int64_t lanes = w.sizes.lanes, tile = w.sizes.tileColumns();
  Index rest = depth % lanes, whole = depth - rest;
  w.forEach(w.constant(0), columns, lanes, [&](Index j) {
    SmallVector<FactorB> rows;
    for (int64_t r = 0; r < lanes; ++r)
      rows.push_back(b + minimum(j + r, columns - 1) * pitch);
    Pointer strip = panel + ((j / tile) * w.sizes.strip() + j % tile);
    auto square = [&](Index k, function_ref<Num(const FactorB &)> load) {
      auto vectors = llvm::map_to_vector(rows, [&](const FactorB &row) { return load(row); });
      transpose(w, vectors);
      for (auto [r, vector] : llvm::enumerate(vectors))
        w.store(strip + (k + r) * tile, vector, true);
    };
    w.forEach(w.constant(0), whole, lanes,
              [&](Index k) { square(k, [&](const FactorB &row) { return row.load(k, lanes); }); });
    w.ifThen(less(w.constant(0), rest), [&] {
      square(whole, [&](const FactorB &row) { return row.loadFirst(whole, rest); });
    });
  });
}

func::FuncOp Functions::packB(bool transposed) {
  return defineWithB(transposed ? "pack_b_t" : "pack_b_n", {pointer, pointer, index, index, index},
                     [&](Writer &w) {
                       auto pack = transposed ? transposeStrips : copyStrips;
                       pack(w, w.pointer(0, w.accumulatorType), FactorB(w, 1), w.index(2),
                            w.index(3), w.index(4));
                     });
}
