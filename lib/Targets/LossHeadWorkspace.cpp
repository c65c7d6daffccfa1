//===- LossHeadWorkspace.cpp - What lies where in a loss head's workspace --===//

#include "llmmem/Targets/LossHeadWorkspace.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Support/Count.h"
#include "llvm/Support/MathExtras.h"
#include <utility>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

int64_t llm::logitsTiles(LossHeadOp head) {
  bool isHalf = head.getX().getType().getElementTypeBitWidth() == 16;
  return isHalf ? llvm::divideCeil(head.getColumns(), kLogitsTile) : 0;
}

int64_t llm::logitsPitch(LossHeadOp head) {
  constexpr int64_t elements = 64; // Two cache lines.
  bool isHalf = head.getX().getType().getElementTypeBitWidth() == 16;
  return isHalf ? llvm::alignTo(head.getColumns(), elements) : head.getColumns();
}

LossHeadWorkspace llm::lossHeadWorkspace(LossHeadOp head) {
  constexpr int64_t line = 64, mostProduct = 1 << 20; // The bytes of a cache line, and elements.
  int64_t element = bytesOfNumber(head.getX().getType().getElementType()),
          wide = element == 8 ? 8 : 4;
  Count rows = std::min(head.getChunkRows(), head.getNumRows());
  int64_t width = head.getWidth(), vocabulary = head.getColumns();
  LossHeadWorkspace parts;
  // With too many bytes the end is too many, and stays so.
  auto take = [&](Count bytes) {
    Count begin = alignTo(Count(parts.end), line);
    parts.end = begin + bytes;
    return begin;
  };
  parts.losses = take(Count(head.getNumRows()) * wide);
  if (head.splitsSum())
    parts.accumulator = take(head.getAccumulatorBytes());
  // It precedes everything else whose size depends on the chunk, because a library may choose its
  // algorithm by alignment.
  parts.pitch = logitsPitch(head);
  parts.logits = take(rows * parts.pitch * element);
  if (head.getVocabulary()) {
    parts.ownLogSums = take(rows * wide);
    parts.logSums = take(head.getGroupSize() * rows * wide);
  }
  int64_t shared = parts.end;
  parts.tileMaxima = take(rows * logitsTiles(head) * wide);
  parts.tilePowers = take(rows * logitsTiles(head) * wide);
  int64_t onDevice = std::exchange(parts.end, shared);
  if (head.splitsSum()) {
    int64_t granule = head.getGranule();
    parts.contribution.columns = std::clamp<int64_t>(mostProduct / width, 1, vocabulary);
    parts.contribution.inputs = take(Count(granule) * width * wide);
    parts.contribution.gradient = take(Count(granule) * parts.contribution.columns * wide);
    parts.contribution.product = take(Count(parts.contribution.columns) * width * wide);
  }
  parts.end = larger(Count(parts.end), onDevice);
  return parts;
}
