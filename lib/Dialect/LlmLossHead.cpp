//===- LlmLossHead.cpp - Meaning, bytes and price of llm.loss_head ---------===//

#include "LlmVerify.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

int64_t LossHeadOp::getWidth() { return lastDim(getX()); }
int64_t LossHeadOp::getVocabulary() {
  return tensorType(getWeight()).getShape()[getLayout() == WeightLayout::InOut];
}

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

static LogicalResult verifyChunk(LossHeadOp op) {
  int64_t granule = op.getGranule(), chunk = op.getChunk(), tokens = op.getNumRows();
  if (granule < 1)
    return op.emitOpError() << "has a granule of " << granule << " tokens, expected at least 1";
  if (chunk < 1 || (chunk < tokens && chunk % granule != 0))
    return op.emitOpError() << "has a chunk of " << chunk << " tokens, expected a multiple of "
                            << granule << ", or all " << tokens;
  return success();
}

LogicalResult LossHeadOp::verify() {
  if (failed(expectRank(*this, "x", getX(), 1)) ||
      failed(expectRank(*this, "weight", getWeight(), 2)) ||
      failed(expectSameElement(*this, {getX(), getWeight()})) ||
      failed(expectInto(*this, getInto(), getDw())) ||
      failed(expectShape(*this, "targets", getTargets(), leadingDims(getX()))) ||
      failed(expectStatistic(*this, "loss", getLoss(), {}, getX())))
    return failure();
  int64_t in = getWidth(), out = getVocabulary();
  SmallVector<int64_t> weight = getLayout() == WeightLayout::InOut ? SmallVector<int64_t>{in, out}
                                                                   : SmallVector<int64_t>{out, in};
  if (failed(expectShape(*this, "weight", getWeight(), weight)))
    return failure();
  return verifyChunk(*this);
}

//===----------------------------------------------------------------------===//
// Chunks
//===----------------------------------------------------------------------===//

int64_t LossHeadOp::getNumRows() { return tensorType(getTargets()).getNumElements(); }
int64_t LossHeadOp::getChunkRows() { return getChunk(); }
void LossHeadOp::setChunkRows(int64_t rows) { setChunk(rows); }

SmallVector<int64_t> LossHeadOp::getChunkCandidates() {
  int64_t granule = getGranule();
  SmallVector<int64_t> candidates{getNumRows()};
  while (candidates.back() > granule)
    candidates.push_back(llvm::alignTo(llvm::divideCeil(candidates.back(), 2), granule));
  return candidates;
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

bool LossHeadOp::splitsSum() {
  return tensorType(getX()).getElementType().isBF16() &&
         getNumRows() > static_cast<int64_t>(getGranule());
}

int64_t LossHeadOp::getLogitsTiles() {
  bool isBf16 = tensorType(getX()).getElementType().isBF16();
  return isBf16 ? llvm::divideCeil(getVocabulary(), kLogitsTile) : 0;
}

LossHeadWorkspace LossHeadOp::getWorkspace() {
  constexpr int64_t line = 64, mostProduct = 1 << 20; // bytes of a cache line; elements
  int64_t element = tensorType(getX()).getElementTypeBitWidth() / 8, wide = element == 8 ? 8 : 4;
  int64_t rows = std::min(getChunkRows(), getNumRows());
  LossHeadWorkspace parts;
  auto take = [&](int64_t bytes) {
    int64_t begin = llvm::alignTo(parts.end, line);
    parts.end = begin + bytes;
    return begin;
  };
  parts.losses = take(getNumRows() * wide);
  if (splitsSum())
    parts.lowerHalves = take(getWidth() * getVocabulary() * (wide - element));
  // Before all else whose size hangs on the chunk: a library may choose its algorithm by alignment.
  parts.logits = take(rows * getVocabulary() * element);
  int64_t shared = parts.end;
  parts.tileMaxima = take(rows * getLogitsTiles() * wide);
  parts.tilePowers = take(rows * getLogitsTiles() * wide);
  int64_t onDevice = std::exchange(parts.end, shared);
  if (splitsSum()) {
    parts.columns = std::clamp<int64_t>(mostProduct / getWidth(), 1, getVocabulary());
    parts.inputs = take(getGranule() * getWidth() * wide);
    parts.gradient = take(getGranule() * parts.columns * wide);
    parts.product = take(parts.columns * getWidth() * wide);
  }
  parts.end = std::max(parts.end, onDevice);
  return parts;
}

int64_t LossHeadOp::getWorkspaceBytes() {
  int64_t library = libraryWorkspaceBytes(*this), own = getWorkspace().end;
  return library ? llvm::alignTo(own, 256) + library : own;
}

SmallVector<unsigned> LossHeadOp::getInPlaceOperands(unsigned result) {
  // A chunk's rows of x are read for the last time before those of dx are written; a sum goes on
  // where it lies.
  if (result == 1)
    return {0};
  if (result == 2 && getInto())
    return {getIntoMutable()[0].getOperandNumber()};
  return {};
}

//===----------------------------------------------------------------------===//
// Price
//===----------------------------------------------------------------------===//

/// For each chunk: three products, and the rows in between. The weight is read for the logits and
/// for dx, and the sum of dw is read and written, once a chunk: that is what a smaller one costs.
SmallVector<KernelCost> LossHeadOp::getKernelCosts() {
  int64_t element = tensorType(getX()).getElementTypeBitWidth() / 8;
  int64_t weight = bytesOfType(getWeight().getType());
  int64_t sum = splitsSum() ? 2 * weight : weight;
  SmallVector<KernelCost> kernels;
  for (int64_t begin = 0; begin < getNumRows(); begin += getChunkRows()) {
    int64_t rows = std::min(getChunkRows(), getNumRows() - begin);
    int64_t products = 2 * rows * getWidth() * getVocabulary();
    int64_t logits = rows * getVocabulary() * element, inputs = rows * getWidth() * element;
    int64_t sumSoFar = begin > 0 ? sum : getInto() ? weight : 0;
    kernels.push_back({products, inputs + weight + logits});
    kernels.push_back({8 * rows * getVocabulary(), 3 * logits + rows * 4});
    kernels.push_back({products, logits + inputs + sumSoFar + sum});
    kernels.push_back({products, logits + weight + inputs});
  }
  return kernels;
}

int64_t LossHeadOp::getFlops() {
  int64_t flops = 0;
  for (KernelCost kernel : getKernelCosts())
    flops += kernel.flops;
  return flops;
}

int64_t LossHeadOp::getBytesMoved() {
  int64_t bytes = 0;
  for (KernelCost kernel : getKernelCosts())
    bytes += kernel.bytesMoved;
  return bytes;
}
