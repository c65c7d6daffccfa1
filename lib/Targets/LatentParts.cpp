//===- LatentParts.cpp - Latent rows that several blocks of threads share --===//

#include "llmmem/Targets/LatentParts.h"
#include "llmmem/Device/GpuGeometry.h"
#include "llmmem/Support/Count.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

/// The sums of 64 heads of 512 elements are half of a multiprocessor's registers; those of 128
/// heads would be all of them.
static constexpr int64_t kMostHeads = 64;

int64_t llm::latentBlockBytes(int64_t rows, int64_t width) {
  constexpr int64_t padding = 8; // Pads a line of either kind, so that neighbours lie in other
                                 // banks.
  int64_t tiles = (rows + 2 * kLatentTile) * (width + padding) * 2;
  return tiles + rows * (kLatentTile + padding) * 4 + 2 * kLatentTile * 4;
}

/// Returns the most heads of a block, a multiple of 16, or 0.
static int64_t mostHeads(int64_t width) {
  int64_t heads = kMostHeads;
  while (heads > 0 && latentBlockBytes(heads, width) > leastGpu().blockSharedBytes)
    heads -= 16;
  return heads;
}

/// Returns the number of neighbouring tokens that fill the GPU, in equal launches. Their sums are
/// workspace, which so does not grow with the batch nor, up to one token that fills it, with the
/// cache.
static int64_t tokensOfLaunch(int64_t tokens, int64_t blocksOfToken) {
  int64_t most = llvm::divideCeil(tunedGpu().multiprocessors, blocksOfToken);
  int64_t together = std::min(most, tokens);
  while (tokens % together != 0)
    --together;
  return together;
}

std::string llm::whyNoLatentParts(LatentAttentionOp op) {
  constexpr int64_t fragment = 16;
  // The sums of a warp's columns must fit its registers.
  constexpr int64_t mostRank = 512;
  int64_t width = op.getRow().getType().getDimSize(2), rank = static_cast<int64_t>(op.getRank());
  // Scales turn rows of 8 bits into numbers of 16 bits.
  if (Type computed = op.getQ().getType().getElementType(); computed.getIntOrFloatBitWidth() != 16)
    return llvm::formatv("elements are {0}, and they multiply bf16 and f16", computed);
  for (auto [name, size] : {std::pair("rows", width), std::pair("values", rank)})
    if (size % fragment != 0)
      return llvm::formatv("{0} have {1} elements, which are no multiple of {2}", name, size,
                           fragment);
  if (rank > mostRank)
    return llvm::formatv("values have {0} elements, more than {1}", rank, mostRank);
  if (mostHeads(width) == 0)
    return llvm::formatv(
        "rows have {0} elements, so that those of 16 heads fit no workgroup memory", width);
  return "";
}

std::optional<LatentParts> llm::latentPartsOf(LatentAttentionOp op) {
  if (!whyNoLatentParts(op).empty())
    return std::nullopt;
  RankedTensorType row = op.getRow().getType();
  int64_t heads = static_cast<int64_t>(op.getHeads()), most = mostHeads(row.getDimSize(2));
  LatentParts parts;
  parts.groups = llvm::divideCeil(heads, most);
  parts.heads = llvm::divideCeil(heads, parts.groups);
  // Parts write and read at most a quarter of a cache's rows.
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
  Count heads = Count(parts->count) * parts->groups * parts->heads;
  return parts->tokens * (heads * rank + heads * 2) * 4;
}
