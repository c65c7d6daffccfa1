//===- LatentParts.cpp - Latent rows that several blocks of threads share --===//

#include "llmmem/Targets/LatentParts.h"
#include "llmmem/Targets/SplitSums.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

/// What sm_80 and later give a block: 163 KiB.
static constexpr int64_t kMostBytes = 163 << 10;
/// The sums of 64 heads of 512 elements are half of a multiprocessor's registers; those of 128
/// heads would be all of them.
static constexpr int64_t kMostHeads = 64;

int64_t llm::latentBlockBytes(int64_t rows, int64_t width) {
  constexpr int64_t padding = 8; // of a line of either kind, so that neighbours lie in other banks
  int64_t tiles = (rows + 2 * kLatentTile) * (width + padding) * 2;
  return tiles + rows * (kLatentTile + padding) * 4 + 2 * kLatentTile * 4;
}

/// The most heads of a block, a multiple of 16, or 0.
static int64_t mostHeads(int64_t width) {
  int64_t heads = kMostHeads;
  while (heads > 0 && latentBlockBytes(heads, width) > kMostBytes)
    heads -= 16;
  return heads;
}

/// Numbers of 8 bits are numbers of 16 bits too.
static bool isMultiplied(LatentAttentionOp op) {
  Type held = op.getRows().getType().getElementType();
  return op.getQ().getType().getElementTypeBitWidth() == 16 &&
         held.getIntOrFloatBitWidth() == (op.getScales().empty() ? 16 : 8);
}

/// As many neighbouring tokens as fill the GPU, in equal launches: their sums are workspace, which
/// so does not grow with the batch nor, up to one token that fills it, with the cache.
static int64_t tokensOfLaunch(int64_t tokens, int64_t blocksOfToken) {
  int64_t most = llvm::divideCeil(kMultiprocessors, blocksOfToken);
  int64_t together = std::min(most, tokens);
  while (tokens % together != 0)
    --together;
  return together;
}

std::optional<LatentParts> llm::latentPartsOf(LatentAttentionOp op) {
  constexpr int64_t fragment = 16;
  RankedTensorType row = op.getRow().getType();
  int64_t width = row.getDimSize(2), rank = static_cast<int64_t>(op.getRank()),
          heads = static_cast<int64_t>(op.getHeads()), most = mostHeads(width);
  // The sums of a warp's columns must fit its registers.
  constexpr int64_t mostRank = 512;
  if (!isMultiplied(op) || width % fragment != 0 || rank % fragment != 0 || rank > mostRank ||
      most == 0)
    return std::nullopt;
  LatentParts parts;
  parts.groups = llvm::divideCeil(heads, most);
  parts.heads = llvm::divideCeil(heads, parts.groups);
  // What parts write and read is at most a quarter of a cache's rows.
  parts.positions = heads > 32 ? 2048 : 1024;
  parts.count = llvm::divideCeil(op.getCapacity(), parts.positions);
  int64_t tokens = row.getDimSize(0) * row.getDimSize(1);
  parts.tokens = parts.count == 1 ? tokens : tokensOfLaunch(tokens, parts.groups * parts.count);
  return parts;
}

int64_t llm::latentPartsBytes(LatentAttentionOp op) {
  std::optional<LatentParts> parts = latentPartsOf(op);
  if (!parts || parts->count == 1)
    return 0;
  int64_t rank = static_cast<int64_t>(op.getRank());
  return parts->tokens * (parts->sumsOfToken(rank) + parts->statisticsOfToken()) * 4;
}
