//===- SplitSums.cpp - Matmuls whose sum several blocks share --------------===//

#include "llmmem/Targets/SplitSums.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

/// Steps of 128 x 128 x 32 multiply-adds that the busiest multiprocessor makes, and, in the same
/// unit, what writing and adding the parts moves: 3350 bytes a ns, some 310 ns a step.
static int64_t modelledSteps(int64_t tiles, int64_t elements, int64_t steps, int64_t parts) {
  constexpr int64_t bytesOfStep = 1 << 20, bytes = 8; // an f32 written and read
  int64_t turns = llvm::divideCeil(parts * tiles, kMultiprocessors);
  int64_t moved = parts > 1 ? llvm::divideCeil(parts * elements * bytes, bytesOfStep) : 0;
  return turns * llvm::divideCeil(steps, parts) + moved;
}

SumParts llm::sumPartsOf(int64_t rows, int64_t columns, int64_t inner) {
  // A part is long enough to fill the pipeline of copies many times.
  constexpr int64_t tile = 128, step = 32, mostParts = 8, leastSteps = 16;
  int64_t tiles = llvm::divideCeil(rows, tile) * llvm::divideCeil(columns, tile);
  int64_t steps = llvm::divideCeil(inner, step), count = 1;
  int64_t least = modelledSteps(tiles, rows * columns, steps, 1);
  for (int64_t parts = 2; parts <= mostParts && parts * leastSteps <= steps; ++parts) {
    int64_t time = modelledSteps(tiles, rows * columns, steps, parts);
    // More bytes must be worth a twentieth of the time.
    if (20 * time < 19 * least)
      count = parts, least = time;
  }
  int64_t ofPart = llvm::divideCeil(steps, count);
  return {llvm::divideCeilSigned(steps, ofPart), ofPart * step};
}

/// Rows and columns of the weight do not tell layouts apart: both have as many tiles.
SumParts llm::sumPartsOf(LinearWeightGradOp op) {
  auto x = cast<RankedTensorType>(op.getX().getType());
  auto weight = cast<RankedTensorType>(op.getDw().getType());
  int64_t inner = x.getNumElements() / x.getShape().back();
  if (x.getElementTypeBitWidth() != 16 || isForLibrary(op) || isa<KernelOp>(op->getParentOp()))
    return {1, inner};
  return sumPartsOf(weight.getDimSize(0), weight.getDimSize(1), inner);
}

int64_t llm::sumPartsBytes(LinearWeightGradOp op) {
  int64_t parts = sumPartsOf(op).count;
  auto weight = cast<RankedTensorType>(op.getDw().getType());
  return parts == 1 ? 0 : parts * SumParts::distance(weight.getNumElements()) * 4;
}
