//===- MmaRows.h - The rows of a warp in attention on tensor cores --------===//
//
// The three kernels of attention have this in common. A warp's fragments hold 16 rows, of which a
// thread holds elements of two: `group` and `group + 8`. If rows are queries, columns are keys, and
// vice versa.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_MMAROWS_H
#define LLMMEM_LIB_CODEGEN_GPU_MMAROWS_H

#include "Emitter/AttentionBlocks.h"
#include "MmaTile.h"

namespace llmmem {

using FragmentsA = llvm::SmallVector<FragmentA>;
using FragmentsC = llvm::SmallVector<FragmentC>;

/// Convert accumulators to values that a loop carries, and back.
Row flatten(llvm::ArrayRef<FragmentC> sums);
FragmentsC unflatten(llvm::ArrayRef<Num> numbers);

class MmaRows {
public:
  MmaRows(AttentionBlocks &blocks, Index thread, int64_t threads)
      : blocks(blocks), e(blocks.e), thread(thread), threads(threads), warp(thread / kWarp),
        lane(MmaLane::of(thread % kWarp)) {}

  int64_t extent() const { return threads / kWarp * kMmaRows; }
  /// Returns the first row of this warp in a tile of the block.
  Index firstRow() const { return warp * kMmaRows; }
  /// Returns row 0 or 1 of this thread, in the block.
  Index rowOf(int64_t half) const { return firstRow() + lane.group + 8 * half; }
  Index columnOf(int64_t fragment, int64_t number) const {
    return lane.pair * 2 + (fragment * kMmaColumns + number % 2);
  }

  /// Copy rows of a head into a tile of rows, in a group of copies of their own. Row r is at the
  /// block's queryOffset of queries, or keyOffset of keys.
  void copyQueries(const MmaTile &tile, Buffer from, HeadBlock block);
  void copyKeys(const MmaTile &tile, Buffer from, HeadBlock block);
  void synchronize() { barrier(e); }
  /// Waits until everything that all threads have copied is complete, except for the newest
  /// `groups` groups.
  void synchronizeCopies(int32_t groups = 0) {
    waitForCopies(e, groups);
    synchronize();
  }

  /// Returns this warp's rows of a tile, in fragments along the inner dimension.
  FragmentsA rowsOf(const MmaTile &tile);
  /// Computes rows . columns^T for the `columns` rows of `tile`: a fragment for every 8 of them.
  FragmentsC products(llvm::ArrayRef<FragmentA> rows, const MmaTile &tile);
  /// Does the same with rows in workgroup memory.
  FragmentsC products(const MmaTile &rows, const MmaTile &tile);
  /// Computes sums += pairs . factor, whose rows are pairs' columns.
  void addMatmul(FragmentsC &sums, llvm::ArrayRef<FragmentC> pairs, const MmaTile &factor);

  /// Combines `x` of the four threads of a row in a fixed tree.
  Num acrossRow(Num x, llvm::function_ref<Num(Num, Num)> combine);
  /// Returns whether the query of a sequence of the batch attends to the key, and both exist.
  mlir::Value isUnmasked(Index batch, Index query, Index key);
  /// Returns whether any of `queryCount` queries and `keyCount` keys from the first ones of the
  /// blocks on may be masked. Most blocks of long sequences have no such pair.
  mlir::Value mayBeMasked(HeadBlock queries, int64_t queryCount, HeadBlock keys, int64_t keyCount);
  /// Returns the numbers of `fragments` where `isVisible(fragment, number)`, else `hidden`; all of
  /// them if not `mayBe`.
  FragmentsC masked(mlir::Value mayBe, llvm::ArrayRef<FragmentC> fragments, Num hidden,
                    llvm::function_ref<mlir::Value(int64_t, int64_t)> isVisible);

  /// 2^(logit(score) * logitFactor()) is exp of the scaled and capped score: the factor includes
  /// the scale where nothing has to be done between them.
  Num logit(Num score);
  double logitFactor() const;

  /// Stores two rows of this thread times factor(half), where the row is below `bound`.
  void store(llvm::ArrayRef<FragmentC> sums, Buffer to, llvm::function_ref<Index(Index row)> place,
             Index bound, llvm::function_ref<Num(int64_t half)> factor);

  AttentionBlocks &blocks;
  KernelEmitter &e;
  Index thread;
  int64_t threads;
  Index warp;
  MmaLane lane;

private:
  bool isScaledInFactor() const;
  void copy(const MmaTile &tile, Buffer from, Index begin, int64_t pitch, HeadBlock block);
  /// Computes sums += rows . the tile's rows from `inner` on, as columns of B.
  void addPart(FragmentsC &sums, const FragmentA &rows, const MmaTile &tile, int64_t inner);
};

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_MMAROWS_H
