//===- Panels.cpp - Blocks of matrices on the stack -----------------------===//

#include "Panels.h"
#include "Rows.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace llmmem;

//===----------------------------------------------------------------------===//
// Panels
//===----------------------------------------------------------------------===//

Panel llmmem::makePanel(KernelEmitter &e, int64_t rows, int64_t width) {
  Panel panel;
  panel.rows = llvm::alignTo(rows, e.lanes());
  panel.width = width;
  panel.pitch = llvm::alignTo(width, e.lanes());
  panel.numbers = e.scratch(panel.rows * panel.pitch);
  return panel;
}

/// Returns `x` followed by zeros up to a whole vector.
static Num padded(KernelEmitter &e, Num x) {
  int64_t lanes = e.lanes(), known = cast<VectorType>(x.type()).getNumElements();
  if (known == lanes)
    return x;
  SmallVector<int64_t> mask = llvm::to_vector(llvm::seq<int64_t>(0, lanes));
  Num zeros = e.splat(0.0, lanes - known);
  return {x.builder,
          vector::ShuffleOp::create(*x.builder, x.value.getLoc(), x.value, zeros.value, mask)};
}

static void clearRows(KernelEmitter &e, Panel panel, Index begin) {
  forEach(e, begin, e.index(panel.rows), [&](Index row) {
    storeRow(e, panel.numbers, row * panel.pitch, zeroRow(e, panel.pitch));
  });
}

void llmmem::clearPanel(KernelEmitter &e, Panel panel) { clearRows(e, panel, e.index(0)); }

void llmmem::loadPanel(KernelEmitter &e, Panel to, Buffer from, function_ref<Index(Index)> place,
                       Index rows) {
  forEach(e, e.index(0), rows, [&](Index row) {
    Row loaded = loadRow(e, from, place(row), to.width);
    loaded.back() = padded(e, loaded.back());
    storeRow(e, to.numbers, row * to.pitch, loaded);
  });
  clearRows(e, to, rows);
}

void llmmem::storePanel(KernelEmitter &e, Panel from, Buffer to, function_ref<Index(Index)> place,
                        Index rows, function_ref<Num(Index)> factor) {
  forEach(e, e.index(0), rows, [&](Index row) {
    Num scale = factor(row);
    Row loaded = loadRow(e, from.numbers, row * from.pitch, from.width);
    for (Num &x : loaded)
      x = x * scale;
    storeRow(e, to, place(row), loaded);
  });
}

//===----------------------------------------------------------------------===//
// Transposing
//===----------------------------------------------------------------------===//

/// Lane l is that of `a` or of `b` with the number that `mask` has at l; those of b follow a's.
static Num shuffled(Num a, Num b, ArrayRef<int64_t> mask) {
  return {a.builder,
          vector::ShuffleOp::create(*a.builder, a.value.getLoc(), a.value, b.value, mask)};
}

/// Transposes a square of as many rows as lanes by exchanging the off-diagonal quarters of ever
/// smaller squares (Eklundh 1972).
static void transposeSquare(MutableArrayRef<Num> rows) {
  auto lanes = static_cast<int64_t>(rows.size());
  for (int64_t half = lanes / 2; half >= 1; half /= 2) {
    SmallVector<int64_t> upper, lower;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      bool left = (lane & half) == 0;
      upper.push_back(left ? lane : lanes + lane - half);
      lower.push_back(left ? lane + half : lanes + lane);
    }
    for (int64_t row = 0; row < lanes; ++row)
      if ((row & half) == 0) {
        Num first = rows[row], second = rows[row + half];
        rows[row] = shuffled(first, second, upper);
        rows[row + half] = shuffled(first, second, lower);
      }
  }
}

void llmmem::transposePanel(KernelEmitter &e, Panel from, Panel to, double factor) {
  int64_t lanes = e.lanes();
  forSteps(e, e.index(0), e.index(from.rows), lanes, [&](Index row) {
    forSteps(e, e.index(0), e.index(from.pitch), lanes, [&](Index column) {
      SmallVector<Num> square;
      for (int64_t i = 0; i < lanes; ++i)
        square.push_back(e.load(from.numbers, from.at(row + i, column), lanes) * factor);
      transposeSquare(square);
      for (auto [i, x] : llvm::enumerate(square))
        e.store(to.numbers, to.at(column + static_cast<int64_t>(i), row), x);
    });
  });
}

//===----------------------------------------------------------------------===//
// Matmuls
//===----------------------------------------------------------------------===//

/// A tile has 16 vectors of accumulators: they fit the registers of AVX-512 together with the
/// operands, and suffice to fill two multiply-add units of latency four.
static constexpr int64_t kTileRows = 4, kTileVectors = 4;

/// Emits one tile, `columns` wide from `column` on.
static void emitTile(KernelEmitter &e, const PanelMatmul &p, Index row, int64_t column,
                     int64_t columns) {
  unsigned lanes = e.lanes();
  Row sums;
  for (int64_t i = 0; i < kTileRows; ++i)
    for (int64_t j = 0; j < columns; j += lanes) {
      Num zero = e.splat(0.0, lanes);
      Index place = p.c.at(row + i, e.index(column + j));
      sums.push_back(p.factor ? e.load(p.c.numbers, place, lanes) * (*p.factor)(row + i) : zero);
    }
  Terms terms = p.terms(row, row + (kTileRows - 1));
  sums = fold(e, terms.begin, terms.end, sums, [&](Index k, ArrayRef<Num> carried) {
    Row vectors, next;
    for (int64_t j = 0; j < columns; j += lanes)
      vectors.push_back(e.load(p.b.numbers, p.b.at(k, e.index(column + j)), lanes));
    for (int64_t i = 0; i < kTileRows; ++i) {
      Num a = e.load(p.a.numbers, p.transposed ? p.a.at(k, row + i) : p.a.at(row + i, k));
      for (Num b : vectors)
        next.push_back(fma(a, b, carried[next.size()]));
    }
    return next;
  });
  for (auto [number, sum] : llvm::enumerate(sums)) {
    auto vectors = columns / lanes;
    auto i = static_cast<int64_t>(number) / vectors, j = static_cast<int64_t>(number) % vectors;
    e.store(p.c.numbers, p.c.at(row + i, e.index(column + j * lanes)), sum);
  }
}

void llmmem::emitMatmul(KernelEmitter &e, const PanelMatmul &product) {
  int64_t columns = product.c.pitch, tile = kTileVectors * e.lanes();
  forSteps(e, e.index(0), product.rows, kTileRows, [&](Index row) {
    for (int64_t column = 0; column < columns; column += tile)
      emitTile(e, product, row, column, std::min(tile, columns - column));
  });
}
