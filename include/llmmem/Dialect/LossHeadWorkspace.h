//===- LossHeadWorkspace.h - What lies where in a loss head's workspace ----===//
//
// Byte positions; each part starts on a multiple of 64 and ends where the next begins.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_DIALECT_LOSSHEADWORKSPACE_H
#define LLMMEM_DIALECT_LOSSHEADWORKSPACE_H

#include <cstdint>

namespace llmmem::llm {

/// Example: 8192 tokens in chunks of 512 on GPT-2 in bf16 are 32 KB of losses, 51.5 MB of logits,
/// 4.2 MB of products and 77.2 MB of lower halves.
struct LossHeadWorkspace {
  int64_t losses = 0;      // each token's loss, wide
  int64_t logits = 0;      // of one chunk, then their gradient, in the tensors' element type
  int64_t product = 0;     // some rows of one granule's weight gradient, wide
  int64_t lowerHalves = 0; // of the weight gradient's f32 sum; the upper halves stand in the result
  int64_t end = 0;
  int64_t productRows = 0; // rows of the weight gradient at a time; 0 where it is summed in place
};

} // namespace llmmem::llm

#endif // LLMMEM_DIALECT_LOSSHEADWORKSPACE_H
