//===- MmaSums.h - The sums of a tile, from registers to memory -----------===//
//
// The block of threads that computed a tile of C holds its sums in fragments C (MmaTile.h): a warp
// has those of some rows, 16 at a time, and of neighbouring columns. mma.sync and wgmma leave them
// in the same places, except for the distance of a warp's rows: wgmma gives a warp 16 of each 64.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_MMASUMS_H
#define LLMMEM_LIB_CODEGEN_GPU_MMASUMS_H

#include "MmaTile.h"

namespace llmmem {

/// Says what the warps of a block hold of a tile. A warp has `rowParts` times 16 rows,
/// `rowDistance` apart, and `columnParts` times 8 columns; `warpColumns` warps have the same rows.
///
/// A fragment's row of 8 elements is half of a sector of 32 bytes. Where `storesFour`, neighbouring
/// threads exchange halves of two fragments, so that four of them store 16 neighbouring elements at
/// once, in whole sectors; this needs registers.
struct WarpSums {
  int64_t rowParts, columnParts, rowDistance = kMmaRows, warpColumns;
  bool storesFour = false;
};

/// Says where a tile and one of its warps begin.
struct SumPlaces {
  Index thread;              // Of the block.
  Index row, column;         // Where in C the tile begins.
  Index warpRow, warpColumn; // Where in the tile the warp's first fragment begins.
};

class MmaSums {
public:
  /// `rows` and `columns` are those of the tile.
  MmaSums(KernelEmitter &e, const Matmul &matmul, WarpSums shape, int64_t rows, int64_t columns,
          SumPlaces at)
      : e(e), p(matmul), shape(shape), rows(rows), hasWholeColumns(matmul.columns % columns == 0),
        areWhole(matmul.rows % rows == 0 && llvm::alignTo(matmul.columns, columns) <=
                                                static_cast<uint64_t>(matmul.writableColumns())),
        at(at), lane(MmaLane::of(at.thread % kWarp)) {}

  /// Returns what this thread's sums begin with: 0, or `Matmul::continued`, which no other thread
  /// reads.
  Row begin();
  /// Stores this thread's `sums`: those of the four elements of fragment (i, j) begin at 4 (i
  /// columnParts + j).
  void store(llvm::ArrayRef<Num> sums);
  /// Stores two neighbours for each (i, j) of as many fragments of a row as there are in `pairs`,
  /// from fragment `first` on: those of rows 0 to 7 of fragments if `half` is 0, or 8 to 15.
  void storeHalves(llvm::ArrayRef<Num> pairs, Index half, Index first);
  /// Stores the softmax of the tile's rows as that of tile `tile` of `Matmul::softmax`, through
  /// `memory` of the block, whose contents are no longer needed.
  void storeSoftmax(llvm::ArrayRef<Num> sums, Buffer memory, Index tile);
  /// Does the same where a warp has whole rows of the tile.
  void storeSoftmax(llvm::ArrayRef<Num> sums, Index tile);
  /// Returns the bytes of the block's memory that the softmax needs.
  static int64_t bytesOfSoftmax(WarpSums shape, int64_t rows) {
    return 2 * shape.warpColumns * rows * 4;
  }

private:
  struct RowSoftmax {
    Num largest, powers;
  };

  const Num &sumAt(llvm::ArrayRef<Num> sums, int64_t i, int64_t j, int64_t number) const {
    return sums[(i * shape.columnParts + j) * 4 + number];
  }
  mlir::Value isInside(Index row, Index column) const;
  Row loadPair(Index row, Index column);
  Num loadOne(Index row, Index column);
  bool mayStoreFour() const;
  void storeFour(llvm::ArrayRef<Num> sums, int64_t i, int64_t j, int64_t half);
  void storePair(Num first, Num second, Index row, Index column);
  void storeTogether(llvm::ArrayRef<Num> neighbours, Index row, Index column);
  void storeElements(Num sum, Index row, Index column, unsigned lanes);
  Row storedRow(llvm::ArrayRef<Num> sums, int64_t i, int64_t half, Num lowest);
  RowSoftmax softmaxOfWarp(llvm::ArrayRef<Num> sums, int64_t i, int64_t half);
  RowSoftmax softmaxOfWarps(Buffer maxima, Buffer powers, Index row);
  void forRowsOfWarp(llvm::ArrayRef<Num> sums, llvm::function_ref<void(RowSoftmax, int64_t)> body);
  void storeRowSoftmax(RowSoftmax softmax, Buffer maxima, Buffer powers, Index place);
  void storeRowSoftmaxOfTile(RowSoftmax softmax, Index row, Index tile);
  Num scaled(Num sum) { return p.scale == 1.0 ? sum : sum * p.scale; }
  Index placeIn(const Matrix &matrix, Index row, Index column);
  bool areMultiples(const Matrix &matrix, int64_t number) const;

  KernelEmitter &e;
  const Matmul &p;
  WarpSums shape;
  int64_t rows;
  /// Say whether no tile has columns after those of C, and whether all may be stored as a whole.
  bool hasWholeColumns, areWhole;
  SumPlaces at;
  MmaLane lane;
};

/// Returns the place of a matrix's first element.
Index beginOf(KernelEmitter &e, const Matrix &matrix);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_MMASUMS_H
