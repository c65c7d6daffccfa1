//===- MmaSoftmax.h - The softmax of attention in fragments ---------------===//
//
// Scores arrive tile by tile. For each of a thread's two rows it keeps the largest one so far,
// times log2(e), and the sum of the powers of those that the thread holds. Earlier sums are
// rescaled where the largest grows (Milakov and Gimelshein, "Online normalizer calculation for
// softmax", 2018).
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_MMASOFTMAX_H
#define LLMMEM_LIB_CODEGEN_GPU_MMASOFTMAX_H

#include "MmaRows.h"

namespace llmmem {

class MmaSoftmax {
public:
  /// `sinks` is a score for each head that precedes all others, or null.
  MmaSoftmax(MmaRows &rows, HeadBlock queries, Buffer sinks)
      : rows(rows), e(rows.e), blocks(rows.blocks), queries(queries), sinks(sinks) {}

  /// Calls `body` with the number of each tile from `begin` to `end`, the sums of values so far,
  /// and what `emit` needs of the softmax so far; it updates both. Stores the results.
  using Body = llvm::function_ref<void(Index, FragmentsC &, llvm::MutableArrayRef<Num>)>;
  void foldTiles(Index begin, Index end, Body body);
  /// Turns `scores` with the first `count` keys of `keys` on into powers, after dropout, and
  /// rescales `out` to the new largest scores.
  void emit(FragmentsC &scores, FragmentsC &out, HeadBlock keys, int64_t count,
            llvm::MutableArrayRef<Num> state);

private:
  /// Counts, for each of a thread's two rows, the largest score, then the sums of powers.
  static constexpr int64_t kCarried = 4;
  Row begin();
  /// Stores out, divided by the sums of powers, and lse.
  void emitEnd(llvm::ArrayRef<FragmentC> out, llvm::ArrayRef<Num> state);
  FragmentsC visibleLogits(FragmentsC scores, HeadBlock keys, int64_t count);
  void emitPowers(FragmentsC &logits, FragmentsC &out, int64_t half, Num &largest, Num &total);
  void dropPowers(FragmentsC &powers, HeadBlock keys);

  MmaRows &rows;
  KernelEmitter &e;
  AttentionBlocks &blocks;
  HeadBlock queries;
  Buffer sinks;
};

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_MMASOFTMAX_H
