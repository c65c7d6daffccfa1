//===- LatentParts.h - Latent rows that several blocks of threads share ----===//
//
// A step of decoding has few tokens, and tensor cores take many heads of a token at once, so that a
// latent row is read once for all of them. A GPU would then have few blocks of threads. So each
// part of a cache has blocks of its own, which write their sums in f32 to the workspace, and a
// second kernel adds the parts in order. Parts begin at multiples of a number of positions that
// depends on the heads alone, never on the batch, the length of a step or a cache, nor the plan, so
// equal tokens have equal bits.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TARGETS_LATENTPARTS_H
#define LLMMEM_TARGETS_LATENTPARTS_H

#include "llmmem/Dialect/LlmOps.h"
#include <string>

namespace llmmem::llm {

/// Says how tensor cores divide a latent attention into blocks of threads.
struct LatentParts {
  int64_t heads;     // Heads of a block.
  int64_t groups;    // Groups of heads.
  int64_t positions; // Positions of a part, a multiple of a tile of keys.
  int64_t count;     // Parts of a full cache.
  int64_t tokens;    // Tokens of one launch, a divisor of all tokens.

  /// Returns the heads of a block, rounded up as tensor cores multiply them.
  int64_t rows() const { return llvm::alignTo(heads, 16); }
  /// Return the elements of a token's sums, of all parts, and of the maxima and totals after them.
  int64_t sumsOfToken(int64_t rank) const { return count * groups * heads * rank; }
  int64_t statisticsOfToken() const { return count * groups * heads * 2; }
};

/// Returns the workgroup memory of a block, in bytes: queries, two tiles of keys, the scores, and
/// the scales of the keys' rows where these have fewer bits.
int64_t latentBlockBytes(int64_t rows, int64_t width);
/// Counts the keys of a tile.
constexpr int64_t kLatentTile = 32;

/// Returns none where tensor cores do not multiply it: elements have other than 16 bits, or rows or
/// values are no whole fragments or too long.
std::optional<LatentParts> latentPartsOf(LatentAttentionOp op);
/// Says, for people, why tensor cores do not multiply it; empty if they do. Example: "rows have 40
/// elements, which are no multiple of 16".
std::string whyNoLatentParts(LatentAttentionOp op);

/// Returns the bytes of the parts' sums; 0 for one part. Example: 4 parts of 16 tokens with 128
/// heads of 512 elements have 4 * 16 * 128 * (512 + 2) * 4.
int64_t latentPartsBytes(LatentAttentionOp op);

} // namespace llmmem::llm

#endif // LLMMEM_TARGETS_LATENTPARTS_H
