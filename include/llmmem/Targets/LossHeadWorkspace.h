//===- LossHeadWorkspace.h - What lies where in a loss head's workspace ----===//
//
// Byte positions; each region starts on a multiple of 64. What only a CPU and what only a GPU
// writes share bytes, as a step runs on one of them.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TARGETS_LOSSHEADWORKSPACE_H
#define LLMMEM_TARGETS_LOSSHEADWORKSPACE_H

#include "llmmem/Dialect/LlmOps.h"

namespace llmmem::llm {

/// Columns of a tile of logits that a GPU's tensor cores make at once.
constexpr int64_t kLogitsTile = 128;

/// Tiles of a row of logits, of which a GPU keeps what the softmax needs; 0 where x is not bf16.
int64_t logitsTiles(LossHeadOp head);

/// Elements from a row of logits to the next. Rows of 16 bits an element begin at lines of a cache,
/// so that a GPU copies them 16 bytes at a time, whatever the vocabulary.
/// Example: 50304 for the 50257 of GPT-2.
int64_t logitsPitch(LossHeadOp head);

/// Example: 8192 tokens in chunks of 512 on GPT-2 in bf16 are 32 KB of losses, 51.5 MB of logits,
/// 8.6 MB of widened factors and matmuls on a CPU or 1.6 MB of tiles on a GPU, and 77.2 MB of lower
/// halves.
struct LossHeadWorkspace {
  int64_t losses = 0; // each token's loss, widened
  int64_t logits = 0; // of one chunk, then their gradient, in the tensors' element type
  int64_t pitch = 0;  // elements from a row of logits to the next (`logitsPitch`)
  // Where ranks have parts of the vocabulary, widened:
  int64_t ownLogSums = 0; // of this rank's part, for each token of a chunk
  int64_t logSums = 0;    // of all ranks' parts, those of a rank side by side
  // Where the accumulator of dw is wider than dw:
  int64_t accumulator = 0; // what of it does not stand in dw: lower halves, or all (`splitsSum`)
  // There, on a CPU:
  int64_t inputs = 0;   // one accumulation tile of x, widened
  int64_t gradient = 0; // some columns of one accumulation tile of the logits' gradient, widened
  int64_t product = 0;  // of the two, widened
  int64_t columns = 0;  // of the vocabulary at a time
  // Where x is bf16, on a GPU: of each tile of each row of a chunk, widened, those of a row side by
  // side.
  int64_t tileMaxima = 0; // the largest logit
  int64_t tilePowers = 0; // the sum of exp(logit - largest)
  int64_t end = 0;
};

LossHeadWorkspace lossHeadWorkspace(LossHeadOp head);

} // namespace llmmem::llm

#endif // LLMMEM_TARGETS_LOSSHEADWORKSPACE_H
