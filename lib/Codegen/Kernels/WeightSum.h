//===- WeightSum.h - The gradient of a weight, chunk by chunk --------------===//
//
// A loss head, and a feed-forward that goes through its rows in chunks, add what each chunk
// contributes to the gradient of a weight. The bits do not depend on the chunk.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_KERNELS_WEIGHTSUM_H
#define LLMMEM_LIB_CODEGEN_KERNELS_WEIGHTSUM_H

#include "Emitter/Matmuls.h"

namespace llmmem {

/// Describes a range of rows of the op, of a chunk, or of columns.
struct Rows {
  Index begin;
  int64_t count;
};

/// Visits whole pieces in a loop, then the remainder.
void forPieces(KernelEmitter &e, int64_t count, int64_t piece, llvm::function_ref<void(Rows)> body);

/// Returns whether matmuls of `element` have all rows of a chunk, not those of a granule.
bool multipliesChunks(KernelEmitter &e, mlir::Type element);

/// Describes one of two factors whose rows are summed: all rows, or those of a chunk.
struct RowFactor {
  Buffer buffer;
  int64_t width = 0;
  int64_t pitch = 0; // Elements from a row to the next.
  bool isOfChunk = false;

  /// Returns the element that row `row` of the chunk begins with, which is row `first` + `row` of
  /// all.
  Index placeOf(Index first, Index row) const { return (isOfChunk ? row : first + row) * pitch; }
};

/// A CPU widens a granule of x, and some columns of the gradient for it; their product is what they
/// add to dw. Holds places in the workspace.
struct Contribution {
  int64_t inputs = 0, gradient = 0, product = 0;
  int64_t columns = 0; // Columns of the gradient at a time.
};

/// Describes dw = into + x^T gradient, or its transpose (`isOutIn`), over all rows. Many fields:
/// each is a fact of the sum.
struct WeightSum {
  mlir::Operation *op = nullptr; // Whose kernel it is.
  RowFactor x = {}, gradient = {};
  bool isOutIn = false;
  int64_t rows = 0, chunk = 0, granule = 0;
  /// `into` is what the sum continues from, if anything; dw is null where nothing is summed.
  Buffer into = {}, dw = {};
  /// The part of an accumulator wider than dw that does not lie in dw: the lower halves of f32,
  /// whose upper halves are the bf16 of dw, or all bits. Null where dw itself is the accumulator.
  Buffer accumulator = {};
  Contribution contribution = {};

  bool isSplit() const { return static_cast<bool>(accumulator); }
  bool isOneGranule() const { return rows <= granule; }
};

/// Adds what each chunk contributes to dw. Does nothing where there is none.
class WeightGradientSum {
public:
  WeightGradientSum(WeightSum sum, KernelEmitter &e) : p(std::move(sum)), e(e) {}

  void begin();
  /// Adds what the chunk's `rows` contribute.
  void add(Rows rows);
  void finish();

private:
  bool isForDevice() const { return e.options().target == KernelTarget::Gpu; }
  bool addsWholeChunks();
  /// Returns whether one launch computes all of dw, so that its f32 sums are never in memory.
  bool sumsInRegisters() { return p.isSplit() && addsWholeChunks() && p.chunk == p.rows; }
  Matmul matmulOfRows(Index first, Rows part);
  void addToSum(Index first, Rows part);
  void addToSplitSum(Index first, Rows part);
  void addToSplitSumOnDevice(Index first, Rows part);
  Matrix wideInputs(Rows part);
  std::pair<Matrix, Matrix> contributionOperands(Index first, Rows part, Rows columns);
  void addMatmulToAccumulator(Index first, Rows part, Rows columns);
  void widen(Buffer from, Index begin, int64_t pitch, int64_t rows, int64_t columns, Buffer to);

  WeightSum p;
  KernelEmitter &e;
};

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_KERNELS_WEIGHTSUM_H
