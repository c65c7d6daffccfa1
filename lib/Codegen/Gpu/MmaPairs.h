//===- MmaPairs.h - Gradients of scores in fragments ----------------------===//
//
// The launches of attention's backward compute from scores and dout . value: probabilities, from
// lse, and with them the gradients of the scores.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_MMAPAIRS_H
#define LLMMEM_LIB_CODEGEN_GPU_MMAPAIRS_H

#include "MmaRows.h"
#include "llvm/Support/MathExtras.h"

namespace llmmem {

/// Holds what a launch knows of one score: a query and a key by their numbers in their blocks, lse
/// times -log2(e), and delta.
struct MmaPair {
  Index query, key;
  Num minusLse, delta;
};

/// Holds the statistics of a thread's two rows, which are queries.
struct RowStatistics {
  Num minusLse[2], delta[2];
};

/// Reads lse, and computes delta = dout . out, which it stores to the workspace, from the rows of
/// dout and out.
RowStatistics emitStatistics(MmaRows &rows, HeadBlock queries, llvm::ArrayRef<FragmentA> douts,
                             llvm::ArrayRef<FragmentA> outs);

inline Num minusLog2(Num lse) { return lse * -llvm::numbers::log2e; }

class MmaPairs {
public:
  using PairOf = llvm::function_ref<MmaPair(int64_t fragment, int64_t number)>;

  MmaPairs(MmaRows &rows, HeadBlock queries, int64_t queryCount, HeadBlock keys, int64_t keyCount)
      : rows(rows), e(rows.e), blocks(rows.blocks), queries(queries), keys(keys),
        mayBeMasked(rows.mayBeMasked(queries, queryCount, keys, keyCount)) {}

  /// Turns `scores` into the factors of dout in dv, the probabilities after dropout, and `products`
  /// into the gradients of the scores before their scale. Logits are capped scores.
  void emit(FragmentsC &scores, FragmentsC &products, PairOf pairOf);

  /// Does the same in two steps, of which the first does not need `products`: `scores` become
  /// probabilities, and the logits are returned.
  FragmentsC emitProbabilities(FragmentsC &scores, PairOf pairOf);
  void emitGradients(llvm::ArrayRef<FragmentC> logits, FragmentsC &probabilities,
                     FragmentsC &products, PairOf pairOf);

private:
  MmaRows &rows;
  KernelEmitter &e;
  AttentionBlocks &blocks;
  HeadBlock queries, keys;
  mlir::Value mayBeMasked;
};

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_MMAPAIRS_H
