//===- Panels.h - Blocks of matrices on the stack -------------------------===//
//
// The attention kernels consist of these parts: a block of rows is copied into a panel, a panel is
// transposed so that the other dimension lies along the lanes, and panels are multiplied. Example,
// the scores of a block of keys (rows) and a block of queries (lanes):
//
//   loadPanel(e, q, e.operand(0), place, rows);        // queries x size
//   transposePanel(e, q, transposed, scale);           // size x queries
//   loadPanel(e, k, e.operand(1), place, keys);        // keys x size
//   emitMatmul(e, {.a = k, .b = transposed, .c = scores, .rows = keys, .terms = allTerms});
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_EMITTER_PANELS_H
#define LLMMEM_LIB_CODEGEN_EMITTER_PANELS_H

#include "llmmem/Codegen/Emitter/Loops.h"

namespace llmmem {

/// Holds numbers of the kernel's `computeType` on the stack of the thread: `rows` rows of `pitch`
/// columns, both multiples of a vector's lanes. The columns from `width` on are 0.
struct Panel {
  Buffer numbers;
  int64_t rows = 0, width = 0, pitch = 0;

  Index at(Index row, Index column) const { return row * pitch + column; }
};

Panel makePanel(KernelEmitter &e, int64_t rows, int64_t width);

/// Row r becomes the `width` elements of `from` at place(r) where r < rows, and 0 after them.
void loadPanel(KernelEmitter &e, Panel to, Buffer from, llvm::function_ref<Index(Index)> place,
               Index rows);

/// The first `rows` rows times `factor` become the elements of `to` at place(r).
void storePanel(KernelEmitter &e, Panel from, Buffer to, llvm::function_ref<Index(Index)> place,
                Index rows, llvm::function_ref<Num(Index)> factor);

/// Computes to[j][i] = from[i][j] * factor.
void transposePanel(KernelEmitter &e, Panel from, Panel to, double factor);

void clearPanel(KernelEmitter &e, Panel panel);

/// Names the terms [begin, end) of a sum.
struct Terms {
  Index begin, end;
};

/// Computes c[r][j] = factor(r) c[r][j] + sum over k of a[r][k] b[k][j], for all j and for r <
/// rows, rounded up to whole tiles. The terms are added one by one in the order of k, each by one
/// fused multiply-add, so an element does not depend on the tiles.
struct PanelMatmul {
  Panel a, b, c;
  /// Uses a[k][r] instead of a[r][k].
  bool transposed = false;
  Index rows;
  /// Gives the terms that rows `first` to `last` need.
  llvm::function_ref<Terms(Index first, Index last)> terms;
  /// Without it, the accumulators begin at 0.
  std::optional<llvm::function_ref<Num(Index row)>> factor = std::nullopt;
};
void emitMatmul(KernelEmitter &e, const PanelMatmul &product);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_EMITTER_PANELS_H
