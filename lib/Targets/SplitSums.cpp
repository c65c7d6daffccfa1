//===- SplitSums.cpp - Matmuls whose sum several blocks share --------------===//

#include "llmmem/Targets/SplitSums.h"
#include "llmmem/Device/GpuGeometry.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Support/Count.h"
#include "llmmem/Targets/WarpgroupTiles.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

/// Returns parts of whole steps of `step` terms, at most `most` of at least `leastSteps` each,
/// whose `time` is the least. It has as few parts as hold the `inner` terms.
static SumParts partsOfLeastTime(int64_t inner, int64_t step, int64_t most, int64_t leastSteps,
                                 function_ref<double(int64_t steps, int64_t parts)> time) {
  int64_t steps = llvm::divideCeil(inner, step), count = 1;
  double least = time(steps, 1);
  for (int64_t parts = 2; parts <= most && parts * leastSteps <= steps; ++parts)
    // More bytes must be worth a twentieth of the time.
    if (double now = time(steps, parts); 20 * now < 19 * least)
      count = parts, least = now;
  int64_t ofPart = llvm::divideCeil(steps, count);
  return {llvm::divideCeilSigned(steps, ofPart), ofPart * step};
}

/// For mma.sync, counts the steps of 128 x 128 x 32 multiply-adds that the busiest multiprocessor
/// makes and, in the same unit, what writing and adding the parts moves.
static int64_t modelledSteps(int64_t tiles, int64_t elements, int64_t steps, int64_t parts) {
  constexpr int64_t bytes = 8; // An f32 is written and read.
  const auto bytesOfStep = static_cast<int64_t>(tunedGpu().perClock.mmaStepDramBytes);
  int64_t turns = llvm::divideCeil(parts * tiles, tunedGpu().multiprocessors);
  int64_t moved = parts > 1 ? llvm::divideCeil(parts * elements * bytes, bytesOfStep) : 0;
  return turns * llvm::divideCeil(steps, parts) + moved;
}

static SumParts warpPartsOf(int64_t rows, int64_t columns, int64_t inner) {
  // A part is long enough to fill the pipeline of copies many times.
  constexpr int64_t tile = 128, step = 32, mostParts = 8, leastSteps = 16;
  int64_t tiles = llvm::divideCeil(rows, tile) * llvm::divideCeil(columns, tile);
  return partsOfLeastTime(inner, step, mostParts, leastSteps, [&](int64_t steps, int64_t parts) {
    return static_cast<double>(modelledSteps(tiles, rows * columns, steps, parts));
  });
}

/// For wgmma, returns the cycles of both launches. Those of the second are a launch and what it
/// reads.
static double modelledCycles(int64_t rows, int64_t columns, int64_t steps, int64_t parts) {
  constexpr int64_t chunk = 8; // Elements of 16 bytes.
  WarpgroupProduct product = {rows, columns, static_cast<int64_t>(llvm::divideCeil(steps, parts)),
                              parts, /*stored=*/parts == 1 ? 2 : 4};
  // Sharing needs tensor maps, which rows at other places cannot have, and tiles that threads can
  // copy, too.
  bool mayShare = rows % chunk == 0 && columns % chunk == 0;
  TileSharing sharing = mayShare ? TileSharing::Modelled : TileSharing::Never;
  double least = fastestLaunch(product, {sharing}).cycles;
  double read = static_cast<double>(parts * rows * columns * 4);
  const ClockRates &clock = tunedGpu().perClock;
  return parts == 1 ? least : least + clock.launch + read / clock.dramBytes;
}

/// A part is long enough to fill the pipeline of copies.
static constexpr int64_t kLeastWarpgroupSteps = 8;

static SumParts warpgroupPartsOf(int64_t rows, int64_t columns, int64_t inner) {
  constexpr int64_t mostParts = 16;
  return partsOfLeastTime(
      inner, WarpgroupTileSize::kInner, mostParts, kLeastWarpgroupSteps,
      [&](int64_t steps, int64_t parts) { return modelledCycles(rows, columns, steps, parts); });
}

int64_t llm::clusterPartsOf(int64_t rows, int64_t columns, int64_t inner) {
  constexpr int64_t chunk = 8;
  if (rows % chunk != 0 || columns % chunk != 0)
    return 1;
  int64_t steps = llvm::divideCeil(inner, WarpgroupTileSize::kInner), best = 1;
  auto cyclesOf = [&](int64_t parts) {
    WarpgroupProduct product = {rows, columns, steps, 1, 2, parts};
    return fastestLaunch(product).cycles;
  };
  // Waiting for each other must save a twentieth of the time of unsplit sums. Compared with parts
  // in the workspace, which take memory, any gain counts.
  double least = 0.95 * cyclesOf(1);
  if (int64_t apart = warpgroupPartsOf(rows, columns, inner).count; apart > 1)
    least = std::min(least, modelledCycles(rows, columns, steps, apart));
  for (int64_t parts : {2, 4})
    if (double now = cyclesOf(parts); parts * kLeastWarpgroupSteps <= steps && now < least)
      best = parts, least = now;
  return best;
}

SumParts llm::sumPartsOf(int64_t rows, int64_t columns, int64_t inner, bool byWarpgroup) {
  return byWarpgroup ? warpgroupPartsOf(rows, columns, inner) : warpPartsOf(rows, columns, inner);
}

/// Rows and columns of the weight do not distinguish layouts, because both have as many tiles.
SumParts llm::sumPartsOf(LinearWeightGradOp op, bool byWarpgroup) {
  auto x = cast<RankedTensorType>(op.getX().getType());
  auto weight = cast<RankedTensorType>(op.getDw().getType());
  int64_t inner = x.getNumElements() / x.getShape().back();
  if (x.getElementTypeBitWidth() != 16 || isForLibrary(op) || isa<KernelOp>(op->getParentOp()))
    return {1, inner};
  return sumPartsOf(weight.getDimSize(0), weight.getDimSize(1), inner, byWarpgroup);
}

int64_t llm::sumPartsBytes(LinearWeightGradOp op) {
  int64_t parts = std::max(sumPartsOf(op, true).count, sumPartsOf(op, false).count);
  auto weight = cast<RankedTensorType>(op.getDw().getType());
  return parts == 1 ? 0 : int64_t(Count(parts) * SumParts::distance(weight.getNumElements()) * 4);
}
