//===- LossHeadWorkspace.h - What lies where in a loss head's workspace ----===//
//
// Gives byte positions; each region starts on a multiple of 64. What only a CPU and what only a GPU
// writes share bytes, because a step runs on one of them.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TARGETS_LOSSHEADWORKSPACE_H
#define LLMMEM_TARGETS_LOSSHEADWORKSPACE_H

#include "llmmem/Dialect/LlmOps.h"

namespace llmmem::llm {

/// Counts the columns of a tile of logits that a GPU's tensor cores compute at once.
constexpr int64_t kLogitsTile = 128;

/// Returns the tiles of a row of logits, of which a GPU keeps what the softmax needs; 0 where x is
/// not bf16.
int64_t logitsTiles(LossHeadOp head);

/// Returns the elements from a row of logits to the next. Rows of 16-bit elements begin at cache
/// lines, so that a GPU copies 16 bytes at a time, whatever the vocabulary. Example: it is 50304
/// for the 50257 of GPT-2.
int64_t logitsPitch(LossHeadOp head);

/// Example: 8192 tokens in chunks of 512 on GPT-2 in bf16 take 32 KB of losses, 51.5 MB of logits,
/// 8.6 MB of widened factors and matmuls on a CPU or 1.6 MB of tiles on a GPU, and 77.2 MB of lower
/// halves.
struct LossHeadWorkspace {
  int64_t losses = 0; // Each token's loss, widened.
  int64_t logits = 0; // Those of one chunk, then their gradient, in the tensors' element type.
  int64_t pitch = 0;  // Elements from a row of logits to the next (`logitsPitch`).
  // Where ranks have parts of the vocabulary, widened:
  int64_t ownLogSums = 0; // This rank's part, for each token of a chunk.
  int64_t logSums = 0;    // All ranks' parts, grouped by rank.
  // Where the accumulator of dw is wider than dw:
  int64_t accumulator = 0; // The part of it that dw does not hold: lower halves, or all
                           // (`splitsSum`).
  /// In that case a CPU widens a granule of x, and some columns of the logits' gradient for it.
  /// Their product is what they add to dw.
  struct Contribution {
    int64_t inputs = 0, gradient = 0, product = 0;
    int64_t columns = 0; // Columns of the vocabulary at a time.
  } contribution;
  // Where x is bf16, on a GPU: values of each tile of each row of a chunk, widened, grouped by row.
  int64_t tileMaxima = 0; // The largest logit.
  int64_t tilePowers = 0; // The sum of exp(logit - largest).
  int64_t end = 0;
};

LossHeadWorkspace lossHeadWorkspace(LossHeadOp head);

} // namespace llmmem::llm

#endif // LLMMEM_TARGETS_LOSSHEADWORKSPACE_H
