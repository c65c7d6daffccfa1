//===- SplitSums.h - Matmuls whose sum several blocks share ----------------===//
//
// A weight's gradient sums over all tokens, and a small weight has fewer tiles than a GPU has
// multiprocessors. There the tokens are split: each part has its own blocks, which write their sums
// in f32 to the workspace, and a second kernel adds the parts in their order (split-K with a fixed
// reduction). How many parts there are, the shape alone says, so the bits hang neither on the plan
// nor on the schedule.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TARGETS_SPLITSUMS_H
#define LLMMEM_TARGETS_SPLITSUMS_H

#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Targets/WarpgroupTiles.h"
#include "llvm/Support/MathExtras.h"

namespace llmmem::llm {

/// Equal parts of a sum's terms; the last may be shorter.
struct SumParts {
  int64_t count = 1;
  int64_t terms = 0; // of each, a multiple of a step of tensor cores

  /// Elements from a part's sums to the next part's: vectors may begin there. Example: 704 for 19 x
  /// 37.
  static int64_t distance(int64_t elements) { return llvm::alignTo(elements, 64); }
};

/// How a matmul of `rows` x `columns` sums over `inner` terms in the least modelled time, by wgmma
/// or by mma.sync, whose tiles are smaller. Example: 768 x 768 over 8192 tokens has 36 tiles of 128
/// x 128; by mma.sync 3 parts of 2752 terms, so 108 tiles, by wgmma 5 parts of 1664.
SumParts sumPartsOf(int64_t rows, int64_t columns, int64_t inner, bool byWarpgroup);

/// Those of a weight's gradient; one of what no tensor cores multiply, of what a library is to
/// multiply, and of an op inside of a kernel for several.
SumParts sumPartsOf(LinearWeightGradOp op, bool byWarpgroup);

/// By how many blocks of a cluster such a matmul shares out its terms, where tensor maps bring the
/// tiles: 1 where whole sums take less than a twentieth more modelled time, or the parts above
/// less. By the shape alone, too. Example: 4 for 768 x 768 over 8192 tokens, 2 for 768 x 2304
/// and 768 x 3072, 1 for 4096 x 1024.
int64_t clusterPartsOf(int64_t rows, int64_t columns, int64_t inner);

/// Bytes of the parts' sums, by wgmma or mma.sync, whichever are more, as a plan is of no chip; 0
/// for one part. Example: 5 * 768 * 768 * 4.
int64_t sumPartsBytes(LinearWeightGradOp op);

} // namespace llmmem::llm

#endif // LLMMEM_TARGETS_SPLITSUMS_H
