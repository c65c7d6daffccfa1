//===- WarpgroupPanel.h - Rows of a head that wgmma reads -----------------===//
//
// A panel is `rows` rows of a head in shared memory: for every 64 elements of a row an MmaTile of
// all rows, in lines of 128 bytes. An operand whose inner places are the elements of a row gives
// scores, and one whose inner places are the rows gives sums over them. Example: 128 keys of heads
// of 128 are two tiles of 16 KiB; scores of queries have its 128 rows as columns of B, and 8 steps
// of 16 elements.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_WARPGROUPPANEL_H
#define LLMMEM_LIB_CODEGEN_GPU_WARPGROUPPANEL_H

#include "MmaRows.h"
#include "WarpgroupTile.h"

namespace llmmem {

class WarpgroupPanel {
public:
  /// It begins at element `begin` of shared memory, a multiple of 1024 bytes; `size` is 64 or 128.
  WarpgroupPanel(Buffer memory, Index begin, int64_t rows, int64_t size)
      : rows(rows), size(size), memory(memory), begin(begin) {}

  static int64_t sizeOf(int64_t rows, int64_t size) { return rows * size; }

  /// Start to copy the rows of a block of queries, or of keys.
  void copyQueries(MmaRows &of, Buffer source, HeadBlock block) const {
    AttentionBlocks &blocks = of.blocks;
    copy(of, source, blocks.queryOffset(source, block, of.e.index(0)), blocks.queryPitch(source));
  }
  void copyKeys(MmaRows &of, Buffer source, HeadBlock block) const {
    AttentionBlocks &blocks = of.blocks;
    copy(of, source, blocks.keyOffset(source, block, of.e.index(0)), blocks.keyPitch(source));
  }

  /// Returns a warp's 16 rows, in fragments along the elements.
  FragmentsA fragments(MmaRows &of) const {
    FragmentsA all;
    for (int64_t column = 0; column < size; column += kMmaInner)
      all.push_back(loadFragmentA(of.e, part(column), of.firstRow(),
                                  of.e.index(column % kSwizzledLine), of.lane));
    return all;
  }

  /// Starts a . b^T of the warpgroup's 64 rows of `a`, and all rows of `b`.
  static mlir::Value startScores(MmaRows &of, const WarpgroupPanel &a, const WarpgroupPanel &b) {
    KernelEmitter &e = of.e;
    Index row = of.thread / kWarpgroup * kWgmmaRows;
    WarpgroupTile ofA = a.byRows(), ofB = b.byRows();
    mlir::Value sums = noSums(e, b.rows), beginA = ofA.descriptor(e, row),
                beginB = ofB.descriptor(e, e.index(0));
    for (int64_t inner = 0; inner < a.size; inner += kMmaInner) {
      int64_t before = inner / kSwizzledLine, own = inner % kSwizzledLine;
      sums = startWgmma(e, ofA, ofA.advance(e, beginA, before * a.rows, own), ofB,
                        ofB.advance(e, beginB, before * b.rows, own), sums,
                        /*clears=*/inner == 0);
    }
    return sums;
  }

  /// Starts sums + weights . b, with a fragment of weights for every 16 rows of `b`.
  static mlir::Value startSums(KernelEmitter &e, llvm::ArrayRef<FragmentA> weights,
                               const WarpgroupPanel &b, mlir::Value sums) {
    WarpgroupTile ofB(b.memory, b.begin, b.size, MmaTile::Lines::Inner, b.rows);
    mlir::Value beginB = ofB.descriptor(e, e.index(0));
    for (auto [number, weight] : llvm::enumerate(weights))
      sums = startWgmma(e, weight, ofB,
                        ofB.advance(e, beginB, 0, static_cast<int64_t>(number) * kMmaInner), sums);
    return sums;
  }

  /// Returns the element of shared memory at which the rows' elements from `column` on lie, a
  /// multiple of 64.
  Index beginOf(int64_t column) const {
    return begin + column / kSwizzledLine * rows * kSwizzledLine;
  }

  int64_t rows, size;

private:
  /// Copies rows that begin at `from`, `pitch` elements apart.
  void copy(MmaRows &of, Buffer source, Index from, int64_t pitch) const {
    KernelEmitter &e = of.e;
    for (int64_t column = 0; column < size; column += kSwizzledLine)
      copyTile(e, part(column),
               {source, from + column, pitch, e.index(0), e.index(0), e.index(rows),
                e.index(kSwizzledLine)},
               of.thread, of.threads);
  }
  MmaTile part(int64_t column) const { return {memory, beginOf(column), rows, kSwizzledLine}; }
  WarpgroupTile byRows() const { return {memory, begin, rows, MmaTile::Lines::Rows}; }

  Buffer memory;
  Index begin;
};

/// Holds two stages of two panels each, of which one is multiplied while the other is copied. Tile
/// `number` of an iteration has stage `number` % 2.
class WarpgroupStages {
public:
  static constexpr int64_t kStages = 2;

  WarpgroupStages(Buffer memory, int64_t begin, int64_t rows, int64_t size)
      : memory(memory), begin(begin), rows(rows), size(size) {}

  static int64_t sizeOf(int64_t rows, int64_t size) {
    return kStages * 2 * WarpgroupPanel::sizeOf(rows, size);
  }
  WarpgroupPanel panel(Index number, int64_t which) const {
    const int64_t ofPanel = WarpgroupPanel::sizeOf(rows, size);
    return {memory, number % kStages * (2 * ofPanel) + (begin + which * ofPanel), rows, size};
  }

private:
  Buffer memory;
  int64_t begin, rows, size;
};

/// Packs neighbouring fragments of numbers into fragments of A, rounded to 16 bits.
inline FragmentsA packFragments(KernelEmitter &e, llvm::ArrayRef<FragmentC> numbers) {
  FragmentsA packed;
  for (size_t k = 0; k < numbers.size(); k += 2)
    packed.push_back(packFragment(e, numbers[k], numbers[k + 1]));
  return packed;
}

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_WARPGROUPPANEL_H
