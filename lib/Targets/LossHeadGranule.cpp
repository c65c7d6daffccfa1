//===- LossHeadGranule.cpp - Tokens that a loss head sums as one unit ------===//

#include "llmmem/Targets/LossHeadGranule.h"
#include "llmmem/Device/GpuGeometry.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace llmmem;
using namespace llmmem::llm;

/// Returns the steps of 128 x 128 x 32 multiply-adds that the busiest multiprocessor makes of a
/// matmul.
static int64_t productSteps(int64_t rows, int64_t columns, int64_t inner) {
  constexpr int64_t tile = 128, step = 32;
  int64_t tiles = llvm::divideCeil(rows, tile) * llvm::divideCeil(columns, tile);
  return llvm::divideCeil(tiles, tunedGpu().multiprocessors) * llvm::divideCeil(inner, step);
}

/// Counts, for all tokens, the logits, the gradient of x, and that of the weight, which memory may
/// bound.
static int64_t modelledSteps(int64_t granule, int64_t tokens, int64_t width, int64_t vocabulary) {
  constexpr int64_t bytesOfSum = 8; // An f32 is read and written.
  const auto bytesOfStep = static_cast<int64_t>(tunedGpu().perClock.mmaStepDramBytes);
  int64_t sum = llvm::divideCeil(vocabulary * width * bytesOfSum, bytesOfStep);
  int64_t ofGranule = productSteps(granule, vocabulary, width) +
                      productSteps(granule, width, vocabulary) +
                      std::max(productSteps(vocabulary, width, granule), sum);
  return llvm::divideCeil(tokens, granule) * ofGranule;
}

int64_t llm::lossHeadGranule(int64_t tokens, int64_t width, int64_t vocabulary) {
  int64_t granule = kLossHeadGranule, least = modelledSteps(granule, tokens, width, vocabulary);
  while (2 * granule <= tokens) {
    int64_t steps = modelledSteps(2 * granule, tokens, width, vocabulary);
    // More bytes must be worth a twentieth of the time.
    if (20 * steps > 19 * least)
      break;
    granule *= 2;
    least = steps;
  }
  return granule;
}
