//===- LossHeadGranule.h - Tokens that a loss head sums as one unit --------===//
//
// A library multiplies a granule of the loss head at a time, whatever the chunk, so that bits do
// not depend on the plan. The gradient of x has one tile for each 128 tokens and 128 elements of
// the width: for 512 tokens and a width of 768 that is 24, for 132 multiprocessors. Each granule
// also reads and writes the whole sum of the weight's gradient. A larger granule has more tiles and
// fewer sums, and logits of more bytes at the least budget.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TARGETS_LOSSHEADGRANULE_H
#define LLMMEM_TARGETS_LOSSHEADGRANULE_H

#include <cstdint>

namespace llmmem::llm {

/// Gives the granule where nothing is known about the device.
constexpr int64_t kLossHeadGranule = 512;

/// Returns the granule for a library on the GPU that kernels are tuned for: 512, doubled as long as
/// each doubling saves a twentieth of the loss head's modelled time. It depends on the shape alone,
/// so bits depend neither on the budget nor on the chunk. Example: it is 2048 for 8192 tokens of
/// GPT-2 (768, 50257 words), and 512 for Llama-3-8B (4096, 128256).
int64_t lossHeadGranule(int64_t tokens, int64_t width, int64_t vocabulary);

} // namespace llmmem::llm

#endif // LLMMEM_TARGETS_LOSSHEADGRANULE_H
