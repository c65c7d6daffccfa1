//===- SplitSums.h - Matmuls whose sum several blocks share ----------------===//
//
// A weight's gradient sums over all tokens, and a small weight has fewer tiles than a GPU has
// multiprocessors. Then the tokens are split: each part has its own blocks, which write their sums
// in f32 to the workspace, and a second kernel adds the parts in order (split-K with a fixed
// reduction). The number of parts depends on the shape alone, so the bits depend neither on the
// plan nor on the schedule.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TARGETS_SPLITSUMS_H
#define LLMMEM_TARGETS_SPLITSUMS_H

#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Targets/WarpgroupTiles.h"
#include "llvm/Support/MathExtras.h"

namespace llmmem::llm {

/// Splits a sum's terms into equal parts; the last may be shorter.
struct SumParts {
  int64_t count = 1;
  int64_t terms = 0; // Terms of each part, a multiple of a step of tensor cores.

  /// Returns the elements from a part's sums to the next part's; vectors may begin there. Example:
  /// 704 for 19 x 37.
  static int64_t distance(int64_t elements) { return llvm::alignTo(elements, 64); }
};

/// Returns how a matmul of `rows` x `columns` sums over `inner` terms in the least modelled time,
/// by wgmma or by mma.sync, whose tiles are smaller. Example: 768 x 768 over 8192 tokens has 36
/// tiles of 128 x 128. By mma.sync it has 3 parts of 2752 terms, so 108 tiles; by wgmma 5 parts of
/// 1664.
SumParts sumPartsOf(int64_t rows, int64_t columns, int64_t inner, bool byWarpgroup);

/// Returns the parts of a weight's gradient: one if no tensor cores multiply it, if a library is to
/// multiply it, and for an op inside a kernel of several.
SumParts sumPartsOf(LinearWeightGradOp op, bool byWarpgroup);

/// Returns the number of blocks of a cluster that share the terms of such a matmul, where tensor
/// maps bring the tiles. It is 1 where unsplit sums, or the parts above, take at most a twentieth
/// more modelled time. It depends on the shape alone, too. Example: 4 for 768 x 768 over 8192
/// tokens, 2 for 768 x 2304 and 768 x 3072, 1 for 4096 x 1024.
int64_t clusterPartsOf(int64_t rows, int64_t columns, int64_t inner);

/// Returns the bytes of the parts' sums, by wgmma or mma.sync, whichever needs more, because a plan
/// is for no particular chip; 0 for one part. Example: 5 * 768 * 768 * 4.
int64_t sumPartsBytes(LinearWeightGradOp op);

} // namespace llmmem::llm

#endif // LLMMEM_TARGETS_SPLITSUMS_H
